//! Calls that wait for the call that follows them, so that one transaction carries out both.
//!
//! In:    calls that nobody has woken the writer for.
//! Out:   the same calls, to the writer, before whatever it was woken by.
//! Never: keeps a call once the writer has gone.

use parking_lot::Mutex;

use crate::{limits, write::call::Call};

/// What waits; unset once the writer has gone.
pub(crate) struct Ahead(Mutex<Option<Vec<Box<dyn Call>>>>);

impl Default for Ahead {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }
}

impl Ahead {
    /// Puts a call off; gives it back if it must not wait here.
    pub(crate) fn put(&self, call: Box<dyn Call>) -> Option<Box<dyn Call>> {
        match self.0.lock().as_mut().filter(|calls| calls.len() < limits::AHEAD_MAX) {
            Some(calls) => {
                calls.push(call);
                None
            }
            None => Some(call),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().as_ref().is_none_or(Vec::is_empty)
    }

    /// Moves what waits to the end of a group.
    pub(crate) fn join(&self, group: &mut Vec<Box<dyn Call>>) {
        if let Some(calls) = self.0.lock().as_mut() {
            group.append(calls);
        }
    }

    /// What waits, for the last time.
    pub(crate) fn close(&self) -> Vec<Box<dyn Call>> {
        self.0.lock().take().unwrap_or_default()
    }
}
