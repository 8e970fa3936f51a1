//! How many workflows of one activity a second this store takes, with what an engine asks of it
//! for each: a start, a claim, the turn that schedules and starts the activity, its end, a look
//! into the inbox, and the turn that closes the run.
//!
//! `cargo run --release -p bowline-postgres --example throughput [seconds] [at once] [url]`;
//! without a URL the one in `BOWLINE_TEST_POSTGRES`. It fills a schema of its own, and drops it.

#![allow(clippy::print_stdout)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bowline_core::{
    ActivityScheduled, ActivitySpec, Batch, Birth, CommitId, Conflict, Ending, Epoch, Event,
    EventId, Holder, Link, MarkerRecorded, Namespace, Number, Payload, RequestId, Reuse, RunId,
    Status, Time, TurnRecord, Version, WorkflowStarted,
};
use bowline_postgres::{PostgresStore, Settings};
use bowline_store::{
    ClaimRuns, ClaimedRun, Close, Commit, Join, NewActivity, Posting, Proof, Read, Settle,
    StartNow, StartRun, Store, Want,
};
use tokio::{sync::Semaphore, task::JoinSet};

const NAMESPACE: Namespace = Namespace(1);
const NOW: Time = Time(1_000_000);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut words = std::env::args().skip(1);
    let mut number = |otherwise| words.next().and_then(|w| w.parse().ok()).unwrap_or(otherwise);
    let (seconds, at_once) = (number(10), number(500));
    let url = words.next().or_else(|| std::env::var("BOWLINE_TEST_POSTGRES").ok());
    let url = url.expect("a URL is given, or BOWLINE_TEST_POSTGRES is set");
    let mut settings = Settings::default();
    settings.schema = format!("hello_{}", std::process::id());
    let schema = settings.schema.clone();
    let opened = {
        let url = url.clone();
        tokio::task::spawn_blocking(move || PostgresStore::open_with(&url, settings))
    };
    let store = Arc::new(opened.await.expect("it does not panic").expect("it opens"));
    let done = lives(store.clone(), Duration::from_secs(seconds as u64), at_once).await;
    println!("{done:.0} workflows a second, {at_once} at once");
    store.close().await;
    let (client, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("it is there");
    tokio::spawn(connection);
    let drop = format!("DROP SCHEMA {schema} CASCADE");
    client.batch_execute(&drop).await.expect("it is ours");
}

/// Keeps so many runs on their way for a while; answers how many ended in a second.
async fn lives(store: Arc<PostgresStore>, span: Duration, at_once: usize) -> f64 {
    let join = Join::new("hello", Duration::from_secs(60), NOW);
    let epoch = store.join(join).await.expect("it joins").epoch;
    let (room, ended) = (Arc::new(Semaphore::new(at_once)), Arc::new(AtomicUsize::new(0)));
    let starting = {
        let (store, room) = (store.clone(), room.clone());
        tokio::spawn(async move {
            for uuid in 1.. {
                let Ok(permit) = room.acquire().await else { return };
                permit.forget();
                let store = store.clone();
                tokio::spawn(async move { store.post(vec![start(uuid)]).await });
            }
        })
    };
    let (mut hints, mut living) = (store.watch(), JoinSet::new());
    let begun = Instant::now();
    while begun.elapsed() < span {
        let claimed = store.claim_runs(claim(epoch)).await.expect("it is alive");
        if claimed.is_empty() {
            let _ = tokio::time::timeout(Duration::from_millis(100), hints.next()).await;
        }
        for one in claimed {
            let (store, room, ended) = (store.clone(), room.clone(), ended.clone());
            living.spawn(async move {
                live(&store, one).await;
                ended.fetch_add(1, Ordering::Relaxed);
                room.add_permits(1);
            });
        }
    }
    starting.abort();
    let done = ended.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    // Whatever is on its way needs the store.
    living.join_all().await;
    done
}

