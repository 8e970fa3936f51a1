//! Whoever has the writer writes. Most of the time that is the writer's own thread; a thread that
//! waits for the answer to its own call may borrow it for that one call, if nobody else wants
//! anything written: then no thread has to be woken to do it.
//!
//! In:    threads with a call.
//! Out:   the writer, to one of them at a time.
//! Never: lets a call overtake one that was sent before it.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;

use crate::{
    limits,
    write::{call::Call, writer::Writer},
};

/// The writer of a store, to be borrowed by one thread at a time.
#[derive(Default)]
pub(crate) struct WriterLoan {
    /// None before the writer has come, while it writes, and once it has gone: also because it
    /// panicked, and what it remembers may not be what is in the file.
    writer: Mutex<Option<Writer>>,
    /// Orders that were sent to the writer's thread and are not carried out.
    sent: AtomicUsize,
}

/// Calls of a thread that has borrowed a writer, and whose writer that is.
type Calls = (*const WriterLoan, Vec<Box<dyn Call>>);

thread_local! {
    /// Set while this thread has borrowed a writer.
    static OWN: RefCell<Option<Calls>> = const { RefCell::new(None) };
}

impl WriterLoan {
    /// The writer has come.
    pub(crate) fn give(&self, writer: Writer) {
        *self.writer.lock() = Some(writer);
    }

    /// Has the writer do something; none if it has gone.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        let mut place = self.writer.lock();
        let mut writer = place.take()?;
        let done = work(&mut writer);
        *place = Some(writer);
        Some(done)
    }

    /// The writer goes.
    pub(crate) fn take_away(&self) -> Option<Writer> {
        self.writer.lock().take()
    }

    /// An order goes to the writer's thread.
    pub(crate) fn sends(&self) {
        self.sent.fetch_add(1, Ordering::SeqCst);
    }

    /// So many of them are carried out, or were not sent after all.
    pub(crate) fn carried_out(&self, orders: usize) {
        self.sent.fetch_sub(orders, Ordering::SeqCst);
    }

    /// Keeps a call for this thread, if it has borrowed this writer; gives it back if not.
    pub(crate) fn keep(&self, call: Box<dyn Call>) -> Option<Box<dyn Call>> {
        OWN.with_borrow_mut(|own| match own {
            Some((whose, calls)) if std::ptr::eq(*whose, self) => {
                calls.push(call);
                None
            }
            _ => Some(call),
        })
    }

    /// Runs something that makes calls, and carries them out on this thread if the writer has
    /// nothing to do, and had not much before: where many calls come, the moment that its thread
    /// takes to wake is one in which a group gathers.
    pub(crate) fn lend(&self, ask: &mut dyn FnMut()) {
        let Some(mut place) = self.writer.try_lock() else { return ask() };
        let is_idle = self.sent.load(Ordering::SeqCst) == 0;
        let is_quiet = |writer: &Writer| is_idle && writer.last_group <= limits::QUIET_GROUP;
        let Some(own) =
            place.as_ref().filter(|writer| is_quiet(writer)).and_then(|_| Own::borrow(self))
        else {
            return ask();
        };
        // The writer has nothing to do with a panic in here.
        ask();
        let Some(mut writer) = place.take() else { return };
        writer.carry_out_own(own.end());
        *place = Some(writer);
    }
}

/// While it lives, calls of this thread are its own to carry out.
struct Own;

impl Own {
    /// None if the thread has borrowed one already.
    fn borrow(loan: &WriterLoan) -> Option<Self> {
        OWN.with_borrow_mut(|own| match own {
            Some(_) => None,
            None => {
                *own = Some((std::ptr::from_ref(loan), Vec::new()));
                Some(Self)
            }
        })
    }

    fn end(self) -> Vec<Box<dyn Call>> {
        OWN.take().map(|(_, calls)| calls).unwrap_or_default()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // Whoever is told of dropped calls may come back here.
        drop(OWN.take());
    }
}
