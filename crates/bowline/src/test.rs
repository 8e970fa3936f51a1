//! Tests for your own workflows: a year passes in a moment, every run of a test is the same, and
//! things go wrong exactly where you say.
//!
//! [`run`] starts your program on a store in memory and gives you a [`Test`], which is a
//! [`Bowline`] and more. **Time is virtual**: it stands still while anything can make progress and
//! jumps to the next timer when nothing can, `tokio::time` in activities included. **Mocks**
//! replace activities, by their path. **Faults** happen at [`Point`]s: the process dies, the worker
//! is lost, the store fails. [`replay`] compares recorded histories with today's code.
//!
//! All of it needs the feature `test`: `cargo add bowline --dev --features test`.
//!
//! ```
//! use bowline::{prelude::*, test::{Fault, Point, Step}};
//! use std::time::Duration;
//!
//! async fn charge(order: String) -> bowline::Result<String> {
//!     panic!("a test must not charge anybody for {order}")
//! }
//!
//! async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
//!     ctx.sleep(Duration::from_secs(365 * 24 * 3600)).await?;
//!     Ok(ctx.activity(charge, &order).await?)
//! }
//!
//! let app = Bowline::open("orders.db").workflow(checkout).activity(charge);
//! bowline::test::run(app, async |t| {
//!     t.mock(charge, async |order| Ok(format!("payment for {order}")));
//!     // The process dies when the charge is made, and before anybody has noted that.
//!     t.once(Point::before(Step::Settle).of(charge), Fault::Crash);
//!
//!     let run = t.start(checkout, "order-42", "a rope").await.unwrap();
//!     assert_eq!(run.result().await.unwrap(), "payment for a rope");
//!     assert_eq!(t.attempts(charge), 2);
//! });
//! ```
//!
//! # What is certain, and what is not
//!
//! The test is a client of the process that it tests: what dies is the process, never the test, and
//! the test's handles stay valid. Everything runs on one thread, one thing after the other;
//! workflow code has its own thread outside the runtime, as always, and everything else waits for
//! it meanwhile. So two runs of a test give equal histories, with equal ids and times, as long as
//! your own activities do the same each time: a `tokio::select!` without `biased` is random in an
//! activity too. While a child process of an activity runs, time passes as on the wall. Virtual
//! time cannot know that an activity waits for a socket, and jumps; hold it with
//! [`Test::hold_clock`], or mock that activity.

mod idle;
mod mock;
mod point;
mod real;
mod replay;
mod store;
mod world;

