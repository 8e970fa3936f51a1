//! One workload on one system, from a fresh store to the numbers.

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::anyhow;

use crate::{Command, Hello, Metrics, Spread, Trouble, process};

use super::{
    catalog::{Built, Entry},
    peer::Peer,
    plan::Shape,
};

/// What one measurement stands on.
pub(super) struct Stage<'a> {
    pub(super) entry: &'a Entry,
    pub(super) built: &'a Built,
    /// A folder that was made for it.
    pub(super) folder: &'a Path,
    /// A database that was made for it.
    pub(super) postgres: Option<String>,
    pub(super) limit: Duration,
}

/// How many runs are opened before memory is first read, so that what is made once is not counted.
const FIRST_RUNS: u32 = 100;
/// How long a process must be nearly idle before memory is read, and how long that may take.
const CALM: Duration = Duration::from_millis(500);
const CALM_LIMIT: Duration = Duration::from_secs(60);
/// How often processes are asked what they have taken over; when they did so, they know.
const TAKEN_OVER: Duration = Duration::from_millis(50);

/// Plays it.
pub(super) fn play(stage: &Stage<'_>, shape: &Shape) -> Result<(Hello, Metrics), Trouble> {
    let mut peer = stage.start()?;
    let hello = peer.hello.clone();
    let metrics = match shape {
        Shape::Inside(command) => inside(&mut peer, command)?,
        Shape::Across { times } => across(stage, &mut peer, *times)?,
        Shape::Wait { runs } => wait(&mut peer, *runs)?,
        Shape::Idle { seconds } => idle(&peer, *seconds),
        Shape::Recover { runs } => return Ok((hello, recover(stage, peer, *runs)?)),
        Shape::Takeover { runs } => return Ok((hello, takeover(stage, peer, *runs)?)),
        Shape::Cold { steps } => return Ok((hello, cold(stage, peer, *steps)?)),
    };
    peer.leave();
    Ok((hello, metrics))
}

impl Stage<'_> {
    fn start(&self) -> Result<Peer, Trouble> {
        self.start_as(self.entry.mode)
    }

    fn start_as(&self, mode: &str) -> Result<Peer, Trouble> {
        let Self { built, folder, postgres, limit, .. } = self;
        Peer::start(mode, built, folder, postgres.as_deref(), *limit)
    }
}

/// Beside its own numbers: what it cost, and what the machine withheld meanwhile.
fn inside(peer: &mut Peer, command: &Command) -> Result<Metrics, Trouble> {
    let before = process::spent(&peer.processes());
    let mut metrics = peer.ask(command)?;
    let after = process::spent(&peer.processes());
    let millis =
        |first: Duration, last: Duration| last.saturating_sub(first).as_secs_f64() * 1_000.0;
    let cpu = millis(before.0, after.0);
    metrics.insert("cpu_ms".into(), cpu);
    metrics.insert("unserved_ms".into(), millis(before.1, after.1));
    if let Some(runs) = metrics.get("runs").filter(|runs| **runs > 0.0) {
        metrics.insert("cpu_us_per_run".into(), 1_000.0 * cpu / runs);
    }
    Ok(metrics)
}

/// A second process asks, on the same store.
fn across(stage: &Stage<'_>, worker: &mut Peer, times: u32) -> Result<Metrics, Trouble> {
    let Some(mode) = stage.entry.client_mode else {
        return Err(Trouble::cannot(
            "a second process cannot have the store, or `cancel-running` crosses processes already",
        ));
    };
    let mut client = stage.start_as(mode)?;
    let (mut asked, mut returned) = (Vec::new(), Vec::new());
    for number in 0..times {
        let id = format!("across-{number}");
        worker.ask(&Command::HoldOne { id: id.clone() })?;
        let request = client.ask(&Command::CancelOne { id })?;
        let told = worker.ask(&Command::ToldOne)?;
        let of = |metrics: &Metrics, name: &str| metrics.get(name).copied().unwrap_or_default();
        let since = |name| {
            Duration::from_secs_f64((of(&told, "told_us") - of(&request, name)).max(0.0) / 1e6)
        };
        asked.push(since("asked_us"));
        returned.push(since("returned_us"));
    }
    client.leave();
    let mut metrics = Metrics::new();
    Spread::new(asked).into_metrics("asked", &mut metrics);
    Spread::new(returned).into_metrics("returned", &mut metrics);
    Ok(metrics)
}

fn wait(peer: &mut Peer, runs: u32) -> Result<Metrics, Trouble> {
    peer.ask(&Command::Open { from: 0, runs: FIRST_RUNS })?;
    calm(peer);
    let before = memory(peer);
    let mut metrics = peer.ask(&Command::Open { from: FIRST_RUNS, runs })?;
    calm(peer);
    let after = memory(peer);
    let per_run = |which: fn(&Memory) -> f64| (which(&after) - which(&before)) / f64::from(runs);
    metrics.insert("kib_per_run".into(), per_run(|memory| memory.all) / 1024.0);
    metrics.insert("peer_kib_per_run".into(), per_run(|memory| memory.peer) / 1024.0);
    metrics.insert("all_mib".into(), mib(after.all));
    Ok(metrics)
}

