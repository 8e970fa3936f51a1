//! The host: brings processes up, lets things happen to them, and brings them up again.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use bowline_core::Time;
use bowline_engine::{Engine, QueueOptions, Schedules, clock::RuntimeClock};
use bowline_store::{Broadcast, Hint, Listeners, Store, memory::MemoryStore};
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    chance::Chance,
    far::Far,
    neighbour::Neighbours,
    observer::{Observer, Sees},
    process::{Hands, Life, Process, Seeded, SeededIds, WrongClock},
    program::{
        activity::Acts,
        code::{Edition, Flow, Outside, QUEUE, REFUND},
    },
    store::{Line, Wire},
    weather::Sky,
    world::{CACHED, Fate, LEASE, Mishap, World},
};

/// When every world begins: the first second of 2030, UTC.
pub(crate) const BEGIN: Time = Time(1_893_456_000_000_000);

/// How long closed runs are kept.
pub(crate) const KEPT: Duration = Duration::from_secs(25);

/// How long receipts are kept, and with them what they tell of.
const RECEIPTS_KEPT: Duration = Duration::from_secs(90);

/// All processes of a world.
pub(crate) struct Host {
    pub(crate) world: Arc<World>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) began: Instant,
    itself: Weak<Self>,
    chance: Chance,
    rows: MemoryStore,
    sky: Arc<Sky>,
    runtime: Handle,
    clocks: Vec<Arc<WrongClock>>,
    slots: Vec<Slot>,
    /// Remote workers.
    pub(crate) far: Vec<Far>,
    /// Everybody has the newest code.
    rolled_out: AtomicBool,
    came: Notify,
}

/// Schedules: a run every so many seconds.
struct Every;

impl Schedules for Every {
    fn next(&self, schedule: &str, since: Time, after: Time) -> Result<Option<Time>, String> {
        let seconds: i64 = schedule.parse().map_err(|_| format!("{schedule:?} is no number"))?;
        let every = seconds.max(1) * 1_000_000;
        Ok(Some(Time(since.0 + ((after.0 - since.0) / every + 1) * every)))
    }
}

/// The place of one member.
#[derive(Default)]
struct Slot {
    now: Mutex<Option<Up>>,
    lives: AtomicU64,
    back: AtomicU64,
}

/// A process that is up.
#[derive(Clone)]
struct Up {
    process: Arc<Process>,
    line: Arc<Line>,
    engine: Option<Engine>,
}

impl Host {
    pub(crate) fn new(world: Arc<World>, rows: MemoryStore, observer: Arc<Observer>) -> Arc<Self> {
        let chance = Chance::new(world.seed);
        let runtime = Handle::current();
        let right = RuntimeClock::new(runtime.clone(), BEGIN);
        let ahead = world.clocks.iter().copied().chain(std::iter::repeat(0));
        let clocks: Vec<_> =
            ahead.take(world.members).map(|ahead| WrongClock::new(right.clone(), ahead)).collect();
        Arc::new_cyclic(|itself| Self {
            observer,
            began: Instant::now(),
            itself: itself.clone(),
            chance,
            rows,
            sky: Arc::new(Sky::new(world.weather)),
            runtime,
            clocks,
            slots: (0..world.members).map(|_| Slot::default()).collect(),
            far: (0..world.far).map(|_| Far::default()).collect(),
            rolled_out: AtomicBool::new(false),
            came: Notify::new(),
            world,
        })
    }

    fn is_one(&self) -> bool {
        self.world.members == 1
    }

    /// Keeps a member's process up, life after life.
    pub(crate) async fn keep(self: Arc<Self>, member: usize) {
        loop {
            let process = self.bring_up(member).await;
            process.died().await;
            let up = self.slots[member].now.lock().take();
            if let Some(engine) = up.and_then(|up| up.engine) {
                engine.kill();
            }
            sleep(Duration::from_millis(self.slots[member].back.load(SeqCst).max(1))).await;
        }
    }

