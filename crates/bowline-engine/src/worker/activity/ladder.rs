//! The ladder: which rung an attempt stands on, and when it is pushed to the next.
//!
//! Each rung counts from the moment it was really reached: a machine that was suspended must not
//! abort, kill and abandon in one breath.

use bowline_core::{Ladder, Rung, Time};

/// Where an attempt stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Climb {
    /// Nobody wants it to stop.
    #[default]
    Free,
    /// It was told, and has until the end of its grace period.
    Told,
    /// Whatever can be dropped was dropped, at this moment.
    Aborted(Time),
    /// Its process groups were killed, at this moment.
    Killed(Time),
    /// It was given up.
    Abandoned,
}

impl Climb {
    /// When the next rung is due. `until` is the end of the grace period.
    pub(super) fn due(self, until: Option<Time>, ladder: Ladder) -> Option<Time> {
        match self {
            Self::Free | Self::Abandoned => None,
            Self::Told => until,
            Self::Aborted(at) | Self::Killed(at) => Some(at.after(ladder.step.0)),
        }
    }

    /// Climbs one rung, if one is due, and says which.
    pub(super) fn climb(
        &mut self,
        now: Time,
        until: Option<Time>,
        ladder: Ladder,
        has_processes: bool,
    ) -> Option<Rung> {
        self.due(until, ladder).filter(|due| *due <= now)?;
        let (next, rung) = match self {
            Self::Told if !ladder.detach => (Self::Aborted(now), Rung::Abort),
            Self::Aborted(_) if has_processes => (Self::Killed(now), Rung::Kill),
            _ => (Self::Abandoned, Rung::Abandon),
        };
        *self = next;
        Some(rung)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::Span;
    use std::time::Duration;

    fn at(seconds: u64) -> Time {
        Time::default().after(Duration::from_secs(seconds))
    }

    fn ladder(detach: bool) -> Ladder {
        let span = |n| Span(Duration::from_secs(n));
        Ladder { grace: span(10), step: span(5), detach }
    }

    /// Every rung that is climbed if somebody looks once a second, and when.
    fn climbs(detach: bool, has_processes: bool) -> Vec<(u64, Rung)> {
        let mut climb = Climb::Told;
        let mut rungs = Vec::new();
        for second in 0..60 {
            let rung = climb.climb(at(second), Some(at(10)), ladder(detach), has_processes);
            rungs.extend(rung.map(|rung| (second, rung)));
        }
        rungs
    }

    #[test]
    fn every_rung_has_its_moment() {
        let all = [(10, Rung::Abort), (15, Rung::Kill), (20, Rung::Abandon)];
        assert_eq!(climbs(false, true), all);
    }

    #[test]
    fn where_there_is_no_process_nothing_is_killed() {
        assert_eq!(climbs(false, false), [(10, Rung::Abort), (15, Rung::Abandon)]);
    }

    #[test]
    fn detached_code_is_neither_aborted_nor_killed() {
        assert_eq!(climbs(true, true), [(10, Rung::Abandon)]);
    }

    #[test]
    fn a_clock_that_jumps_leaves_each_rung_its_time() {
        let mut climb = Climb::Told;
        let mut rung = |second| climb.climb(at(second), Some(at(10)), ladder(false), true);
        assert_eq!((rung(1_000), rung(1_000)), (Some(Rung::Abort), None));
        assert_eq!((rung(1_004), rung(1_005)), (None, Some(Rung::Kill)));
    }

    #[test]
    fn whoever_is_free_stays_free() {
        let mut climb = Climb::Free;
        assert_eq!(climb.climb(Time::MAX, None, ladder(false), true), None);
        assert_eq!(climb.due(Some(at(1)), ladder(false)), None);
    }
}
