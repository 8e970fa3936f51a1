//! What was read from a server whose place another one has taken.
//!
//! A standby that was promoted may lack the last messages of the old server, and gives their
//! numbers to others. Somebody who has read message seven there, and commits that messages up to
//! seven are consumed, would consume here what nobody has heard. So after such a change each run's
//! first decision that consumes something is refused, as if somebody else had been faster: it is
//! made again, on what is read here.
//!
//! In:    who the server behind each new connection says that it is.
//! Out:   which decisions may be about another past; how many pasts there were, so that members let
//!        go of what they hold and look for what stands in their names.
//! Never: needed while the server stays the same.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use bowline_core::{CommitId, RunId};
use parking_lot::Mutex;

/// For how long decisions are doubted. One that was made before the change and is still on its way
/// is tried again all the time; whoever has nothing on its way reads before it decides.
const DOUBTED_FOR: Duration = Duration::from_secs(600);
/// Of how many runs decisions are doubted at most.
const DOUBTED_MAX: usize = 100_000;

/// Which server this is, and which of its pasts: its number, and how often it was promoted.
pub(crate) const SERVER: &str = "SELECT system_identifier::text || ' ' \
    || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()";

#[derive(Default)]
pub(crate) struct Past(Mutex<ServerSeen>);

#[derive(Default)]
struct ServerSeen {
    server: Option<String>,
    /// How often it was another one.
    changes: u64,
    doubted: Option<(Instant, HashMap<RunId, CommitId>)>,
}

impl Past {
    /// A new connection leads to this server; true if that is another one than before.
    pub(crate) fn meet(&self, server: String) -> bool {
        let mut inner = self.0.lock();
        let before = inner.server.replace(server);
        let is_other = before.is_some() && before != inner.server;
        if is_other {
            inner.changes += 1;
            inner.doubted = Some((Instant::now(), HashMap::new()));
        }
        is_other
    }

    /// Which past it is, counted here.
    pub(crate) fn number(&self) -> u64 {
        self.0.lock().changes
    }

    /// Whether a decision may be about another past. Its run is trusted again from the next one on.
    pub(crate) fn doubts(&self, run: RunId, commit: CommitId) -> bool {
        let mut inner = self.0.lock();
        let Some((since, doubted)) = &mut inner.doubted else { return false };
        if since.elapsed() > DOUBTED_FOR || doubted.len() >= DOUBTED_MAX {
            inner.doubted = None;
            return false;
        }
        *doubted.entry(run).or_insert(commit) == commit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_decision_about_each_run_is_doubted_after_a_change() {
        let (past, run) = (Past::default(), |uuid| RunId { uuid, ..RunId::default() });
        assert!(!past.meet("one 1".into()) && !past.meet("one 1".into()));
        assert!(!past.doubts(run(1), CommitId(1)), "nothing has changed");
        assert_eq!(past.number(), 0);
        assert!(past.meet("one 2".into()), "it was promoted");
        assert_eq!(past.number(), 1);
        assert!(past.doubts(run(1), CommitId(2)));
        assert!(past.doubts(run(1), CommitId(2)), "trying it again does not help");
        assert!(!past.doubts(run(1), CommitId(3)), "making it again does");
        assert!(past.doubts(run(2), CommitId(4)));
        assert!(!past.meet("one 2".into()));
        assert!(!past.doubts(run(2), CommitId(5)));
    }
}
