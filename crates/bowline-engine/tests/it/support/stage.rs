//! Where stories about cancels are played: an engine on a store behind gates, on every store that
//! there is, in processes that can be killed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bowline_core::{ReceiptId, RunId, Time};
use bowline_engine::{
    Builder, CancelRequest, Engine, QueueOptions,
    clock::{Clock, ManualClock},
    ids::CountedIds,
};
use bowline_store::{Leftovers, Phase, Store};
use tokio::runtime::Runtime;

use super::{
    gate::{Gated, Gates, Life},
    stores::{self, Kept},
    witness::{Seen, Witness},
};
use crate::world::{QUEUE, history, within};

/// So long that no renewal comes by time, unless a story asks for a shorter one. Nobody looks for
/// stuck threads before either.
const LEASE: Duration = Duration::from_secs(30_000);

/// How long a story waits for a cancel to come so far: a hundred thousand rows are swept slowly by
/// a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Plays a story on every store.
pub(crate) async fn each(story: impl AsyncFn(Stage)) {
    for (name, kept) in stores::all() {
        eprintln!("on the store {name}");
        story(Stage::new(kept)).await;
    }
}

/// Plays a story on every store in which a member can be given up by others.
pub(crate) async fn each_shared(story: impl AsyncFn(Stage)) {
    for (name, kept) in stores::all().filter(|(_, kept)| kept.give_up.is_some()) {
        eprintln!("on the store {name}");
        story(Stage::new(kept)).await;
    }
}

/// A store behind gates, a clock, and nobody who works yet.
pub(crate) struct Stage {
    pub(crate) gates: Gates,
    pub(crate) clock: Arc<ManualClock>,
    ids: Arc<CountedIds>,
    kept: Kept,
    /// The store as it is open now, and the life of whoever has it open.
    store: Mutex<(Arc<dyn Store>, Life)>,
    seen: Arc<Seen>,
    /// The leases of the store run by this clock.
    is_timed: bool,
}

impl Drop for Stage {
    /// An order that was not kept is the story's failure, whatever it is about.
    fn drop(&mut self) {
        if let Some(broken) = self.seen.broken().filter(|_| !std::thread::panicking()) {
            panic!("{broken}");
        }
    }
}

impl Stage {
    fn new(kept: Kept) -> Self {
        Self::at(Arc::new(ManualClock::default()), kept, false)
    }

    /// A store in memory that many may have open, and whose leases run by the story's clock.
    pub(crate) fn many() -> Self {
        let clock = Arc::new(ManualClock::default());
        Self::at(clock.clone(), stores::many(&clock), true)
    }

    fn at(clock: Arc<ManualClock>, kept: Kept, is_timed: bool) -> Self {
        Self {
            gates: Gates::default(),
            clock,
            ids: Arc::new(CountedIds::default()),
            store: Mutex::new(((kept.open)(), Life::default())),
            seen: Arc::default(),
            is_timed,
            kept,
        }
    }