    /// A new life. The process may die before its engine has started.
    async fn bring_up(&self, member: usize) -> Arc<Process> {
        let slot = &self.slots[member];
        let life = Life { member, life: slot.lives.fetch_add(1, SeqCst) };
        let process = Process::new(life);
        self.observer.tell(|| format!("{life} starts"));
        let rows = if self.is_one() { self.rows.reopen() } else { self.rows.opening() };
        let itself = self.itself.clone();
        let says = move |word: Broadcast| {
            if let Some(host) = itself.upgrade() {
                host.say(member, &word);
            }
        };
        let line = Arc::new(Line {
            process: process.clone(),
            rows: rows.clone(),
            observer: self.observer.clone(),
            chance: self.chance,
            sky: self.sky.clone(),
            runtime: self.runtime.clone(),
            outlives: !self.is_one(),
            listeners: Listeners::default(),
            says: Box::new(says),
            calls: AtomicU64::new(0),
            told: AtomicU64::new(0),
        });
        let up = Up { process: process.clone(), line: line.clone(), engine: None };
        *slot.now.lock() = Some(up);
        self.runtime.spawn(line.clone().pass_on(rows));
        if !self.is_one() {
            self.runtime.spawn(line.clone().stay());
        }
        loop {
            let started = tokio::select! {
                biased;
                () = process.died() => return process,
                started = Box::pin(self.builder(&line).start()) => started,
            };
            match started {
                Ok(engine) => {
                    engine.read_schedules(Arc::new(Every));
                    if let Some(up) = slot.now.lock().as_mut() {
                        up.engine = Some(engine);
                    }
                    self.came.notify_waiters();
                    return process;
                }
                Err(error) => {
                    self.observer.tell(|| format!("{life} could not start: {error}"));
                    sleep(Duration::from_millis(300)).await;
                }
            }
        }
    }

    fn builder(&self, line: &Arc<Line>) -> bowline_engine::Builder {
        let life = line.process.life;
        let store: Arc<dyn Store> = Arc::new(Wire(line.clone()));
        let pace = Seeded {
            process: line.process.clone(),
            observer: self.observer.clone(),
            chance: self.chance,
            sky: self.sky.clone(),
        };
        let cached = self.world.cached.get(life.member).copied().unwrap_or(CACHED);
        let mut builder = Engine::builder(store)
            .clock(Arc::new(Hands(self.clocks[life.member].clone())))
            .ids(Arc::new(SeededIds::new(self.chance, life)))
            .identity(format!("{life}"))
            .lease(Duration::from_millis(LEASE))
            .retention(KEPT)
            .receipts_kept(RECEIPTS_KEPT)
            .cached_runs(cached)
            .threads(1)
            .stuck_after(Duration::from_secs(3600))
            .queue(QUEUE, QueueOptions { slots: 8, rate: None })
            .host(Arc::new(Neighbours { host: self.itself.clone(), life }))
            .in_step()
            .pace(Arc::new(pace));
        let rolled_out = self.rolled_out.load(SeqCst);
        let builds = self.world.builds.get(life.member).copied().unwrap_or_default();
        let drifts = !rolled_out && if life.life == 0 { builds.0 } else { builds.1 };
        if self.world.named_builds {
            let build = if rolled_out { 2 } else { u8::from(drifts) };
            builder = builder.build(format!("build {build}"));
        }
        builder = builder.probe(Arc::new(Sees(self.observer.clone())));
        let lacks = match rolled_out {
            true => 0,
            false => self.world.lacks.get(life.member).copied().unwrap_or(0),
        };
        let (world, observer) = (self.world.clone(), self.observer.clone());
        let edition = Edition {
            drifts,
            turned: (life.member as u64 + life.life) % 2 == 1,
            lacks: lacks >> 2 & 0b11,
            outside: Some(Outside {
                runtime: self.runtime.clone(),
                process: line.process.clone(),
                observer: self.observer.clone(),
            }),
        };
        let flow = Flow { world: world.clone(), notes: Arc::default(), edition };
        let flow = Arc::new(flow);
        let rows = line.rows.clone();
        let acts = Arc::new(Acts { world, observer, life, rows });
        for (bit, name) in ["flow0", "flow1"].into_iter().enumerate() {
            if lacks >> bit & 1 == 0 {
                builder = builder.workflow(name, flow.clone());
            }
        }
        for (bit, name) in ["act0", "act1", REFUND].into_iter().enumerate() {
            if lacks >> (bit + 2) & 1 == 0 {
                builder = builder.activity(name, acts.clone());
            }
        }
        builder
    }

    /// What a member's process was called before it died the last time.
    pub(crate) fn dead_life(&self, member: usize) -> Option<Life> {
        let slot = self.slots.get(member)?;
        let life = Life { member, life: slot.lives.load(SeqCst).checked_sub(1)? };
        if self.is_gone(life) {
            return Some(life);
        }
        Some(Life { life: life.life.checked_sub(1)?, ..life })
    }

    /// Whether the clocks of all members are right.
    pub(crate) fn has_right_clocks(&self) -> bool {
        self.clocks.iter().all(|clock| clock.is_right())
    }

