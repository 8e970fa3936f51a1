//! A process that works on whatever there is and makes requests of its own, until it is killed. It
//! says what was acknowledged, one line each.

use std::{
    io::{Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bowline_core::{Cause, Name, RunId, Signal, Time};
use bowline_engine::{
    CancelRequest, Engine, Error, StartOptions,
    clock::{Clock, Sleep, SystemClock},
};

use tokio_util::task::TaskTracker;

use crate::{
    Chance,
    flows::{QUEUE, registered},
    worker::Life,
};

/// Who asks.
pub(crate) const CHILD: &str = "a child";
/// How many requests a child makes at once.
const CLIENTS: u64 = 4;

/// The whole life of a child.
pub(crate) async fn works_until_it_is_killed(life: Life) {
    let builder = Engine::builder(Arc::new(life.open()))
        .identity(identity(std::process::id()))
        .clock(Arc::new(Skewed { machine: SystemClock::default(), by: life.skew }))
        .lease(life.lease)
        .build(life.build.name())
        .threads(2);
    let engine = registered(builder, life.build).start().await.expect("the engine starts");
    say(format_args!("at work"));
    let calm = Arc::new(AtomicBool::new(false));
    let clients = TaskTracker::new();
    for client in 0..CLIENTS {
        if let Some(seed) = life.seed {
            clients.spawn(requests(engine.clone(), seed, client, calm.clone()));
        }
    }
    hears().await;
    calm.store(true, Ordering::Relaxed);
    clients.close();
    clients.wait().await;
    say(format_args!("calm"));
    // Ends with the parent, if the parent ends first.
    while hears().await {}
    drop(engine);
}

/// How the child with this process calls itself as a member.
pub(crate) fn identity(process: u32) -> String {
    format!("child {process}")
}

/// Waits for a word of the parent; false if there is no parent any more.
async fn hears() -> bool {
    let heard = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0; 64])).await;
    matches!(heard, Ok(Ok(1..)))
}

/// The machine's clock, set wrong by so many seconds.
struct Skewed {
    machine: SystemClock,
    by: i64,
}

impl Clock for Skewed {
    fn now(&self) -> Time {
        Time(self.machine.now().0 + self.by * 1_000_000)
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        let at = Time(at.0.saturating_sub(self.by * 1_000_000));
        self.machine.sleep_until(at) // tidy: allow(sleep) A clock passes it on.
    }
}

/// Says something to the parent, which may kill us in the middle of it, or not listen any more.
pub(crate) fn say(what: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{what}").and_then(|()| out.flush());
}

/// One request after the other, for as long as the process lives.
async fn requests(engine: Engine, seed: u64, client: u64, calm: Arc<AtomicBool>) {
    let mut chance = Chance(seed << 8 | client);
    for number in 0_u64.. {
        if calm.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("{seed}-{client}-{number}");
        let run = start(&engine, &id).await;
        match chance.below(8) {
            0..3 => signal(&engine, run, &id).await,
            3 | 4 => cancel(&engine, run, &id).await,
            5 => {
                signal(&engine, run, &id).await;
                cancel(&engine, run, &id).await;
            }
            6 => terminate(&engine, run).await,
            // Somebody else will look after it.
            _ => continue,
        }
        patiently(|| engine.outcome(run)).await;
    }
}

/// Asks again until it is answered: the same request counts once.
async fn patiently<T, F>(ask: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        match ask().await {
            Ok(answer) => return Some(answer),
            // What is gone was lost by a server, or never there: whoever verifies will tell.
            Err(Error::Closed { .. } | Error::NotFound(_)) => return None,
            // Nobody has its code just now: somebody else will look after it.
            Err(Error::Parked { .. }) => return None,
            Err(Error::Store(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("an answer that nobody should get: {error}"),
        }
    }
}

async fn start(engine: &Engine, id: &str) -> RunId {
    let options = StartOptions::new("order", id, QUEUE, None).request(id);
    let run = patiently(|| engine.start(options.clone())).await.expect("a start is taken");
    say(format_args!("ack start {id} {}", run.uuid));
    run
}

async fn signal(engine: &Engine, run: RunId, id: &str) {
    let id = format!("{id}-go");
    let request_id = id.as_str().into();
    let signal = Signal { name: Name::from("go"), request_id, ..Signal::default() };
    if patiently(|| engine.signal(run, signal.clone())).await.is_some() {
        say(format_args!("ack signal {id} {}", run.uuid));
    }
}

async fn cancel(engine: &Engine, run: RunId, id: &str) {
    let request = || CancelRequest { request_id: id.into(), ..CancelRequest::new("enough", CHILD) };
    if let Some(receipt) = patiently(|| engine.cancel(run, request())).await {
        say(format_args!("ack cancel {} {}", receipt.0, run.uuid));
    }
}

async fn terminate(engine: &Engine, run: RunId) {
    let cause = || Cause::requested("no more", CHILD);
    if let Some(receipt) = patiently(|| engine.terminate(run, cause())).await {
        say(format_args!("ack terminate {} {}", receipt.0, run.uuid));
    }
}

/// How long the parent lets a child be silent before it says that something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
