//! A whole engine for tests: a store of any kind, manual clock, counted ids, and code made of
//! closures.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Address, Event, EventId, Failure, Name, Namespace, Outcome, Payload, Queue,
    RunEnding, RunId, Signal, lawful,
};
use bowline_engine::{
    Builder, Engine, QueueOptions, StartOptions,
    clock::ManualClock,
    ids::CountedIds,
    worker::{activity::ActivityContext, registry::activity_fn},
};
use bowline_replay::{Context, Ended};
use bowline_store::{Filter, Read, Store};

use crate::{
    checked::{Book, Checked},
    support::stores::{self, Kept},
};

/// The queue that every test works on.
pub(crate) const QUEUE: &str = "q";

/// How long a test waits for what must come before it says that it does not.
const PATIENCE: Duration = Duration::from_secs(120);

/// An engine on a store that outlives it. Every commit is checked against the rules of history.
pub(crate) struct World {
    store: Arc<dyn Store>,
    kept: Kept,
    pub(crate) book: Arc<Book>,
    pub(crate) clock: Arc<ManualClock>,
    ids: Arc<CountedIds>,
}

impl World {
    /// On the memory store, where what is told is the same of every store.
    pub(crate) fn memory() -> Self {
        Self::on(stores::memory().expect("there is always memory"))
    }

    pub(crate) fn on(kept: Kept) -> Self {
        Self {
            store: (kept.open)(),
            kept,
            book: Arc::default(),
            clock: Arc::new(ManualClock::default()),
            ids: Arc::new(CountedIds::default()),
        }
    }

    /// A builder with this world's store, clock and ids.
    pub(crate) fn builder(&self) -> Builder {
        let store: Arc<dyn Store> = Arc::new(Checked::new(self.store.clone(), self.book.clone()));
        Engine::builder(store)
            .clock(self.clock.clone())
            .ids(self.ids.clone())
            .identity("worker")
            // The hands of the clock may be turned while a turn is had.
            .stuck_after(Duration::MAX)
            .threads(2)
            .queue(QUEUE, QueueOptions::default())
    }

    /// The time passes, and everything that it rings is rung.
    pub(crate) fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    /// The same store, as a new process finds it after this one was killed.
    pub(crate) fn reopen(&mut self) {
        self.store = (self.kept.open)();
    }

    /// All runs with everything that is written about them, so that a test can see that nothing
    /// changed.
    pub(crate) async fn rows(&self) -> String {
        let all = Filter { limit: 1_000, ..Filter::default() };
        let mut rows = String::new();
        for head in self.store.find(all).await.expect("runs are listed").runs {
            let read = Read { inbox: true, activities_max: 1_000, ..Read::whole(head.run) };
            let read = self.store.read(read).await.expect("the run reads");
            rows += &format!("{read:#?}\n");
        }
        rows
    }
}

/// Makes tests of stories: each is told on every store, and is a test of its own on each.
macro_rules! on_every_store {
    ($($story:ident),* $(,)?) => {
        $crate::world::on_every_store!(memory: $($story)*);
        $crate::world::on_every_store!(sqlite: $($story)*);
        $crate::world::on_every_store!(postgres: $($story)*);
    };
    ($store:ident: $($story:ident)*) => {
        mod $store {
            $(#[tokio::test]
            async fn $story() {
                if let Some(kept) = $crate::support::stores::$store() {
                    super::$story($crate::world::World::on(kept)).await;
                }
            })*
        }
    };
}
pub(crate) use on_every_store;

impl Drop for World {
    /// A rule that was broken in the background is the test's failure.
    fn drop(&mut self) {
        if let Some(broken) = self.book.broken().filter(|_| !std::thread::panicking()) {
            panic!("{broken}");
        }
    }
}

/// Waits for something that must come, and says what it was if it does not.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited for {what}, and it did not come"),
    }
}

/// Asks for an activity of this name.
pub(crate) fn activity(name: &str, input: &str) -> ActivitySpec {
    ActivitySpec {
        name: Name::from(name),
        queue: Queue::from(QUEUE),
        input: Some(Payload::json(input)),
        ..ActivitySpec::default()
    }
}

/// What a payload says; empty if there is none.
pub(crate) fn text(payload: &Option<Payload>) -> String {
    let bytes = payload.as_ref().map_or(&[][..], |payload| payload.bytes.as_slice());
    String::from_utf8(bytes.to_vec()).expect("payloads of tests are text")
}

