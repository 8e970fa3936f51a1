//! The line protocol between harness and peer: one JSON value per line, one request at a time.
//!
//! In:    commands on the peer's input; its end is the order to leave.
//! Out:   [`Hello`] once, then one [`Reply`] per command, on the peer's output.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{Metrics, System, Trouble, workload};

/// What the harness asks for.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Command {
    /// Runs with one activity, this many in flight, for this long.
    Hello {
        /// How many runs are in flight.
        in_flight: u32,
        /// How long it is measured.
        seconds: f64,
    },
    /// One run, activities one after the other.
    Chain {
        /// How many activities.
        steps: u32,
    },
    /// One run, activities at once.
    Fanout {
        /// How many activities.
        width: u32,
    },
    /// One run, children at once.
    Children {
        /// How many children.
        width: u32,
    },
    /// A storm of signals.
    Signal {
        /// On how many runs.
        runs: u32,
        /// How many signals each of them gets.
        each: u32,
    },
    /// Cancels a running activity, again and again.
    CancelRunning {
        /// How often.
        times: u32,
    },
    /// Cancels a run that waits for a timer, again and again.
    CancelTimer {
        /// How often.
        times: u32,
    },
    /// Lets one of two activities win, again and again.
    SelectLoser {
        /// How often.
        times: u32,
    },
    /// Cancels a run with this many queued activities, beside other work.
    MassCancel {
        /// How many are queued.
        queued: u32,
    },
    /// Cancels a tree.
    CancelTree {
        /// How many children.
        children: u32,
        /// How many running activities each.
        activities: u32,
    },
    /// Starts this many runs that wait for a signal, and leaves them.
    Open {
        /// The first of their numbers.
        from: u32,
        /// How many.
        runs: u32,
    },
    /// Wakes one of the runs that `Open` left, then all.
    Resume {
        /// How many were left.
        runs: u32,
    },
    /// One run of this many steps, left waiting for a signal.
    Build {
        /// How many activities.
        steps: u32,
    },
    /// Wakes the run that `Build` left, which no memory holds any more.
    Cold,
    /// Leaves an activity that runs until it is told.
    HoldOne {
        /// The id of its run.
        id: String,
    },
    /// Cancels a run of another process.
    CancelOne {
        /// Its id.
        id: String,
    },
    /// Says when the activity that `HoldOne` left was told.
    ToldOne,
    /// Starts this many runs, each with an activity that runs until it is told, and leaves them.
    HoldMany {
        /// What their ids begin with.
        name: String,
        /// How many.
        runs: u32,
    },
    /// Says how many such activities have begun here since a moment, and when.
    HeldSince {
        /// Microseconds since 1970.
        since_us: f64,
    },
}

/// What a peer says first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hello {
    /// Name and version of the system.
    pub version: String,
    /// What survives what, as the system is set up here.
    pub durability: String,
    /// Everything that was set to something else than its default, and defaults worth knowing.
    pub settings: BTreeMap<String, String>,
}

/// What a peer answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The peer is ready.
    Ready(Hello),
    /// The numbers.
    Result(Metrics),
    /// The system has no such thing.
    Cannot(String),
    /// It went wrong.
    Failed(String),
}

/// How long a system may take to close before its peer leaves all the same.
const CLOSE: Duration = Duration::from_secs(15);

/// A peer's whole life after its system runs: answers commands until its input ends.
///
/// # Errors
/// If the harness cannot be heard or reached.
pub async fn serve<S: System>(system: S, hello: Hello) -> anyhow::Result<()> {
    say(&Reply::Ready(hello))?;
    let (sender, mut lines) = tokio::sync::mpsc::channel(1);
    // A thread of its own: reading blocks, and the runtime's threads belong to the system.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    let system = std::sync::Arc::new(system);
    while let Some(line) = lines.recv().await {
        let command: Command = serde_json::from_str(&line)?;
        let done = tokio::select! {
            done = workload::run(&system, command) => done,
            // One request at a time: only the harness's own end can come now. Nobody waits for an
            // answer any more, and the servers must not outlive who started them.
            _ = lines.recv() => break,
        };
        say(&match done {
            Ok(metrics) => Reply::Result(metrics),
            Err(Trouble::Cannot(reason)) => Reply::Cannot(reason),
            Err(Trouble::Failed(error)) => Reply::Failed(format!("{error:#}")),
        })?;
    }
    let _ = tokio::time::timeout(CLOSE, system.close()).await;
    Ok(())
}

/// Says that the peer could not even start, and why.
///
/// # Errors
/// If the harness cannot be reached.
pub fn start_line(failed: &anyhow::Error) -> anyhow::Result<()> {
    say(&Reply::Failed(format!("{failed:#}")))
}

fn say(reply: &Reply) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(reply)?)?;
    Ok(out.flush()?)
}