    /// Something is said to all others.
    fn say(&self, from: usize, word: &Broadcast) {
        for slot in self.slots.iter().enumerate().filter(|(to, _)| *to != from).map(|(_, s)| s) {
            let line = slot.now.lock().as_ref().map(|up| up.line.clone());
            if let Some(line) = line {
                line.tell(Hint::Broadcast(word.clone()));
            }
        }
    }

    /// An engine that is up: of this member, or else of another one, or of whoever comes first.
    pub(crate) async fn engine(&self, wish: usize) -> (Life, Engine) {
        loop {
            let came = self.came.notified();
            for offset in 0..self.slots.len() {
                let slot = &self.slots[(wish + offset) % self.slots.len()];
                let up = slot.now.lock().clone();
                let up = up.filter(|up| !up.process.is_dead());
                if let Some(Up { process, engine: Some(engine), .. }) = up {
                    return (process.life, engine);
                }
            }
            came.await;
        }
    }

    /// Something that is asked of a process: nothing comes of it once that is dead, and nothing
    /// while it stands still.
    pub(crate) async fn through<T>(
        &self,
        life: Life,
        work: impl Future<Output = Option<T>>,
    ) -> Option<T> {
        let up = self.slots[life.member].now.lock().clone();
        let process = up.filter(|up| up.process.life == life)?.process;
        tokio::select! {
            biased;
            () = process.died() => None,
            answer = Box::pin(work) => {
                process.thawed().await;
                if process.is_dead() { None } else { answer }
            }
        }
    }

    fn process(&self, member: usize) -> Option<Arc<Process>> {
        self.slots.get(member)?.now.lock().as_ref().map(|up| up.process.clone())
    }

    /// The host that a member's processes are on.
    pub(crate) fn host_of(&self, member: usize) -> String {
        format!("host {}", self.world.hosts.get(member).copied().unwrap_or(0))
    }

    /// Whether this life of a member is over.
    pub(crate) fn is_gone(&self, life: Life) -> bool {
        let Some(slot) = self.slots.get(life.member) else { return true };
        let up = slot.now.lock();
        up.as_ref().is_none_or(|up| up.process.life != life || up.process.is_dead())
    }

    /// Lets something go wrong, at its moment.
    pub(crate) async fn happen(self: Arc<Self>, mishap: Mishap) {
        sleep_until(self.began + Duration::from_millis(mishap.at)).await;
        let Some(process) = self.process(mishap.member) else { return };
        let life = process.life;
        match mishap.what {
            Fate::Killed { polls, back } => {
                self.slots[mishap.member].back.store(back, SeqCst);
                process.doom(polls);
            }
            Fate::Frozen(ms) => {
                self.observer
                    .goes_wrong("a member stands still", || format!("{life} stands still"));
                process.freeze(true);
                sleep(Duration::from_millis(ms)).await;
                self.observer.tell(|| format!("{life} goes on"));
                process.freeze(false);
            }
            Fate::Cut(ms) => {
                self.observer
                    .goes_wrong("a member is cut off", || format!("{life} cannot reach the store"));
                process.cut(true);
                sleep(Duration::from_millis(ms)).await;
                self.observer.tell(|| format!("{life} reaches the store again"));
                process.cut(false);
            }
            Fate::Vanishes => {
                if let Some(far) = self.far.get(mishap.member) {
                    far.vanish();
                }
            }
            Fate::Jumps(ms) => {
                self.observer.goes_wrong("a clock jumps", || {
                    format!("the clock of {life} jumps by {ms} ms")
                });
                self.clocks[mishap.member].jump(Duration::from_millis(ms));
            }
        }
    }

    /// Faults stop: the sky clears up, and everybody starts again, with the newest code.
    pub(crate) fn calm(&self) {
        self.observer.tell(|| "faults stop, and the newest code is rolled out".to_owned());
        self.sky.clears_up();
        self.rolled_out.store(true, SeqCst);
        for slot in &self.slots {
            slot.back.store(10, SeqCst);
            let process = slot.now.lock().as_ref().map(|up| up.process.clone());
            if let Some(process) = process {
                process.freeze(false);
                process.cut(false);
                process.die(&self.observer);
            }
        }
    }

    /// Everybody is dead.
    pub(crate) fn end(&self) {
        for slot in &self.slots {
            let up = slot.now.lock().take();
            if let Some(Up { process, engine, .. }) = up {
                process.die(&self.observer);
                engine.iter().for_each(Engine::kill);
            }
        }
    }
}