/// The payload of an outcome that must be a success.
pub(crate) fn done(outcome: Outcome) -> Result<Option<Payload>, Ended> {
    match outcome {
        Outcome::Completed(result) => Ok(result),
        Outcome::Failed(failure) => Err(Ended::Failed(failure)),
        Outcome::TimedOut(timeout) => Err(Ended::TimedOut(timeout)),
        Outcome::Cancelled(cause, ..) => Err(Ended::Cancelled(cause)),
        other => Err(Ended::Failed(Failure::new(format!("{other:?}")))),
    }
}

/// Builder sugar for tests.
pub(crate) trait Code {
    /// A workflow from a closure.
    fn flow<F, B>(self, name: &str, code: F) -> Self
    where
        F: Fn(Context, Option<Payload>) -> B + Send + Sync + 'static,
        B: Future<Output = Result<Option<Payload>, Ended>> + 'static;

    /// An activity from a closure.
    fn act<F, B>(self, name: &str, code: F) -> Self
    where
        F: Fn(ActivityContext, Option<Payload>) -> B + Send + Sync + 'static,
        B: Future<Output = Result<Option<Payload>, Failure>> + Send + 'static;
}

impl Code for Builder {
    fn flow<F, B>(self, name: &str, code: F) -> Self
    where
        F: Fn(Context, Option<Payload>) -> B + Send + Sync + 'static,
        B: Future<Output = Result<Option<Payload>, Ended>> + 'static,
    {
        self.workflow(name, Arc::new(code))
    }

    fn act<F, B>(self, name: &str, code: F) -> Self
    where
        F: Fn(ActivityContext, Option<Payload>) -> B + Send + Sync + 'static,
        B: Future<Output = Result<Option<Payload>, Failure>> + Send + 'static,
    {
        self.activity(name, activity_fn(code))
    }
}

/// How a run of a workflow is started here.
pub(crate) fn options(name: &str, id: &str) -> StartOptions {
    StartOptions::new(name, id, QUEUE, None)
}

/// Starts a run of a workflow.
pub(crate) async fn start(engine: &Engine, name: &str, id: &str) -> RunId {
    engine.start(options(name, id)).await.expect("the run starts")
}

/// How a run ends.
pub(crate) async fn ending(engine: &Engine, run: RunId) -> RunEnding {
    let outcome = within("the run to close", engine.outcome(run)).await;
    outcome.expect("the run has an outcome").1
}

/// A signal of this name, with nothing in it.
pub(crate) fn signal(name: &str) -> Signal {
    Signal { name: Name::from(name), ..Signal::default() }
}

/// The newest run of a workflow id.
pub(crate) fn current(id: &str) -> Address {
    Address::Current(Namespace(1), id.into())
}

/// History, checked against every rule of order, as one line per event.
pub(crate) async fn history(engine: &Engine, run: RunId) -> Vec<Event> {
    let events = engine.history(run).await.expect("history reads");
    lawful::check(run, &events).expect("history is lawful");
    events
}

/// The kinds of events, in order.
pub(crate) async fn kinds(engine: &Engine, run: RunId) -> Vec<&'static str> {
    history(engine, run).await.iter().map(|event| event.kind.name()).collect()
}

/// Waits until an event of a kind stands in history.
pub(crate) async fn until(engine: &Engine, run: RunId, kind: &str) -> EventId {
    loop {
        let events = history(engine, run).await;
        if let Some(event) = events.iter().find(|event| event.kind.name() == kind) {
            return event.id;
        }
        let next = EventId(events.len() as u64 + 1);
        let what = format!("{kind} after {events:#?}");
        let grown = within(&what, engine.grown(run, next)).await;
        let head = grown.expect("the run is there");
        assert!(head.next_event > next, "the run closed without {kind}");
    }
}

/// Waits until a run has seen everything that was sent to it.
pub(crate) async fn idle(engine: &Engine, run: RunId) {
    within("the run to have read its inbox", async {
        loop {
            let head = engine.head(run).await.expect("the run is there");
            if head.consumed == head.inbox || !head.status.is_open() {
                return;
            }
            let read = engine.grown(run, head.next_event).await;
            read.expect("the run is there");
        }
    })
    .await;
}
