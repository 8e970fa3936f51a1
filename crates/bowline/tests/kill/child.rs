//! A child: makes requests, works, and says what was acknowledged.

use std::{io::Write, path::Path, sync::Arc};

use bowline_engine::{
    CancelRequest, Engine, Error, StartOptions, Taken,
    core::{
        ActivitySpec, Asked, Command, Ending, Name, Queue, Rules, RunId, Signal, Span, StartTurn,
        Status, Timeouts, TurnAnswer,
    },
    store::Filter,
};
use tokio::sync::Mutex;

use crate::{
    Chance,
    promise::{QUEUE, REMOTE, builder},
};

/// Works until it is killed.
pub(crate) fn work(folder: &Path, seed: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let engine = builder(folder).start().await.expect("the engine starts");
        let runs = Arc::new(Mutex::new(open_runs(&engine).await));
        tokio::join!(
            requests(engine.clone(), runs, seed),
            remote_turns(engine.clone()),
            remote_activities(engine.clone()),
        );
    });
}

/// Says that something is durable. The parent may kill us in the middle of it.
fn acknowledge(what: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    // A parent that has gone does not listen.
    let _ = writeln!(out, "ack {what}").and_then(|()| out.flush());
}

async fn open_runs(engine: &Engine) -> Vec<RunId> {
    let statuses = vec![Status::Running, Status::Cancelling];
    let filter = Filter { statuses, limit: 50, ..Filter::default() };
    let page = engine.find(filter).await.expect("runs are listed");
    page.runs.iter().map(|head| head.run).collect()
}

async fn requests(engine: Engine, runs: Arc<Mutex<Vec<RunId>>>, seed: u64) {
    let mut chance = Chance(seed);
    for number in 0_u64.. {
        let picked = {
            let runs = runs.lock().await;
            match runs.is_empty() {
                true => None,
                false => Some(runs[(chance.next() % runs.len() as u64) as usize]),
            }
        };
        let request = format!("{seed}-{number}");
        match (chance.next() % 6, picked) {
            (0 | 1, Some(run)) => signal(&engine, run, request).await,
            (2, Some(run)) => cancel(&engine, run).await,
            (3, _) => drop(start(&engine, request, Rules::REMOTE, REMOTE).await),
            _ => runs.lock().await.push(start(&engine, request, Rules::NATIVE, QUEUE).await),
        }
    }
}

async fn start(engine: &Engine, id: String, rules: Rules, queue: &str) -> RunId {
    let mut options = StartOptions::new("order", id.as_str(), queue, None).request(id.as_str());
    options.started.rules = rules;
    let run = engine.start(options).await.expect("a start is taken");
    acknowledge(format_args!("start {id} {}", run.uuid));
    run
}

async fn signal(engine: &Engine, run: RunId, request: String) {
    let request_id = request.as_str().into();
    let signal = Signal { name: Name::from("go"), request_id, ..Signal::default() };
    match engine.signal(run, signal).await {
        Ok(_) => acknowledge(format_args!("signal {request} {}", run.uuid)),
        Err(Error::Closed { .. }) => {}
        Err(error) => panic!("a signal is refused: {error}"),
    }
}

async fn cancel(engine: &Engine, run: RunId) {
    let request = CancelRequest::new("killed", "the test");
    let receipt = engine.cancel(run, request).await.expect("a cancel is taken");
    acknowledge(format_args!("cancel {} {}", receipt.0, run.uuid));
}

/// A worker of another kind: one activity per run, then the end.
async fn remote_turns(engine: Engine) {
    let queue = Queue::from(REMOTE);
    loop {
        let until = engine.now().after(std::time::Duration::from_secs(60));
        let polled = engine.poll_turn(&queue, StartTurn::default(), until).await;
        let polled = polled.expect("a poll is answered");
        let Some(turn) = polled.and_then(Taken::turn) else { continue };
        let first = turn.previous_started.0 == 0;
        let answered = engine.answer_turn(
            turn.token.as_slice(),
            |token| TurnAnswer::new(token, vec![Asked::from(next(first))]),
            None,
        );
        // Messages that wait refuse a closing answer; the turn comes again.
        answered.await.expect("an answer is taken");
    }
}

fn next(first: bool) -> Command {
    match first {
        true => Command::ScheduleActivity(Box::new(ActivitySpec {
            id: "only".into(),
            name: Name::from("remote"),
            queue: Queue::from(REMOTE),
            remote: true,
            timeouts: Timeouts {
                start_to_close: Some(Span(std::time::Duration::from_secs(600))),
                ..Timeouts::default()
            },
            ..ActivitySpec::default()
        })),
        false => Command::Complete(None),
    }
}

async fn remote_activities(engine: Engine) {
    let queue = Queue::from(REMOTE);
    loop {
        let until = engine.now().after(std::time::Duration::from_secs(60));
        let polled = engine.poll_activity(&queue, "fake".into(), "".into(), until).await;
        let Some(activity) = polled.expect("a poll is answered") else { continue };
        match engine.end_activity(activity.token.as_slice(), Ending::Completed(None)).await {
            Ok(()) => {
                acknowledge(format_args!("complete {} {}", activity.activity, activity.run.uuid))
            }
            Err(Error::BadToken(_)) => {}
            Err(error) => panic!("an end is refused: {error}"),
        }
    }
}
