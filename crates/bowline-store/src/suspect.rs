//! Members whose sessions are watched: who is suspect because its session is gone, and since when.
//!
//! In:    what one observer has seen of others, look by look, and when by its own clock.
//! Out:   whom it may give up before the lease has run out.
//! Never: suspects somebody whose session it has not seen in this very contact. After a restart of
//!        the database all sessions are new, and who comes back last has lost nothing.

use std::{collections::BTreeMap, time::Duration};

use bowline_core::Epoch;

/// How long somebody is suspect before it is given up, if it is not heard of again.
pub const SUSPECT_FOR: Duration = Duration::from_secs(1);
/// In how many looks it is missed until then. Where nothing was answered for a while, a renewal may
/// have been held up as well, and comes in between them.
pub const SUSPECT_LOOKS: u32 = 4;

/// A session of a member, as its database knows it: the process that serves it, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session {
    /// The number of the process, which is used again.
    pub process: i64,
    /// When it began, by the database's clock, in microseconds.
    pub since: i64,
}

/// What was seen of a member in one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Who.
    pub epoch: Epoch,
    /// The session that it says it has.
    pub session: Session,
    /// When it renewed last, by whatever clock: another number is another renewal.
    pub renewed: i64,
    /// Whether that session is there.
    pub presence: Presence,
}

/// Whether a session is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    There,
    /// It is not.
    Gone,
    /// The observer may not know.
    Hidden,
}

/// All that one observer remembers while its own session lasts. Another one begins with nothing.
#[derive(Debug, Default)]
pub struct Suspicion {
    /// Those whose sessions were there.
    known: BTreeMap<Epoch, Known>,
}

#[derive(Debug)]
struct Known {
    session: Session,
    suspect: Option<Suspect>,
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    since: Duration,
    looks: u32,
    renewed: i64,
}

impl Suspicion {
    /// One look, at a moment of the observer's own clock: whom it may give up now. Whoever does so
    /// makes sure that each is still as it was seen.
    pub fn look(&mut self, now: Duration, seen: &[Seen]) -> Vec<Seen> {
        self.known.retain(|epoch, _| seen.iter().any(|seen| seen.epoch == *epoch));
        seen.iter().filter(|seen| self.is_over(now, seen)).copied().collect()
    }

    fn is_over(&mut self, now: Duration, seen: &Seen) -> bool {
        match seen.presence {
            Presence::There => {
                self.known.insert(seen.epoch, Known { session: seen.session, suspect: None });
                false
            }
            Presence::Hidden => {
                self.known.remove(&seen.epoch);
                false
            }
            Presence::Gone => {
                let known = self.known.get_mut(&seen.epoch);
                let Some(known) = known.filter(|known| known.session == seen.session) else {
                    return false;
                };
                let renewed = seen.renewed;
                let before = known.suspect.filter(|suspect| suspect.renewed == renewed);
                // It was there, or has been heard of since.
                let mut suspect = before.unwrap_or(Suspect { since: now, looks: 0, renewed });
                suspect.looks += 1;
                known.suspect = Some(suspect);
                let waited = now.saturating_sub(suspect.since);
                waited >= SUSPECT_FOR && suspect.looks >= SUSPECT_LOOKS
            }
        }
    }

    /// Whom it suspects.
    pub fn suspects(&self) -> Vec<Epoch> {
        let suspects = self.known.iter().filter(|(_, known)| known.suspect.is_some());
        suspects.map(|(epoch, _)| *epoch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Session = Session { process: 7, since: 100 };

    /// One observer, and what it sees of one other.
    struct Watch {
        suspicion: Suspicion,
        now: u64,
        renewed: i64,
        session: Session,
    }

    impl Watch {
        fn new() -> Self {
            Self { suspicion: Suspicion::default(), now: 0, renewed: 1, session: FIRST }
        }

        /// Looks a quarter of a second later; true if the other one is given up.
        fn sees(&mut self, presence: Presence) -> bool {
            self.sees_after(250, presence)
        }

        fn sees_after(&mut self, millis: u64, presence: Presence) -> bool {
            self.now += millis;
            let (epoch, session, renewed) = (Epoch(2), self.session, self.renewed);
            let seen = Seen { epoch, session, renewed, presence };
            let over = self.suspicion.look(Duration::from_millis(self.now), &[seen]);
            assert!(over.iter().all(|one| *one == seen));
            !over.is_empty()
        }

        fn is_suspect(&self) -> bool {
            self.suspicion.suspects() == [Epoch(2)]
        }
    }

    use Presence::{Gone, Hidden, There};

    #[test]
    fn whose_session_is_gone_for_a_second_is_given_up() {
        let mut watch = Watch::new();
        assert!(!watch.sees(There) && !watch.is_suspect());
        for _ in 0..4 {
            assert!(!watch.sees(Gone) && watch.is_suspect());
        }
        assert!(watch.sees(Gone), "a second has passed since it was first seen to be gone");
    }

    #[test]
    fn a_renewal_clears_it() {
        let mut watch = Watch::new();
        watch.sees(There);
        for renewed in 2..20 {
            watch.renewed = renewed;
            assert!((0..4).all(|_| !watch.sees(Gone)), "it was heard of");
        }
        assert!(watch.sees(Gone), "and then no more");
    }

    #[test]
    fn a_new_session_clears_it() {
        let mut watch = Watch::new();
        watch.sees(There);
        assert!((0..3).all(|_| !watch.sees(Gone)));
        watch.session = Session { process: 7, since: 200 };
        assert!(!watch.sees(There) && !watch.is_suspect());
        assert!((0..4).all(|_| !watch.sees(Gone)), "it begins anew");
    }

    /// After a restart of the database no observer has seen anybody's session.
    #[test]
    fn who_was_never_seen_is_never_suspect() {
        let mut watch = Watch::new();
        assert!((0..50).all(|_| !watch.sees(Gone)) && !watch.is_suspect());
        watch.sees(There);
        // It says that it has another one, which was gone before anybody could see it.
        watch.session = Session { process: 8, since: 300 };
        assert!((0..50).all(|_| !watch.sees(Gone)) && !watch.is_suspect());
    }

    #[test]
    fn who_may_not_be_seen_is_never_suspect() {
        let mut watch = Watch::new();
        assert!(!watch.sees(There) && !watch.sees(Hidden));
        assert!((0..50).all(|_| !watch.sees(Gone)) && !watch.is_suspect());
    }

    /// An observer that was not answered for a while is not the only one.
    #[test]
    fn an_observer_that_was_held_up_looks_again_before_it_concludes_anything() {
        let mut watch = Watch::new();
        watch.sees(There);
        assert!(!watch.sees(Gone) && !watch.sees_after(5_000, Gone), "a renewal may come next");
        assert!(!watch.sees(Gone));
        watch.renewed += 1;
        assert!((0..4).all(|_| !watch.sees(Gone)), "it came");
        assert!(watch.sees(Gone));
    }

    /// A busy machine is slow to look, and comes to its conclusion nevertheless.
    #[test]
    fn a_slow_observer_needs_as_many_looks() {
        let mut watch = Watch::new();
        watch.sees(There);
        assert!((0..3).all(|_| !watch.sees_after(3_000, Gone)));
        assert!(watch.sees_after(3_000, Gone));
    }

    #[test]
    fn who_is_not_looked_at_is_forgotten() {
        let mut watch = Watch::new();
        watch.sees(There);
        watch.suspicion.look(Duration::from_millis(300), &[]);
        assert!((0..50).all(|_| !watch.sees(Gone)));
    }
}
