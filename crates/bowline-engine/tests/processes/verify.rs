//! What must be so after any storm: the survivors finish what everybody began, and all of it is
//! looked at.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{
    Event, EventKind, ReceiptId, RetryState, RunEnding, RunId, Signal, Time, lawful,
};
use bowline_engine::Engine;
use bowline_store::{Filter, Head, Phase};

use crate::{
    child::{CHILD, PATIENCE},
    schema::Schema,
    worker::Promises,
};

/// Waits for what must come.
pub(crate) async fn within<T, E: std::fmt::Debug>(
    what: &str,
    answer: impl Future<Output = Result<T, E>>,
) -> T {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer.expect(what),
        Err(_) => panic!("waited for {what}, and it did not come"),
    }
}

/// Everything that there is, once all of it is over.
pub(crate) struct Aftermath {
    pub(crate) histories: BTreeMap<u128, Vec<Event>>,
    promises: BTreeSet<String>,
}

/// Finishes what is open, and checks everything. Somebody must still be there who works.
pub(crate) async fn verify(schema: &Schema, engine: &Engine, promises: &Promises) -> Aftermath {
    let promises = promises.lock().expect("nobody panics with it").clone();
    let mut histories = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for head in all_runs(engine).await {
        assert!(ids.insert(head.workflow_id.clone()), "two runs of {}", head.workflow_id);
        finish(engine, &head).await;
        let events = within("history", engine.history(head.run)).await;
        lawful::check(head.run, &events).expect("history is lawful");
        one_outcome(&events);
        histories.insert(head.run.uuid, events);
    }
    for promise in &promises {
        kept(engine, promise, &histories).await;
    }
    // What was asked for by somebody who was killed before the answer came, nobody has waited for,
    // and nobody tells when the last row of it goes: it is looked at.
    let mut left = Vec::new();
    let looks = async {
        loop {
            left = left_over(schema, engine).await;
            if left.is_empty() {
                return;
            }
        }
    };
    let is_over = tokio::time::timeout(PATIENCE, looks).await.is_ok();
    assert!(is_over, "{left:#?}");
    Aftermath { histories, promises }
}

/// What is left when everything should be over.
async fn left_over(schema: &Schema, engine: &Engine) -> Vec<String> {
    let orphans = within("orphans", engine.orphans()).await;
    let orphans = Some(orphans).filter(|orphans| !orphans.is_empty());
    let mut left: Vec<_> = orphans.iter().map(|orphans| format!("{orphans:?}")).collect();
    for rows in ["activities WHERE place < 2", "alarms", "inbox", "marks", "owed"] {
        let count = schema.rows(rows).await;
        left.extend((count > 0).then(|| format!("{count} rows of {rows}")));
    }
    left
}

pub(crate) async fn all_runs(engine: &Engine) -> Vec<Head> {
    let (mut runs, mut after) = (Vec::new(), None);
    loop {
        let filter = Filter { limit: 500, after, ..Filter::default() };
        let page = within("a list of runs", engine.find(filter)).await;
        runs.extend(page.runs);
        match page.next {
            Some(next) => after = Some(next),
            None => return runs,
        }
    }
}

/// Everything that is known of the runs that are open, for whoever wonders why nothing goes on.
pub(crate) async fn open(engine: &Engine) -> String {
    let mut told = String::new();
    for head in all_runs(engine).await.iter().filter(|head| head.status.is_open()) {
        let history = engine.history(head.run).await;
        let left = engine.leftovers(head.run).await;
        told.push_str(&format!("{head:?}\n{history:#?}\n{left:#?}\n"));
    }
    told
}

/// Runs that wait are told to go on, whatever they were told before.
pub(crate) async fn all_go_on(engine: &Engine) {
    for head in all_runs(engine).await {
        go_on(engine, &head).await;
    }
}

async fn go_on(engine: &Engine, head: &Head) {
    if head.status.is_open() && head.name.as_str() == "order" {
        let signal = Signal { name: "go".into(), ..Signal::default() };
        // It may have closed by itself meanwhile.
        let _ = engine.signal(head.run, signal).await;
    }
}

async fn finish(engine: &Engine, head: &Head) {
    let run = head.run;
    assert!(head.parked.is_none(), "{:?}", head.parked);
    go_on(engine, head).await;
    let ended = tokio::time::timeout(PATIENCE, engine.outcome(run)).await;
    if ended.is_err() {
        let now = engine.head(run).await.expect("the run is there");
        let history = engine.history(run).await.expect("history reads");
        let left = engine.leftovers(run).await.expect("it can be asked");
        panic!("run {run} does not end: {now:?} {history:#?} {left:#?}");
    }
}