fn claim(epoch: Epoch) -> ClaimRuns {
    ClaimRuns {
        epoch,
        namespace: NAMESPACE,
        want: Want::Turn,
        queues: vec!["turns".into()],
        names: vec!["flow".into()],
        count: 64,
        now: NOW,
    }
}

/// One run, from its claim to its end.
async fn live(store: &PostgresStore, claimed: ClaimedRun) {
    let fence = claimed.fence.expect("it waits for a turn");
    let mut head = claimed.read.head;
    let activity = head.next_event.plus(2);
    let spec = ActivitySpec {
        name: "greet".into(),
        queue: "turns".into(),
        input: Some(Payload::wire(vec![7; 50])),
        ..ActivitySpec::default()
    };
    let scheduled = ActivityScheduled { spec: spec.clone(), turn: head.next_event };
    let scheduled = Event { kind: scheduled.into(), ..marker(activity) };
    let events = vec![marker(head.next_event), marker(head.next_event.plus(1)), scheduled];
    let mut first = turn(&head.run, head.version, head.inbox, &events);
    first.fence = Some(fence);
    let start = Some(StartNow { holder: Holder::Native(fence), worker: "hello".into() });
    first.activities = vec![NewActivity { activity, spec: Arc::new(spec), start }];
    head.version = committed(store, first).await;
    let settle = Settle {
        run: head.run,
        activity,
        attempt: 1,
        proof: Proof::Native(fence),
        ending: Ending::Completed(Some(Payload::wire(vec![7; 50]))),
        rung: None,
        delivered_at: None,
        observed_at: None,
        now: NOW,
    };
    store.settle(vec![settle]).await.remove(0).expect("it runs");
    let inbox = store.read(Read::inbox(head.run)).await.expect("it reads");
    let inbox = inbox.expect("it is there").inbox;
    let last = inbox.last().expect("the activity has ended").number;
    let events: Vec<Event> = (1..6).map(|at| marker(activity.plus(at))).collect();
    let mut close = turn(&head.run, head.version, last, &events);
    (close.fence, close.status) = (Some(fence), Status::Completed);
    close.close = Some(Close { successor: None, delete: false });
    committed(store, close).await;
}

async fn committed(store: &PostgresStore, commit: Commit) -> Version {
    store.commit(vec![commit]).await.remove(0).expect("nobody else writes").version
}

fn marker(id: EventId) -> Event {
    let kind = MarkerRecorded::default().into();
    Event { id, time: NOW, kind, notes: Vec::new(), wire: None }
}

fn turn(run: &RunId, expected: Version, consumed: Number, events: &Vec<Event>) -> Commit {
    let last = events.last().expect("a turn has events").id;
    let id = CommitId(run.uuid << 8 | u128::from(expected.0 + 1));
    Commit {
        consumed,
        next_event: last.plus(1),
        batch: Batch::of(events),
        history_bytes: 500,
        ..Commit::new(*run, expected, id, NOW)
    }
}

fn start(uuid: u128) -> Posting {
    // As ids that are made of the time and of chance: rising, and apart from each other.
    let uuid = uuid << 80 | uuid.wrapping_mul(0x9e37_79b9_7f4a_7c15) & ((1 << 64) - 1);
    let run = RunId { namespace: NAMESPACE, uuid };
    let started = WorkflowStarted {
        workflow_id: format!("flow-{uuid:x}").as_str().into(),
        name: "flow".into(),
        queue: "turns".into(),
        first_run: run,
        original_run: run,
        attempt: 1,
        ..WorkflowStarted::default()
    };
    let birth = Birth {
        run,
        events: vec![Event { kind: started.into(), ..marker(EventId(1)) }],
        record: TurnRecord::default(),
        alarms: Vec::new(),
        activities: Vec::new(),
        wake: true,
        reuse: Reuse::Allow,
        link: Link::None,
    };
    Posting::Start(Box::new(StartRun {
        birth,
        request_id: RequestId::default(),
        conflict: Conflict::Refuse,
        otherwise: None,
        hold: None,
        now: NOW,
    }))
}
