//! Errors on demand: what a test wants to go wrong, and at which call.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::Error;

/// Errors to come, one for each call that is to fail.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Vec<Fault>>>);

/// A method of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as the method is")]
pub enum Method {
    Join,
    Renew,
    Post,
    ClaimRuns,
    ClaimActivities,
    Commit,
    Settle,
    Fire,
    Sweep,
    Attest,
    Ask,
    Answer,
    Read,
    Find,
    Leftovers,
    CatalogPut,
    CatalogRead,
}

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before anything is done: the store is [`Busy`](Error::Busy).
    Before,
    /// After everything was done: the outcome is [`Unknown`](Error::Unknown) to the caller.
    After,
}

#[derive(Debug)]
struct Fault {
    method: Method,
    calls: u64,
    when: When,
}

impl Faults {
    /// Lets the `nth` call of a method from now on fail; the next one is the first.
    pub fn fail(&self, method: Method, nth: u64, when: When) {
        assert!(nth > 0, "calls are counted from one");
        self.0.lock().push(Fault { method, calls: nth, when });
    }

    pub(super) fn next(&self, method: Method) -> Option<When> {
        let mut faults = self.0.lock();
        faults.iter_mut().filter(|fault| fault.method == method).for_each(|fault| fault.calls -= 1);
        let due = faults.iter().position(|fault| fault.calls == 0)?;
        Some(faults.remove(due).when)
    }
}

pub(super) fn before() -> Error {
    Error::Busy("a fault was asked for".into())
}

pub(super) fn after() -> Error {
    Error::Unknown("a fault was asked for".into())
}