/// Every activity and every child has at most one outcome.
fn one_outcome(events: &[Event]) {
    let mut ended = BTreeSet::new();
    for event in events {
        let whose = match &event.kind {
            EventKind::ActivityCompleted(e) => e.activity,
            EventKind::ActivityFailed(e) => e.activity,
            EventKind::ActivityTimedOut(e) => e.activity,
            EventKind::ActivityCancelled(e) => e.activity,
            _ => continue,
        };
        assert!(ended.insert(whose), "{whose} ended twice: {events:#?}");
    }
    let scheduled = events.iter().filter(|e| e.kind.name() == "ActivityScheduled").count();
    let closed = events.last().is_some_and(|event| event.kind.closes());
    assert!(closed && ended.len() <= scheduled, "{events:#?}");
}

/// What was acknowledged happened, once.
async fn kept(engine: &Engine, promise: &str, histories: &BTreeMap<u128, Vec<Event>>) {
    let words: Vec<&str> = promise.split(' ').collect();
    let [what, name, run] = words[..] else { panic!("a promise has three words: {promise}") };
    let run: u128 = run.parse().expect("a run is a number");
    let events = histories.get(&run).unwrap_or_else(|| panic!("the run is gone: {promise}"));
    let times = |found: &dyn Fn(&EventKind) -> bool| {
        events.iter().filter(|event| found(&event.kind)).count()
    };
    let is_start = |k: &EventKind| match k {
        EventKind::WorkflowStarted(started) => started.request_id.as_str() == name,
        _ => false,
    };
    let is_signal = |k: &EventKind| match k {
        EventKind::WorkflowSignalled(signalled) => signalled.request_id.as_str() == name,
        _ => false,
    };
    match what {
        "start" => assert_eq!(times(&is_start), 1, "{promise}"),
        "signal" => assert_eq!(times(&is_signal), 1, "{promise}: {events:#?}"),
        "cancel" | "terminate" => {
            let asked = times(&|k| matches!(k, EventKind::WorkflowCancelRequested(_)));
            assert!(asked <= 1, "{promise}: {events:#?}");
            let receipt = ReceiptId(name.parse().expect("a receipt is a number"));
            let settled = within("a receipt to settle", engine.wait(receipt, Phase::Settled)).await;
            assert!(settled.settled(), "{promise}: {settled:?}");
        }
        other => panic!("an unknown promise: {other}"),
    }
}

impl Aftermath {
    /// How many promises of a kind there were.
    pub(crate) fn promised(&self, what: &str) -> usize {
        self.promises.iter().filter(|promise| promise.starts_with(what)).count()
    }

    /// Nobody stopped what nobody had asked to stop: every such run has done all its work. Who
    /// asked stands in history, whether or not the answer was heard. An activity that is unlucky
    /// enough to lose ten workers fails, as it should.
    pub(crate) fn nothing_else_was_stopped(&self) {
        for events in self.histories.values() {
            let worn_out = events.iter().any(|event| match &event.kind {
                EventKind::ActivityFailed(failed) => failed.retry == RetryState::AttemptsUsed,
                _ => false,
            });
            let asked = events.iter().any(|event| match &event.kind {
                EventKind::WorkflowCancelRequested(e) => {
                    e.cause.root().requested_by == CHILD.into()
                }
                EventKind::WorkflowTerminated(e) => e.cause.root().requested_by == CHILD.into(),
                _ => false,
            });
            let last = events.last().map(|event| &event.kind);
            let completed = matches!(last, Some(EventKind::WorkflowCompleted(_)));
            assert!(completed || asked || worn_out, "{events:#?}");
        }
    }

    /// Nobody took an attempt from whoever had it. One that was claimed, and whose claim was never
    /// answered, is handed back untried: that is no failure. What begins from a moment on is not
    /// looked at.
    pub(crate) fn nothing_was_stolen_before(&self, moment: Time) {
        for events in self.histories.values() {
            let stolen = events.iter().any(|event| match &event.kind {
                EventKind::ActivityStarted(started) => {
                    started.last_failure.is_some() && started.at < moment
                }
                _ => false,
            });
            assert!(!stolen, "{events:#?}");
        }
    }
}

/// How a run ends.
pub(crate) async fn ending(engine: &Engine, run: RunId) -> RunEnding {
    within("a run to close", engine.outcome(run)).await.1
}
