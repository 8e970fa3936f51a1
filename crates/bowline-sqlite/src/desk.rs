//! Where the writer sits. Most of the time its own thread has it; a thread that waits for the
//! answer to its own call may have it for that one call, if nobody else wants anything written:
//! then no thread has to be woken to do it.
//!
//! In:    threads with a call.
//! Out:   the writer, to one of them at a time.
//! Never: lets a call overtake one that was sent before it.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;

use crate::{call::Call, limits, writer::Writer};

/// The desk of a store.
#[derive(Default)]
pub(crate) struct Desk {
    /// None before the writer has come, and once it has gone.
    writer: Mutex<Option<Writer>>,
    /// Orders that were sent to the writer's thread and are not carried out.
    sent: AtomicUsize,
}

thread_local! {
    /// The calls of a thread that has the writer.
    static OWN: RefCell<Option<Vec<Box<dyn Call>>>> = const { RefCell::new(None) };
}

/// Keeps a call for the thread itself, if it has the writer; gives it back if not.
pub(crate) fn keep(call: Box<dyn Call>) -> Option<Box<dyn Call>> {
    OWN.with_borrow_mut(|own| match own {
        Some(calls) => {
            calls.push(call);
            None
        }
        None => Some(call),
    })
}

impl Desk {
    pub(crate) fn seat(&self, writer: Writer) {
        *self.writer.lock() = Some(writer);
    }

    /// Has the writer do something; none if it has gone.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        self.writer.lock().as_mut().map(work)
    }

    /// The writer goes.
    pub(crate) fn leave(&self) -> Option<Writer> {
        self.writer.lock().take()
    }

    /// An order goes to the writer's thread, or so many are carried out there.
    pub(crate) fn sends(&self) {
        self.sent.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn carried_out(&self, orders: usize) {
        self.sent.fetch_sub(orders, Ordering::SeqCst);
    }

    /// Runs something that makes calls, and carries them out on this thread if the writer has
    /// nothing to do, and had not much before: where many calls come, the moment that its thread
    /// takes to wake is one in which a group gathers.
    pub(crate) fn lend(&self, ask: &mut dyn FnMut()) {
        let idle = self.writer.try_lock().filter(|_| self.sent.load(Ordering::SeqCst) == 0);
        let Some(mut idle) = idle else { return ask() };
        let is_quiet = |writer: &&mut Writer| writer.last_group <= limits::QUIET_GROUP;
        let Some(writer) = idle.as_mut().filter(is_quiet) else { return ask() };
        let own = Own::begin();
        ask();
        writer.carry_out_own(own.end());
    }
}

/// While it lives, calls of this thread are its own to carry out.
struct Own;

impl Own {
    fn begin() -> Self {
        OWN.set(Some(Vec::new()));
        Self
    }

    fn end(self) -> Vec<Box<dyn Call>> {
        OWN.take().unwrap_or_default()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        OWN.set(None);
    }
}
