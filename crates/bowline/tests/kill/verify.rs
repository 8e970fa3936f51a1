//! The last process finishes what all the killed ones began, and looks at everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use bowline_engine::{
    Engine,
    core::{Cause, Event, EventKind, RunId, Signal, lawful},
    store::Filter,
};

use crate::promise::builder;

/// How long the survivors may take, before the test says what they wait for.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn verify(folder: &Path, promises: &BTreeSet<String>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let engine = builder(folder).start().await.expect("the engine starts");
        let runs = all_runs(&engine).await;
        for run in &runs {
            finish(&engine, *run).await;
        }
        let mut histories = BTreeMap::new();
        for run in runs {
            let events = engine.history(run).await.expect("history reads");
            lawful::check(run, &events).expect("history is lawful");
            one_outcome(&events);
            histories.insert(run.uuid, events);
        }
        promises.iter().for_each(|promise| kept(promise, &histories));
        let orphans = engine.orphans().await.expect("orphans are listed");
        assert!(orphans.runs.is_empty() && orphans.attempts.is_empty(), "{orphans:?}");
        assert_eq!(orphans.queued, 0);
        engine.close(Duration::from_secs(10)).await.expect("closes");
    });
    sound(folder);
}

async fn all_runs(engine: &Engine) -> Vec<RunId> {
    let (mut runs, mut after) = (Vec::new(), None);
    loop {
        let filter = Filter { limit: 500, after, ..Filter::default() };
        let page = engine.find(filter).await.expect("runs are listed");
        runs.extend(page.runs.iter().map(|head| head.run));
        match page.next {
            Some(next) => after = Some(next),
            None => return runs,
        }
    }
}

/// Native runs that wait are told to go on; remote ones are terminated: nobody serves them now.
async fn finish(engine: &Engine, run: RunId) {
    let head = engine.head(run).await.expect("the run is there");
    assert!(head.parked.is_none(), "{:?}", head.parked);
    if !head.status.is_open() {
        return;
    }
    if head.rules.is_native() {
        let signal = Signal { name: "go".into(), ..Signal::default() };
        // It may have closed by itself meanwhile.
        let _ = engine.signal(run, signal).await;
    } else {
        let cause = Cause::requested("the test is over", "the test");
        engine.terminate(run, cause).await.expect("a termination is taken");
    }
    let ended = tokio::time::timeout(PATIENCE, engine.outcome(run)).await;
    if ended.is_err() {
        let history = engine.history(run).await.expect("history reads");
        panic!("run {run} does not end: {head:?} {history:#?}");
    }
}

/// Every activity has at most one outcome.
fn one_outcome(events: &[Event]) {
    let mut ended = BTreeSet::new();
    for event in events {
        let activity = match &event.kind {
            EventKind::ActivityCompleted(e) => e.activity,
            EventKind::ActivityFailed(e) => e.activity,
            EventKind::ActivityTimedOut(e) => e.activity,
            EventKind::ActivityCancelled(e) => e.activity,
            _ => continue,
        };
        assert!(ended.insert(activity), "activity {activity} ended twice: {events:#?}");
    }
}

fn kept(promise: &str, histories: &BTreeMap<u128, Vec<Event>>) {
    let words: Vec<&str> = promise.split(' ').collect();
    let [what, name, run] = words[..] else { panic!("a promise has three words: {promise}") };
    let run: u128 = run.parse().expect("a run is a number");
    let events = histories.get(&run).unwrap_or_else(|| panic!("the run is gone: {promise}"));
    let times = |found: &dyn Fn(&EventKind) -> bool| {
        events.iter().filter(|event| found(&event.kind)).count()
    };
    match what {
        "start" => assert_eq!(
            times(&|k| matches!(k, EventKind::WorkflowStarted(e) if e.request_id.as_str() == name)),
            1,
            "{promise}"
        ),
        "signal" => assert_eq!(
            times(
                &|k| matches!(k, EventKind::WorkflowSignalled(e) if e.request_id.as_str() == name)
            ),
            1,
            "{promise}: {events:#?}"
        ),
        "cancel" => {
            let asked = times(&|k| matches!(k, EventKind::WorkflowCancelRequested(_)));
            let closed = events.last().is_some_and(|event| event.kind.closes());
            assert!(asked == 1 || closed, "{promise}: {events:#?}");
        }
        "complete" => assert_eq!(
            times(&|k| {
                let EventKind::ActivityCompleted(e) = k else { return false };
                e.activity.to_string() == name
            }),
            1,
            "{promise}: {events:#?}"
        ),
        other => panic!("an unknown promise: {other}"),
    }
}

fn sound(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let store = bowline_sqlite::SqliteStore::open(folder.join("kill.db")).expect("opens");
        assert_eq!(store.check().await.expect("it can be checked"), Vec::new());
        store.close().await;
    });
}
