//! One life of one process: when its futures are polled, what its clock shows, and when it dies.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use bowline_core::Time;
use bowline_engine::{
    Pace, Rest,
    clock::{Clock, RuntimeClock, Sleep},
    ids::Ids,
};
use tokio::sync::Notify;

use crate::{
    chance::{Chance, mix},
    observer::Observer,
    weather::Sky,
};

/// Which life of which member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Life {
    pub(crate) member: usize,
    pub(crate) life: u64,
}

impl Life {
    pub(crate) fn bits(self) -> u64 {
        (self.member as u64) << 32 | self.life
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}.{}", self.member, self.life)
    }
}

/// One life of one process.
pub(crate) struct Process {
    pub(crate) life: Life,
    dead: AtomicBool,
    frozen: AtomicBool,
    cut: AtomicBool,
    changed: Notify,
    polls: AtomicU64,
    /// At which poll it dies.
    doom: AtomicU64,
}

impl Process {
    pub(crate) fn new(life: Life) -> Arc<Self> {
        Arc::new(Self {
            life,
            dead: AtomicBool::new(false),
            frozen: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            changed: Notify::new(),
            polls: AtomicU64::new(0),
            doom: AtomicU64::new(u64::MAX),
        })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(SeqCst)
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.load(SeqCst)
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(SeqCst)
    }

    pub(crate) fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, SeqCst);
        self.changed.notify_waiters();
    }

    pub(crate) fn cut(&self, cut: bool) {
        self.cut.store(cut, SeqCst);
    }

    /// It dies after so many polls more.
    pub(crate) fn doom(&self, polls: u64) {
        self.doom.store(self.polls.load(SeqCst) + polls, SeqCst);
    }

    /// It is dead from here on, whatever it was about to do.
    pub(crate) fn die(&self, observer: &Observer) {
        if !self.dead.swap(true, SeqCst) {
            observer.killed(self.life);
            self.changed.notify_waiters();
        }
    }

    async fn until(&self, what: impl Fn(&Self) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if what(self) {
                return;
            }
            changed.await;
        }
    }

    pub(crate) async fn died(&self) {
        self.until(Self::is_dead).await;
    }

    /// Waits until it goes on; at once if it does, or is dead.
    pub(crate) async fn thawed(&self) {
        self.until(|own| own.is_dead() || !own.is_frozen()).await;
    }
}

/// When the futures of a process are polled.
pub(crate) struct Seeded {
    pub(crate) process: Arc<Process>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) chance: Chance,
    pub(crate) sky: Arc<Sky>,
}

impl Pace for Seeded {
    fn rest(&self) -> Option<Rest> {
        let process = self.process.clone();
        if process.is_dead() {
            return Some(Box::pin(std::future::pending()));
        }
        let n = process.polls.fetch_add(1, SeqCst);
        self.observer.polled(process.life, n);
        if n >= process.doom.load(SeqCst) {
            process.die(&self.observer);
            return Some(Box::pin(std::future::pending()));
        }
        let draw = self.chance.draw("poll", process.life.bits(), n);
        let defers = draw.per_mille(self.sky.weather().defers);
        (defers || process.is_frozen()).then(|| -> Rest {
            Box::pin(async move {
                match draw.next(1).below(8) {
                    _ if !defers => {}
                    0 => {
                        tokio::time::sleep(Duration::from_millis(draw.next(2).between(1, 30))).await
                    }
                    times => {
                        for _ in 0..times {
                            tokio::task::yield_now().await;
                        }
                    }
                }
                process.thawed().await;
                if process.is_dead() {
                    std::future::pending::<()>().await;
                }
            })
        })
    }
}

/// The clock of a member: wrong by some time, and it may jump ahead.
pub(crate) struct WrongClock {
    right: RuntimeClock,
    ahead: AtomicI64,
    jumped: Notify,
}

impl WrongClock {
    pub(crate) fn new(right: RuntimeClock, ahead: i64) -> Arc<Self> {
        Arc::new(Self { right, ahead: AtomicI64::new(ahead), jumped: Notify::new() })
    }

    pub(crate) fn is_right(&self) -> bool {
        self.ahead.load(SeqCst) == 0
    }

    pub(crate) fn jump(&self, by: Duration) {
        self.ahead.fetch_add(by.as_micros() as i64, SeqCst);
        self.jumped.notify_waiters();
    }
}

/// The clock as an engine has it.
#[derive(Clone)]
pub(crate) struct Hands(pub(crate) Arc<WrongClock>);

impl Clock for Hands {
    fn now(&self) -> Time {
        Time(self.0.right.now().0 + self.0.ahead.load(SeqCst))
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        let own = self.clone();
        Box::pin(async move {
            loop {
                let jumped = own.0.jumped.notified();
                let left = at.since(own.now());
                if left.is_zero() {
                    return;
                }
                let right = own.0.right.sleep_until(own.0.right.now().after(left));
                tokio::select! {
                    biased;
                    () = jumped => {}
                    () = right => {}
                }
            }
        })
    }
}

/// Ids as a member draws them: by its own wrong clock, and by chance.
pub(crate) struct SeededIds {
    chance: Chance,
    life: Life,
    drawn: AtomicU64,
}

impl SeededIds {
    pub(crate) fn new(chance: Chance, life: Life) -> Self {
        Self { chance, life, drawn: AtomicU64::new(0) }
    }
}

impl Ids for SeededIds {
    fn draw(&self, now: Time) -> u128 {
        let n = self.drawn.fetch_add(1, SeqCst);
        let bits = self.chance.draw("id", mix(self.life.bits()), n).bits();
        let millis = (now.0 / 1_000).max(0) as u128;
        millis << 80 | u128::from(n & 0xffff) << 64 | u128::from(bits)
    }
}
