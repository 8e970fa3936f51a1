//! A cancel is acknowledged, and the process is killed before anybody has decided it. Whoever
//! takes over must not begin another attempt first.
//!
//! Attempts leave a line in a file when they begin, so that the dead can be heard too.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use bowline_engine::{
    Builder, CancelRequest, Engine, QueueOptions, StartOptions,
    core::{ActivitySpec, Failure, Name, Outcome, Payload, Queue, ReceiptId, RetryPolicy, RunId},
    store::Phase,
    worker::registry::activity_fn,
};
use bowline_replay::{Context, Ended, join_all};
use bowline_sqlite::SqliteStore;
use tokio::sync::Semaphore;

/// How often a process is killed right after an acknowledgement.
const KILLS: usize = 12;
/// How many activities each run has: some run, some wait.
const CALLS: usize = 6;
const SLOTS: usize = 4;
/// Names the folder that a child works in; unset in the parent.
const FOLDER: &str = "BOWLINE_HOLD_FOLDER";
/// Says what a child does.
const WHAT: &str = "BOWLINE_HOLD_WHAT";

/// After a kill and a restart, most runs had another attempt before their cancel was decided,
/// though it had been acknowledged. Now none has.
#[test]
fn no_attempt_begins_after_an_acknowledged_cancel_and_a_kill() {
    if let (Ok(folder), Ok(what)) = (std::env::var(FOLDER), std::env::var(WHAT)) {
        return act(&PathBuf::from(folder), &what);
    }
    let folder = tempfile::tempdir().expect("a folder");
    for kill in 0..KILLS {
        let mut child = child(folder.path(), &format!("cancel {kill}"));
        let receipt = hear(&mut child, "ack ");
        assert!(!child.wait().expect("it is gone").success(), "it has not lived on");
        assert_eq!(begun(folder.path(), kill), SLOTS, "run {kill} was at work");
        // It takes over, and says when nothing is left.
        let mut next = self::child(folder.path(), &format!("settle {receipt}"));
        hear(&mut next, "settled");
        assert!(next.wait().expect("it ends").success());
        assert_eq!(begun(folder.path(), kill), SLOTS, "run {kill} began something after it");
    }
}

/// A process of its own, which is told what to do: the same test, started again.
fn child(folder: &Path, what: &str) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "hold::no_attempt_begins_after_an_acknowledged_cancel_and_a_kill"])
        .args(["--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(WHAT, what)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child begins")
}

/// The rest of the line of a child that begins so.
fn hear(child: &mut Child, prefix: &str) -> String {
    use std::io::{BufRead, BufReader};
    let said = BufReader::new(child.stdout.as_mut().expect("its output"));
    let mut lines = said.lines().map_while(Result::ok);
    let found = lines.find_map(|line| line.strip_prefix(prefix).map(str::to_owned));
    found.unwrap_or_else(|| panic!("a child died before it said {prefix:?}"))
}

/// What a child does.
fn act(folder: &Path, what: &str) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let begun = Arc::new(Semaphore::new(0));
        let engine = builder(folder, begun.clone()).start().await.expect("the engine starts");
        match what.split_once(' ') {
            Some(("cancel", number)) => cancels(&engine, &begun, number).await,
            Some(("settle", receipt)) => {
                let receipt = ReceiptId(receipt.parse().expect("a number"));
                engine.wait(receipt, Phase::Settled).await.expect("the receipt is there");
                say("settled");
            }
            _ => panic!("not told what to do: {what}"),
        }
    });
}

/// Has a run at work, cancels it, says so, and is dead in the same moment: whoever is killed from
/// outside may have decided the cancel by then.
async fn cancels(engine: &Engine, begun: &Semaphore, number: &str) {
    let id = format!("fan-{number}");
    let options = StartOptions::new("fan", id.as_str(), "work", Some(Payload::json(number)));
    let run: RunId = engine.start(options).await.expect("a start is taken");
    begun.acquire_many(SLOTS as u32).await.expect("attempts begin").forget();
    let request = CancelRequest::new("enough", "the test");
    let receipt = engine.cancel(run, request).await.expect("a cancel is taken");
    say(&format!("ack {}", receipt.0));
    std::process::abort();
}

fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // The line that it stands on has begun with the name of the test. A parent that has gone does
    // not listen.
    let _ = writeln!(out, "\n{what}").and_then(|()| out.flush());
}

/// How many attempts of a run have begun, in all processes.
fn begun(folder: &Path, number: usize) -> usize {
    std::fs::read_to_string(diary(folder, &number.to_string()))
        .map_or(0, |told| told.lines().count())
}

fn diary(folder: &Path, number: &str) -> PathBuf {
    folder.join(format!("begun-{number}"))
}

/// With an activity that writes into the diary and says so when it has.
fn builder(folder: &Path, begun: Arc<Semaphore>) -> Builder {
    let store = SqliteStore::open(folder.join("hold.db")).expect("the store opens");
    let folder = folder.to_owned();
    Engine::builder(Arc::new(store))
        .queue("work", QueueOptions { slots: SLOTS, rate: None })
        .workflow("fan", Arc::new(fan))
        .activity(
            "work",
            activity_fn(move |ctx, input: Option<Payload>| {
                let input = input.expect("its run's number");
                let number = String::from_utf8_lossy(input.bytes.as_slice()).into_owned();
                let (path, begun) = (diary(&folder, &number), begun.clone());
                async move {
                    let file: std::io::Result<File> =
                        OpenOptions::new().create(true).append(true).open(path);
                    writeln!(file.expect("the diary opens"), "begun").expect("it is written");
                    begun.add_permits(1);
                    let cause = ctx.cancelled().await;
                    Err(Failure::new(cause.to_string()))
                }
            }),
        )
}

async fn fan(ctx: Context, input: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let spec = ActivitySpec {
        name: Name::from("work"),
        queue: Queue::from("work"),
        retry: Some(RetryPolicy::default()),
        input,
        ..ActivitySpec::default()
    };
    let calls: Vec<_> = (0..CALLS).map(|_| ctx.activity(spec.clone()).start()).collect();
    for outcome in join_all(calls).await {
        if let Outcome::Cancelled(cause, ..) = outcome {
            return Err(Ended::Cancelled(cause));
        }
    }
    Ok(None)
}