fn idle(peer: &Peer, seconds: u32) -> Metrics {
    calm(peer);
    let processes = peer.processes();
    let before = (process::busy(&processes[..1]), process::busy(&processes), Instant::now());
    std::thread::sleep(Duration::from_secs(seconds.into()));
    let percent = |first: Duration, last: Duration| {
        100.0 * last.saturating_sub(first).as_secs_f64() / before.2.elapsed().as_secs_f64()
    };
    let memory = memory(peer);
    Metrics::from([
        ("peer_cpu_percent".into(), percent(before.0, process::busy(&processes[..1]))),
        ("all_cpu_percent".into(), percent(before.1, process::busy(&processes))),
        ("peer_mib".into(), mib(memory.peer)),
        ("all_mib".into(), mib(memory.all)),
    ])
}

fn recover(stage: &Stage<'_>, mut peer: Peer, runs: u32) -> Result<Metrics, Trouble> {
    peer.ask(&Command::Open { from: 0, runs })?;
    peer.kill();
    let killed = Instant::now();
    let mut peer = stage.start()?;
    let ready = killed.elapsed().as_secs_f64() * 1_000.0;
    let woken = peer.ask(&Command::Resume { runs })?;
    let after = |name: &str| ready + woken.get(name).copied().unwrap_or_default();
    let metrics =
        [("ready_ms", ready), ("first_ms", after("first_ms")), ("all_ms", after("all_ms"))];
    peer.leave();
    Ok(metrics.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Three processes on one store, each with its part of the runs; from the kill of the first until
/// the others run what it had run.
fn takeover(stage: &Stage<'_>, mut first: Peer, runs: u32) -> Result<Metrics, Trouble> {
    if stage.entry.client_mode.is_none() {
        return Err(Trouble::cannot("a second process cannot have the store"));
    }
    let part = runs.div_ceil(3);
    let mut others = [stage.start()?, stage.start()?];
    let hold = |name: &str| Command::HoldMany { name: name.to_owned(), runs: part };
    first.ask(&hold("first"))?;
    for (number, other) in others.iter_mut().enumerate() {
        other.ask(&hold(&format!("other-{number}")))?;
    }
    // Who has started a run need not be the one who runs it.
    let begun = Instant::now();
    let own = loop {
        let own = held(&mut first)?;
        if own + held(&mut others[0])? + held(&mut others[1])? >= f64::from(3 * part) {
            break own;
        }
        if begun.elapsed() > stage.limit {
            return Err(anyhow!("not all activities run after {:?}", stage.limit).into());
        }
        std::thread::sleep(TAKEN_OVER);
    };
    others.iter().for_each(calm);
    let since_us = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e6;
    let killed = Instant::now();
    first.kill();
    let (mut began, mut ended) = (f64::MAX, 0.0_f64);
    loop {
        let mut held = 0.0;
        for other in &mut others {
            let found = other.ask(&Command::HeldSince { since_us })?;
            let of = |name: &str| found.get(name).copied();
            held += of("held").unwrap_or_default();
            began = began.min(of("first_us").unwrap_or(f64::MAX));
            ended = ended.max(of("last_us").unwrap_or_default());
        }
        if held >= own {
            break;
        }
        if killed.elapsed() > stage.limit {
            return Err(anyhow!("{held} of {own} go on after {:?}", stage.limit).into());
        }
        std::thread::sleep(TAKEN_OVER);
    }
    others.into_iter().for_each(Peer::kill);
    let since = |at: f64| (at - since_us) / 1_000.0;
    Ok(Metrics::from([
        ("first_ms".into(), since(began)),
        ("all_ms".into(), since(ended)),
        ("taken".into(), own),
    ]))
}

/// How many activities have begun in a process.
fn held(peer: &mut Peer) -> Result<f64, Trouble> {
    let found = peer.ask(&Command::HeldSince { since_us: 0.0 })?;
    Ok(found.get("held").copied().unwrap_or_default())
}

fn cold(stage: &Stage<'_>, mut peer: Peer, steps: u32) -> Result<Metrics, Trouble> {
    let mut metrics = peer.ask(&Command::Build { steps })?;
    peer.leave();
    let mut peer = stage.start()?;
    calm(&peer);
    metrics.extend(peer.ask(&Command::Cold)?);
    peer.leave();
    Ok(metrics)
}

/// Waits until the processes have hardly anything to do, but not for ever.
fn calm(peer: &Peer) {
    let begun = Instant::now();
    while begun.elapsed() < CALM_LIMIT {
        let processes = peer.processes();
        let before = process::busy(&processes);
        std::thread::sleep(CALM);
        if process::busy(&processes).saturating_sub(before) < CALM / 20 {
            return;
        }
    }
}

/// Resident bytes: of the peer's own process, and with everything that it started.
struct Memory {
    peer: f64,
    all: f64,
}

fn memory(peer: &Peer) -> Memory {
    let processes = peer.processes();
    Memory {
        peer: process::memory(&processes[..1]) as f64,
        all: process::memory(&processes) as f64,
    }
}

fn mib(bytes: f64) -> f64 {
    bytes / (1024.0 * 1024.0)
}
