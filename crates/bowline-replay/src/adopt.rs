//! Futures that outlive whoever waited for them: the run finishes them.
//!
//! Clean-ups are always born here. A shield comes here when it is dropped, or a scope around it is
//! left.

use bowline_core::ScopeId;

use crate::{Ended, LocalFuture, run::Run};

/// A future that the run has to finish.
pub(crate) struct Adoption {
    /// The scope that it belongs to, and in which it is polled.
    pub(crate) scope: ScopeId,
    pub(crate) orphan: Orphan,
    pub(crate) future: LocalFuture<'static, Result<(), Ended>>,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orphan {
    /// The clean-up of its scope.
    Cleanup,
    /// The rest of a shield.
    Shield,
}

impl Run {
    /// An adopted future is finished.
    pub(crate) fn adopted(&mut self, scope: ScopeId, orphan: Orphan, result: Result<(), Ended>) {
        match orphan {
            Orphan::Cleanup => self.cleaned(scope, result),
            Orphan::Shield => self.close_shield(scope),
        }
    }
}
