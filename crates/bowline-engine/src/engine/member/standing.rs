//! Who this process is in the store, and what becomes of it when others have given it up.
//!
//! In:    answers that say that this opening of the store is over; no answer for a whole lease.
//! Out:   all code of the lost epoch told to stop; once it has, a new epoch, and work goes on.
//! Never: touches what belongs to others by then, or fights for a store in which it was replaced.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    Epoch,
    planted::{Defect, planted},
};
use bowline_store::{Attest, Join, Whom, Witness};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::super::{EngineInner, watch as hints};
use crate::{Error, Result};

/// Who this process is. Whoever waits for a change is woken in the order of coming.
#[derive(Debug)]
pub(crate) struct Standing {
    now: Mutex<Now>,
    changed: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Now {
    epoch: Epoch,
    /// Others have given this epoch up.
    is_out: bool,
}

impl Standing {
    pub(crate) fn new(epoch: Epoch) -> Self {
        Self { now: Mutex::new(Now { epoch, is_out: false }), changed: Notify::new() }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.now.lock().epoch
    }

    pub(crate) fn is_out(&self) -> bool {
        self.now.lock().is_out
    }

    /// This epoch is over. True the first time; what is said of an earlier one is old news.
    fn lose(&self, epoch: Epoch) -> bool {
        let mut now = self.now.lock();
        let is_news = now.epoch == epoch && !now.is_out;
        now.is_out |= is_news;
        is_news
    }

    fn enter(&self, epoch: Epoch) {
        *self.now.lock() = Now { epoch, is_out: false };
        self.changed.notify_waiters();
    }

    /// Waits until this process is somebody new, and in.
    pub(crate) async fn is_after(&self, epoch: Epoch) {
        self.becomes(|now| now.epoch != epoch && !now.is_out).await;
    }

    async fn is_in(&self) {
        self.becomes(|now| !now.is_out).await;
    }

    async fn becomes(&self, what: impl Fn(Now) -> bool) {
        loop {
            // Listening begins before looking, so that nothing changes unseen in between.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if what(*self.now.lock()) {
                return;
            }
            changed.await;
        }
    }
}

impl EngineInner {
    /// Passes an answer on that was given to this epoch. One that says that it is over has
    /// everything stopped that was begun in its name.
    pub(crate) fn heed<T>(&self, epoch: Epoch, answer: Result<T>) -> Result<T> {
        let is_over = answer.as_ref().is_err_and(Error::is_lost);
        if is_over && !self.stopping.is_cancelled() && self.standing.lose(epoch) {
            tracing::error!(epoch = epoch.0, "this process was given up: what it runs is stopped");
            if let Some(local) = self.local.get() {
                local.all_lost(epoch);
            }
            self.bells.renew.notify_one();
        }
        answer
    }

    /// How much longer this process may run code without having been in contact with the store;
    /// none where others give nobody up for that.
    pub(crate) fn contact_left(&self) -> Option<Duration> {
        let silent = self.store.silence().filter(|_| !planted(Defect::LeaseIgnored))?;
        Some(self.settings.lease.saturating_sub(silent))
    }

    /// Whether this process may run code. Who has been out of contact for a lease may have been
    /// given up, and others may run the same: so it gives itself up, by its own clock and before it
    /// asks anybody, and what it runs ends at once.
    pub(crate) fn is_in_contact(&self) -> bool {
        if !self.contact_left().is_some_and(|left| left.is_zero()) {
            return true;
        }
        let epoch = self.epoch();
        let is_news = !self.stopping.is_cancelled() && self.standing.lose(epoch);
        if is_news {
            tracing::error!(epoch = epoch.0, "out of contact for a lease: what it runs ends here");
        }
        if let Some(local) = self.local.get() {
            local.all_cut(epoch);
        }
        if is_news {
            self.bells.renew.notify_one();
        }
        false
    }

    /// Something that only a member may do, for somebody who waits. Whoever was given up enters
    /// again first.
    pub(crate) async fn as_member<T, F>(&self, call: impl Fn(Epoch) -> F) -> Result<T>
    where
        F: Future<Output = bowline_store::Result<T>>,
    {
        loop {
            let epoch = self.epoch();
            let answer = self.heed(epoch, self.retrying(|| call(epoch)).await);
            if !answer.as_ref().is_err_and(Error::is_lost) {
                return answer;
            }
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => return answer,
                () = self.standing.is_in() => {}
            }
        }
    }

    /// Leaves: what this process had is given back, and nothing of it runs any more. Whoever was
    /// given up has nothing to give back, and says the rest. Where code runs that nobody gave up,
    /// nothing is said, for it would not be true: then others miss this process after a lease.
    pub(crate) async fn leave(self: &Arc<Self>) -> Result<()> {
        let local = self.local.get();
        if local.as_ref().is_some_and(|local| local.is_running()) {
            tracing::error!("code still runs here: this process leaves without a word");
            return Ok(());
        }
        let epoch = self.epoch();
        let left = self.renew(true).await;
        let is_lost = left.as_ref().is_err_and(Error::is_lost);
        if !is_lost {
            return if self.standing.is_out() { Ok(()) } else { left };
        }
        if !local.is_some_and(|local| local.leaks()) {
            let (whom, witness, now) = (Whom::Epoch(epoch), Witness::Host, self.now());
            let attest = Attest { whom, witness, now };
            if let Err(error) = self.retrying(|| self.store.attest(attest.clone())).await {
                tracing::warn!(%error, "nobody could be told that what ran here has ended");
            }
        }
        Ok(())
    }

    /// Enters the store again under a new epoch, once nothing of the lost one runs any more. False
    /// if somebody else is there instead, or the store was closed: then it is over for good.
    pub(super) async fn enter_again(self: &Arc<Self>) -> bool {
        if let Some(local) = self.local.get() {
            local.rest().await;
        }
        let before = self.epoch();
        let entered = self.patiently(|| {
            let again = Some(before);
            let runs_on = self.local.get().is_some_and(|local| local.leaks());
            let (identity, lease) = (self.settings.identity.clone(), self.settings.lease);
            let process = self.settings.host.this();
            self.store.join(Join {
                again,
                runs_on,
                process,
                ..Join::new(identity, lease, self.now())
            })
        });
        match entered.await {
            Ok(joined) => {
                tracing::warn!(before = before.0, epoch = joined.epoch.0, "entered again");
                self.meter.rejoins.add(1);
                self.standing.enter(joined.epoch);
                // Hints of the time between went to nobody.
                self.net.owe_any();
                hints::everything(self);
                true
            }
            Err(error) => {
                tracing::error!(%error, "the store is somebody else's now; this engine stops");
                false
            }
        }
    }
}
