//! How much one request may touch before somebody else must agree.

use crate::{Caller, Refused, limits};

/// The most runs that one request may touch on one caller's word alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radius(pub u64);

impl Default for Radius {
    fn default() -> Self {
        Self(limits::RADIUS)
    }
}

impl Radius {
    /// Whether a request that touches so many runs may go on. Somebody who has confirmed it counts
    /// only if it is somebody else.
    ///
    /// # Errors
    /// If nobody else has confirmed it, and somebody must.
    pub fn check(
        self,
        by: &Caller,
        runs: u64,
        confirmed_by: Option<&Caller>,
    ) -> Result<(), Refused> {
        let is_confirmed = confirmed_by.is_some_and(|other| other.who() != by.who());
        match runs <= self.0 || is_confirmed {
            true => Ok(()),
            false => Err(Refused::Unconfirmed { runs, most: self.0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::How;

    #[test]
    fn many_runs_need_somebody_else() {
        let [alice, bob] = ["alice", "bob"].map(|name| Caller::new(How::Key, name, Arc::default()));
        let radius = Radius(10);
        assert!(radius.check(&alice, 10, None).is_ok());
        assert!(radius.check(&alice, 11, None).is_err());
        assert!(radius.check(&alice, 11, Some(&alice)).is_err(), "one's own word is no second");
        assert!(radius.check(&alice, 11, Some(&bob)).is_ok());
    }
}