    /// The store itself, past all gates.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.store.lock().unwrap().0.clone()
    }

    /// An engine that works on one queue, with two threads.
    pub(crate) fn builder(&self) -> Builder {
        self.builder_with(QueueOptions::default())
    }

    pub(crate) fn builder_with(&self, options: QueueOptions) -> Builder {
        let (inner, life) = self.store.lock().unwrap().clone();
        let inner = Arc::new(Witness { inner, seen: self.seen.clone() });
        let (gates, is_timed) = (self.gates.clone(), self.is_timed);
        let store: Arc<dyn Store> = Arc::new(Gated { inner, gates, is_timed, life });
        Engine::builder(store)
            .clock(self.clock.clone())
            .ids(self.ids.clone())
            .identity("worker")
            .threads(2)
            // Or the watchdog is, now and then, the next who sleeps.
            .stuck_after(Duration::MAX)
            .lease(LEASE)
            .stuck_after(LEASE * 10)
            .queue(QUEUE, options)
    }

    /// Waits until the worker of the first process has looked for activities and found none: from
    /// then on a commit that schedules one also starts it. While it looks, its slots are its own.
    pub(crate) async fn rests(&self) {
        within("the worker to be at rest", async {
            while !self.gates.are_at_rest() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Opens the store again, as after a crash of whoever had it.
    pub(crate) fn reopen(&self) {
        *self.store.lock().unwrap() = ((self.kept.open)(), Life::default());
    }

    /// Whoever has the store is given up by others; its process lives on.
    pub(crate) fn give_up(&self) {
        (self.kept.give_up.as_ref().expect("a store that is shared"))();
    }

    /// The moment so many seconds from now.
    pub(crate) fn after(&self, seconds: u64) -> Time {
        self.clock.now().after(Duration::from_secs(seconds))
    }

    /// Waits until somebody sleeps whose moment is so many seconds away, and is the next; then it
    /// comes.
    pub(crate) async fn passes(&self, seconds: u64) {
        let due = self.clock.until_next_due(self.after(seconds));
        within(&format!("somebody who sleeps for {seconds} s"), due).await;
        self.advance(seconds);
    }

    /// Waits until the next moment at which anybody is due is `due` seconds away, and then lets
    /// `seconds` pass, which is less.
    pub(crate) async fn passes_until(&self, seconds: u64, due: u64) {
        let sleeps = self.clock.until_next_due(self.after(due));
        within(&format!("somebody who sleeps for {due} s"), sleeps).await;
        self.advance(seconds);
    }

    /// The same for the short pause after which a store call is tried again.
    pub(crate) async fn pauses(&self, millis: u64) {
        self.sleeps(millis).await;
        self.clock.advance(Duration::from_millis(millis));
    }

    /// Waits for such a pause to begin, and leaves it at that.
    pub(crate) async fn sleeps(&self, millis: u64) {
        let span = Duration::from_millis(millis);
        let due = self.clock.until_next_due(self.clock.now().after(span));
        within(&format!("a pause of {millis} ms"), due).await;
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Starts an engine in a process of its own, as far as tasks go: it can be killed.
    pub(crate) async fn process(&self, builder: Builder) -> Process {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let started = runtime.spawn(builder.start()).await.expect("starting does not panic");
        let life = self.store.lock().unwrap().1.clone();
        Process { engine: started.expect("the engine starts"), runtime: Some(runtime), life }
    }
}

/// An engine that can be killed.
pub(crate) struct Process {
    pub(crate) engine: Engine,
    runtime: Option<Runtime>,
    life: Life,
}

impl Process {
    /// Everything that this process was doing stops in the middle.
    pub(crate) fn kill(mut self) {
        self.life.end();
        self.runtime.take().expect("it is killed once").shutdown_background();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// So many slots, and no limit of speed.
pub(crate) fn slots(slots: usize) -> QueueOptions {
    QueueOptions { slots, rate: None }
}

/// Alice asks for a cancel.
pub(crate) async fn cancel(engine: &Engine, run: RunId) -> ReceiptId {
    let request = CancelRequest::new("enough", "alice");
    engine.cancel(run, request).await.expect("the cancel is taken")
}

/// Waits until a cancel has come so far.
pub(crate) async fn reaches(engine: &Engine, receipt: ReceiptId, phase: Phase) -> Leftovers {
    let waited = tokio::time::timeout(PATIENCE, engine.wait(receipt, phase)).await;
    match waited {
        Ok(left) => left.expect("the receipt is there"),
        Err(_) => {
            let left = engine.receipt(receipt).await.expect("the receipt is there");
            panic!("waited for {phase:?}, and it is {:?}: {left:#?}", left.phase());
        }
    }
}

/// Waits until a cancel is clean, and checks that nothing at all is left.
pub(crate) async fn comes_clean(engine: &Engine, receipt: ReceiptId) -> Leftovers {
    let left = reaches(engine, receipt, Phase::Clean).await;
    assert!(left.remainder().is_empty() && left.queued == 0 && left.unswept == 0, "{left:#?}");
    assert!(left.runs.iter().all(|line| !line.status.is_open()), "{left:#?}");
    for line in &left.runs {
        history(engine, line.run).await;
    }
    let orphans = engine.orphans().await.expect("orphans are listed");
    assert!(orphans.is_empty(), "{orphans:#?}");
    left
}

/// Lets everything go on that can, so that what should not happen has had its chance.
pub(crate) async fn settle_down(engine: &Engine, run: RunId) {
    for _ in 0..50 {
        tokio::task::yield_now().await;
        within("a read", engine.head(run)).await.expect("the run is there");
    }
}
