//! Who of many was woken: what lets a fan-out of ten thousand be polled one by one.
//!
//! Wakers must be `Send` by their type, so there is a lock here; it is never waited for, because
//! everything of a run happens on one thread.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
};

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
}

impl Ready {
    /// The waker of one member.
    pub(crate) fn waker(self: &Arc<Self>, member: u64) -> Waker {
        Waker::from(Arc::new(Member { ready: self.clone(), member }))
    }

    /// Who must hear of a woken member.
    pub(crate) fn owned_by(&self, waker: &Waker) {
        let mut inner = self.lock();
        if !inner.owner.as_ref().is_some_and(|owner| owner.will_wake(waker)) {
            inner.owner = Some(waker.clone());
        }
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

struct Member {
    ready: Arc<Ready>,
    member: u64,
}

impl Wake for Member {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let owner = {
            let mut inner = self.ready.lock();
            inner.woken.insert(self.member);
            inner.owner.clone()
        };
        if let Some(owner) = owner {
            owner.wake();
        }
    }
}
