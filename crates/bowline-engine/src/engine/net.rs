//! The safety net under the hints: what must be looked at even if every hint was lost.
//!
//! In:    every write of this engine, and every inbox that it knows to have grown.
//! Out:   one look at everything that may wait, some time after the first such write.
//! Never: wakes an idle process. Where nothing was written, nothing is looked for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bowline_core::{Address, Number, RunId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{EngineInner, watch};
use crate::limits;

/// What is to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Net {
    dirty: AtomicBool,
    pub(crate) touched: Notify,
    unread: Mutex<UnreadInboxes>,
}

/// Inboxes that have grown, and that nobody has read since.
#[derive(Debug, Default)]
pub(crate) struct UnreadInboxes {
    pub(crate) runs: BTreeMap<RunId, Number>,
    /// Any of the runs that are held here may have to be read.
    pub(crate) all: bool,
}

impl Net {
    /// Something was written: it may give somebody work.
    pub(crate) fn touch(&self) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            self.touched.notify_one();
        }
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty.load(Ordering::Acquire)
    }

    /// A message was put into an inbox, under this number; zero if that is not known.
    pub(crate) fn owe(&self, run: RunId, number: Number) {
        let mut unread = self.unread.lock();
        if unread.runs.len() < limits::UNREAD_INBOXES || unread.runs.contains_key(&run) {
            let known = unread.runs.entry(run).or_default();
            *known = number.max(*known);
        } else {
            unread.all = true;
        }
        drop(unread);
        self.touch();
    }

    /// The same, where the run may not be known.
    pub(crate) fn owe_to(&self, to: &Address) {
        match to {
            Address::Run(run) | Address::Chain(run) => self.owe(*run, Number::default()),
            Address::Current(..) => self.owe_any(),
        }
    }

    /// The same, where nobody knows which runs got one.
    pub(crate) fn owe_any(&self) {
        self.unread.lock().all = true;
        self.touch();
    }

    /// An inbox is about to be read. Said before the read begins: what comes after it is unread
    /// again.
    pub(crate) fn paid(&self, run: RunId) {
        self.unread.lock().runs.remove(&run);
    }

    /// Whether there is more in an inbox than has been seen of it. Who has put it there may say so
    /// after it was read: so it is the number that counts.
    pub(crate) fn is_owed(&self, run: RunId, seen: Number) -> bool {
        self.unread.lock().runs.get(&run).is_some_and(|number| *number > seen)
    }

    fn take(&self) -> Option<UnreadInboxes> {
        let dirty = self.dirty.swap(false, Ordering::AcqRel);
        dirty.then(|| std::mem::take(&mut *self.unread.lock()))
    }
}

impl EngineInner {
    /// Looks everywhere, if anything was written since the last look.
    pub(crate) fn look(self: &Arc<Self>) {
        let Some(unread) = self.net.take() else { return };
        watch::everywhere(self);
        if let Some(local) = self.local.get() {
            local.look(unread);
        }
    }
}