use std::{
    ops::Deref,
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bowline_engine::{
    Builder as EngineBuilder, Engine,
    clock::{Clock, RuntimeClock},
    core::{Name, Status, Time},
    ids::CountedIds,
    limits,
    store::{Filter, Store},
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::{runtime, task::LocalSet};

use crate::{
    Activity, ActivityCtx, Bowline, Builder, ClientError, Returned, builder::Parts,
    ctx::assert_path, moment, value,
};
use idle::Idle;
use mock::{Mockable, Mocks};
use real::RealTime;
use store::{Inside, Outside};
use world::{Phases, World};

pub use point::{Fault, Point, Step};
pub use replay::{Drift, Replayed, replay};

/// When every test begins: the first second of 2030, UTC.
const BEGIN: Time = Time(1_893_456_000_000_000);

/// So long that an activity may sleep for years without being asked every ten seconds.
const LEASE: Duration = Duration::from_secs(3 * 24 * 3600);

/// When this has passed since the test last moved the clock, nothing will come any more.
const HORIZON: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Starts a program on a store in memory, runs `body` with it, and returns what that returns. The
/// place that the builder was opened with is ignored.
///
/// Call it from a plain `#[test]`: it has a runtime of its own.
///
/// # Panics
/// If the program cannot be started, if a fault that you asked for never happened, and if `body`
/// waits for something that never comes: then the message says which runs are open and what they
/// are doing.
pub fn run<T>(builder: Builder, body: impl AsyncFnOnce(&Test) -> T) -> T {
    assert!(
        runtime::Handle::try_current().is_err(),
        "bowline::test::run has a runtime of its own: call it from a plain `#[test]`, not from a \
         `#[tokio::test]`"
    );
    let idle = Idle::default();
    let parks = idle.clone();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .on_thread_park(move || parks.parks())
        .build()
        .expect("a runtime can be made");
    LocalSet::new().block_on(&runtime, Box::pin(play(builder, idle, body)))
}

async fn play<T>(builder: Builder, idle: Idle, body: impl AsyncFnOnce(&Test) -> T) -> T {
    let test = match Test::open(builder, idle).await {
        Ok(test) => test,
        Err(error) => panic!("the program cannot be started: {error}"),
    };
    let returned = tokio::select! {
        biased;
        returned = Box::pin(body(&test)) => returned,
        () = test.horizon() => panic!("{}", test.stuck().await),
        () = test.host() => unreachable!("the process is brought up again for ever"),
    };
    let unmet = test.inner.world.unmet();
    assert!(
        unmet.is_empty(),
        "the test is over, and what it asked for never happened: {}",
        unmet.join("; ")
    );
    test.inner.world.die(Fault::Crash);
    returned
}

/// The program under test: a [`Bowline`] whose clock, activities and faults the test controls.
#[derive(Clone)]
pub struct Test {
    bowline: Bowline,
    inner: Rc<TestWorld>,
}

struct TestWorld {
    world: Arc<World>,
    parts: Parts,
    clock: RuntimeClock,
    ids: Arc<CountedIds>,
    idle: Idle,
    mocks: Mocks,
    real: RealTime,
    /// When it is clear that the test waits in vain.
    horizon: Mutex<Time>,
}

impl Deref for Test {
    type Target = Bowline;

    fn deref(&self) -> &Bowline {
        &self.bowline
    }
}

impl Test {
    async fn open(builder: Builder, idle: Idle) -> Result<Self, ClientError> {
        let parts = builder.parts()?;
        let clock = RuntimeClock::new(runtime::Handle::current(), BEGIN);
        let (world, ids) = (Arc::new(World::default()), Arc::new(CountedIds::default()));
        let outside: Arc<dyn Store> = Arc::new(Outside(world.clone()));
        let client = base(outside.clone(), &clock, &ids).identity("test");
        let client = parts
            .workflows
            .iter()
            .fold(client, |client, (name, code)| client.workflow(name.clone(), code.clone()));
        let bowline = Bowline::new(client.start().await?, parts.app.clone(), outside);
        let horizon = Mutex::new(clock.now().after(HORIZON));
        let (mocks, real) = (Mocks::new(), RealTime::new(runtime::Handle::current()));
        let inner = Rc::new(TestWorld { world, parts, clock, ids, idle, mocks, real, horizon });
        let test = Self { bowline, inner };
        test.bring_up().await?;
        Ok(test)
    }

    /// A new life of the process, on the rows that there are.
    async fn bring_up(&self) -> Result<(), ClientError> {
        let TestWorld { world, parts, clock, ids, mocks, real, .. } = &*self.inner;
        let inside = Inside { world: world.clone(), life: world.life() };
        world.memory.reopen();
        let mut engine = base(Arc::new(inside), clock, ids).identity("worker");
        for (name, code) in &parts.activities {
            let (name, code) = (name.clone(), code.clone());
            let (world, mock_calls) = (world.clone(), mocks.mock_calls().clone());
            let mockable = Mockable { name: name.clone(), code, world, mock_calls };
            engine = engine.activity(name, Arc::new(mockable));
        }
        for (name, code) in &parts.workflows {
            engine = engine.workflow(name.clone(), code.clone());
        }
        for (queue, options) in &parts.queues {
            engine = engine.queue(queue.clone(), *options);
        }
        let engine = parts.settings.iter().fold(engine, |engine, set| set(engine));
        let engine = engine.threads(1).doors_of(self.bowline.engine());
        let engine = engine.probe(Arc::new(Phases { world: world.clone(), real: real.clone() }));
        world.lives(engine.start().await?);
        Ok(())
    }

    /// Brings the process up again whenever it has died.
    async fn host(&self) {
        let TestWorld { world, clock, .. } = &*self.inner;
        loop {
            world.died.notified().await;
            let Some(fault) = world.fate() else { continue };
            if fault == Fault::LoseWorker {
                clock.sleep_until(clock.now().after(limits::LEASE)).await;
            }
            if let Err(error) = self.bring_up().await {
                panic!("the program cannot be started again: {error}");
            }
        }
    }

    /// Ready when the test waits for something that never comes.
    async fn horizon(&self) {
        loop {
            let at = *self.inner.horizon.lock();
            if self.inner.clock.now() >= at {
                return;
            }
            self.inner.clock.sleep_until(at).await;
        }
    }

    /// What a test that waits in vain is told.
    async fn stuck(&self) -> String {
        let statuses = vec![Status::Running, Status::Cancelling];
        let filter = Filter { statuses, limit: limits::PAGE, ..Filter::default() };
        let mut lines = vec![
            "the test waits for something that never comes: a hundred years have passed, and it \
             still waits. Open runs:"
                .to_owned(),
        ];
        for head in self.engine().find(filter).await.map(|page| page.runs).unwrap_or_default() {
            let left = self.engine().leftovers(head.run).await;
            let attempts = left.map(|left| left.attempts).unwrap_or_default();
            let running = attempts.iter().filter(|line| line.running);
            let running: Vec<_> = running.map(|line| line.name.to_string()).collect();
            let doing = match (head.why_parked(), running.is_empty()) {
                (Some(parked), _) => format!("parked: {}", parked.reason),
                (None, true) => "waits for a message".to_owned(),
                (None, false) => format!("runs {}", running.join(", ")),
            };
            lines.push(format!("  {} ({}): {doing}", head.workflow_id, head.name));
        }
        lines.extend(self.inner.world.unmet().iter().map(|unmet| format!("  never came: {unmet}")));
        lines.join("\n")
    }

    /// Returns the current virtual time.
    pub fn now(&self) -> SystemTime {
        moment(self.inner.clock.now())
    }

    /// Lets time pass. Everything that is due until then happens, in order; when this returns,
    /// nothing more can happen at that moment.
    pub async fn advance(&self, span: Duration) {
        let TestWorld { clock, horizon, .. } = &*self.inner;
        let until = clock.now().after(span);
        *horizon.lock() = until.after(HORIZON);
        clock.sleep_until(until).await;
        self.settle().await;
    }

    /// Waits until everything that can happen without time passing has happened.
    pub async fn settle(&self) {
        self.inner.idle.reached().await;
    }

    /// Stops virtual time until you drop what this returns, for activities that wait for something
    /// real, such as a socket. Otherwise time jumps while they wait. (Child processes and
    /// `spawn_blocking` need no such help.)
    #[must_use = "time stands still until this is dropped"]
    pub fn hold_clock(&self) -> HeldClock {
        let (held, released) = std::sync::mpsc::sync_channel::<()>(0);
        // Tokio lets no time pass while blocking work is out.
        drop(tokio::task::spawn_blocking(move || released.recv()));
        HeldClock { _held: held }
    }

    /// Replaces the code of an activity, from the next attempt on. The mock gets the activity's
    /// input and returns exactly what the activity returns. It runs on the test's own thread, so it
    /// may hold whatever the test holds.
    ///
    /// ```
    /// # use bowline::prelude::*;
    /// # async fn charge(order: String) -> bowline::Result<u64> { Ok(order.len() as u64) }
    /// # async fn checkout(ctx: Ctx, order: String) -> bowline::Result<u64> {
    /// #     Ok(ctx.activity(charge, order).await?)
    /// # }
    /// # let app = Bowline::open("orders.db").workflow(checkout).activity(charge);
    /// # bowline::test::run(app, async |t| {
    /// let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    /// let orders = seen.clone();
    /// t.mock(charge, async move |order| {
    ///     orders.borrow_mut().push(order);
    ///     Ok(100)
    /// });
    /// # let run = t.start(checkout, "order-1", "a rope").await.unwrap();
    /// # assert_eq!(run.result().await.unwrap(), 100);
    /// # assert_eq!(*seen.borrow(), ["a rope"]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the activity is not registered.
    #[track_caller]
    pub fn mock<F, M, G>(&self, activity: F, mock: G)
    where
        F: Activity<M>,
        F::Input: DeserializeOwned,
        G: AsyncFn(F::Input) -> F::Returned + 'static,
    {
        self.mock_with(activity, async move |_: ActivityCtx, input| mock(input).await);
    }

    /// Like [`mock`](Self::mock), for code that also looks at its attempt: whether it is cancelled,
    /// which attempt it is.
    ///
    /// # Panics
    /// If the activity is not registered.
    #[track_caller]
    pub fn mock_with<F, M, G>(&self, activity: F, mock: G)
    where
        F: Activity<M>,
        F::Input: DeserializeOwned,
        G: AsyncFn(ActivityCtx, F::Input) -> F::Returned + 'static,
    {
        let name = self.name(activity);
        let mock = Rc::new(mock);
        self.inner.mocks.set(
            name,
            Rc::new(move |ctx, input| {
                let mock = mock.clone();
                Box::pin(async move {
                    let input = value::decode(input.as_ref())?;
                    mock(ctx.clone(), input).await.answer(&ctx)
                })
            }),
        );
    }

    /// Gives an activity its own code back, from the next attempt on.
    ///
    /// # Panics
    /// If the activity is not registered.
    #[track_caller]
    pub fn unmock<F, M>(&self, activity: F)
    where
        F: Activity<M>,
    {
        self.inner.mocks.unset(&self.name(activity));
    }

    /// Returns how many attempts of an activity have begun, mocked or not, in all lives of the
    /// process.
    ///
    /// # Panics
    /// If the activity is not registered.
    #[track_caller]
    pub fn attempts<F, M>(&self, activity: F) -> u32
    where
        F: Activity<M>,
    {
        self.inner.world.begun(&self.name(activity))
    }

    #[track_caller]
    fn name<F, M>(&self, activity: F) -> Name
    where
        F: Activity<M>,
    {
        const { assert_path::<F>() };
        let _ = activity;
        match self.inner.parts.app.registry.activity::<F>() {
            Ok(options) => options.name.clone(),
            Err(fault) => panic!("{fault}"),
        }
    }

    /// Makes something go wrong at a point, once. The test fails if it ends before that has
    /// happened.
    ///
    /// # Panics
    /// If the activity of the point is not registered, or this fault cannot happen there.
    #[track_caller]
    pub fn once(&self, point: Point, fault: Fault) {
        match point.planned(fault, &self.inner.parts.app.registry) {
            Ok(planned) => self.inner.world.plan(planned),
            Err(why) => panic!("{why}"),
        }
    }

    /// Kills the process now, starts it again at once, and waits until nothing more can happen.
    pub async fn crash(&self) {
        self.inner.world.die(Fault::Crash);
        self.settle().await;
    }
}

/// Virtual time stands still until this is dropped; see [`Test::hold_clock`].
#[derive(Debug)]
pub struct HeldClock {
    _held: std::sync::mpsc::SyncSender<()>,
}

/// What both engines of a test have in common.
fn base(store: Arc<dyn Store>, clock: &RuntimeClock, ids: &Arc<CountedIds>) -> EngineBuilder {
    let builder = Engine::builder(store).clock(Arc::new(clock.clone())).ids(ids.clone());
    builder.lease(LEASE).threads(1).in_step()
}
