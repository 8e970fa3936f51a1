//! Who of many was woken: what lets a fan-out of ten thousand be polled one by one.
//!
//! Wakers must be `Send` by their type, so there is a lock here; it is waited for only if somebody
//! wakes a run from elsewhere, because everything of a run happens on one thread. The run's own
//! members notice that: what comes from elsewhere is in no history, so it would not come again.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
    thread::{self, ThreadId},
};

use bowline_core::planted::{Defect, planted};

/// Called when a run was woken from elsewhere, by whoever woke it.
pub(crate) type Alarm = Arc<dyn Fn() + Send + Sync>;

/// The members that were woken since they were last polled.
#[derive(Default)]
pub(crate) struct Ready {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    woken: BTreeSet<u64>,
    /// Whoever polls the members, and must hear that one of them was woken.
    owner: Option<Waker>,
    /// From where the members may be woken; from anywhere if it is unset.
    home: Option<Home>,
}

/// The thread of a run, and what is known of its turns.
struct Home {
    thread: ThreadId,
    /// A turn is open: only then do wakers wake.
    open: bool,
    /// Somebody woke a member from elsewhere.
    intruded: bool,
    alarm: Option<Alarm>,
}

impl Ready {
    /// Members that only this thread wakes, and only in a turn.
    pub(crate) fn at_home() -> Self {
        let thread = thread::current().id();
        let home = Home { thread, open: false, intruded: false, alarm: None };
        Self { inner: Mutex::new(Inner { home: Some(home), ..Inner::default() }) }
    }

    /// Whom to call if somebody wakes a member from elsewhere.
    pub(crate) fn guard(&self, alarm: Alarm) {
        if let Some(home) = &mut self.lock().home {
            home.alarm = Some(alarm);
        }
    }

    /// A turn begins or ends.
    pub(crate) fn open(&self, open: bool) {
        if let Some(home) = &mut self.lock().home {
            home.open = open;
        }
    }

    /// The run is over, or leaves memory: nobody is interested in who wakes it.
    pub(crate) fn retire(&self) {
        // The alarm is somebody else's; it is dropped when nothing is locked.
        let home = self.lock().home.take();
        drop(home);
    }

    /// Somebody woke a member from elsewhere.
    pub(crate) fn is_intruded(&self) -> bool {
        self.lock().home.as_ref().is_some_and(|home| home.intruded)
    }

    /// One of the members.
    pub(crate) fn member(self: &Arc<Self>, member: u64) -> Arc<Member> {
        Arc::new(Member { ready: self.clone(), member })
    }

    /// Who must hear of a woken member.
    pub(crate) fn owned_by(&self, waker: &Waker) {
        let mut inner = self.lock();
        if !inner.owner.as_ref().is_some_and(|owner| owner.will_wake(waker)) {
            inner.owner = Some(waker.clone());
        }
    }

    /// No member can be woken, so nobody must hear of it.
    pub(crate) fn disown(&self) {
        // The waker may be somebody else's; it is dropped when nothing is locked.
        let owner = self.lock().owner.take();
        drop(owner);
    }

    /// Marks a member as woken, without telling the owner.
    pub(crate) fn mark(&self, member: u64) {
        self.lock().woken.insert(member);
    }

    /// The first woken member, which counts as polled from now on.
    pub(crate) fn pop(&self) -> Option<u64> {
        self.lock().woken.pop_first()
    }

    /// All woken members, in ascending order.
    pub(crate) fn take(&self) -> BTreeSet<u64> {
        std::mem::take(&mut self.lock().woken)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Home {
    /// A member is woken. Whom to call, if that came from elsewhere for the first time.
    fn woken(&mut self) -> Option<Alarm> {
        let is_ours = self.open && thread::current().id() == self.thread;
        let is_ours = is_ours || planted(Defect::ForeignWaker);
        if is_ours || std::mem::replace(&mut self.intruded, true) {
            return None;
        }
        self.alarm.clone()
    }
}

/// One of many, and how it is woken. Its wakers are shares in it, so that it knows how many there
/// are.
pub(crate) struct Member {
    ready: Arc<Ready>,
    member: u64,
}

impl Member {
    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    /// How many of its wakers somebody keeps, to wake it one day.
    pub(crate) fn lent(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

impl Wake for Member {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let (owner, alarm) = {
            let mut inner = self.ready.lock();
            inner.woken.insert(self.member);
            (inner.owner.clone(), inner.home.as_mut().and_then(Home::woken))
        };
        if let Some(owner) = owner {
            owner.wake();
        }
        if let Some(alarm) = alarm {
            alarm();
        }
    }
}
