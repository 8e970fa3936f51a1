//! How far a cancel has come, told from the rows that are left.
//!
//! An open run can start anything at any time, so nothing of a subtree has stopped before all its
//! runs are closed; and code that was told and simply goes on keeps its receipt at `Decided`.

use bowline_core::{
    ParentClose,
    planted::{Defect, planted},
};

use super::{AttemptLine, Leftovers, Phase, Remainder, RunLine};

impl Leftovers {
    /// The highest phase that was reached. What nobody has cancelled is at [`Phase::Requested`].
    pub fn phase(&self) -> Phase {
        let cancelled = || self.attempts.iter().filter(|line| line.cause.is_some());
        let open = self.open().next().is_some();
        let all = |reached: fn(&AttemptLine) -> bool| cancelled().all(reached);
        // While code can still go on, "everybody was told" must not rest on there being nobody.
        let vacuous = open && cancelled().next().is_none();
        match () {
            () if self.unknown => Phase::Requested,
            () if self.settled() && self.remainder().is_empty() => Phase::Clean,
            () if self.settled() => Phase::Settled,
            () if !open && self.idle() => Phase::Stopped,
            () if !self.decided() => Phase::Requested,
            () if vacuous || !all(AttemptLine::delivered) => Phase::Decided,
            () if !all(AttemptLine::observed) => Phase::Delivered,
            () => Phase::Observed,
        }
    }

    /// True if every run is closed, those that were left alone excepted, and nothing durable can
    /// change any more.
    pub fn settled(&self) -> bool {
        !self.unknown && self.open().next().is_none() && self.idle() && self.unswept == 0
    }

    /// True if it is settled, and nothing leaked, was lost or was left.
    pub fn clean(&self) -> bool {
        self.settled() && self.remainder().is_empty()
    }

    /// True if nothing at all was found: what a question for orphans should be answered with.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.attempts.is_empty() && self.queued == 0
    }

    /// Whether this says enough about a phase: that it was reached, or that it was not. Of an
    /// [outline](super::Subtree::Outline) that was truncated, only its runs and marks do.
    pub fn is_enough(&self, phase: Phase) -> bool {
        let open = || self.open().next().is_some();
        match phase {
            _ if !self.truncated => true,
            Phase::Requested | Phase::Decided => open(),
            Phase::Settled | Phase::Clean => open() || self.unswept > 0,
            _ => false,
        }
    }

    /// What keeps it from being clean.
    pub fn remainder(&self) -> Remainder {
        let some = |wanted: fn(&AttemptLine) -> bool| {
            self.attempts.iter().filter(|line| wanted(line)).cloned().collect()
        };
        Remainder {
            open: self.open().cloned().collect(),
            running: match planted(Defect::RemainderLate) && !self.decided() {
                true => Vec::new(),
                false => some(|line| line.running),
            },
            queued: self.queued,
            unswept: self.unswept,
            leaked: some(|line| line.leaked),
            lost: some(|line| line.lost),
            left: self.runs.iter().filter(|line| line.left_alone()).cloned().collect(),
        }
    }

    /// Runs that have yet to close.
    fn open(&self) -> impl Iterator<Item = &RunLine> {
        self.runs.iter().filter(|line| line.status.is_open() && !line.left_alone())
    }

    /// Nothing runs, and nothing waits that could.
    fn idle(&self) -> bool {
        self.queued == 0 && self.attempts.iter().all(|line| !line.running)
    }

    /// Every run that was to be cancelled has it in its history, or is closed.
    fn decided(&self) -> bool {
        let target = self.runs.first().map(|line| line.run);
        self.open().all(|line| match &line.cancel {
            Some(cancel) => cancel.decided_at.is_some(),
            None => Some(line.run) != target && !line.parent_closed,
        })
    }
}

impl RunLine {
    /// Open, by the policy that it was started with, and asked by nobody to stop.
    pub fn left_alone(&self) -> bool {
        let abandoned = matches!(self.parent, Some((_, _, ParentClose::Abandon)));
        self.status.is_open() && self.cancel.is_none() && abandoned && self.parent_closed
    }
}

impl AttemptLine {
    pub(super) fn delivered(&self) -> bool {
        !self.running || self.delivered_at.is_some() || self.observed()
    }

    pub(super) fn observed(&self) -> bool {
        !self.running || self.observed_at.is_some()
    }
}

impl Remainder {
    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        let over = self.open.is_empty() && self.running.is_empty();
        let waits = self.queued + self.unswept > 0;
        let unseen = !(self.leaked.is_empty() && self.lost.is_empty());
        over && !waits && !unseen && self.left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::{Cause, Code, EventId, RunId, Status, Time};

    use super::*;
    use crate::RunCancel;

    const ASKED: Option<bool> = Some(false);
    const DECIDED: Option<bool> = Some(true);

    fn id(uuid: u128) -> RunId {
        RunId { uuid, ..RunId::default() }
    }

    /// A run; `cancel` tells whether one was requested, and whether history has it.
    fn run(uuid: u128, status: Status, cancel: Option<bool>) -> RunLine {
        let cause = Cause::new(Code::Requested);
        let cancel = cancel.map(|decided| RunCancel {
            cause,
            requested_at: Time(1),
            decided_at: decided.then_some(Time(2)),
            number: None,
        });
        RunLine {
            run: id(uuid),
            workflow_id: "w".into(),
            name: "w".into(),
            status,
            parent: None,
            parent_closed: false,
            successor: None,
            cancel,
            closed_at: (!status.is_open()).then_some(Time(9)),
        }
    }

    /// The child of a run that is closed, and of the subtree.
    fn child(of: u128, close: ParentClose, line: RunLine) -> RunLine {
        RunLine { parent: Some((id(of), EventId(5), close)), parent_closed: true, ..line }
    }

    /// A cancelled attempt: running and untold.
    fn attempt() -> AttemptLine {
        AttemptLine {
            run: id(1),
            activity: EventId(7),
            name: "a".into(),
            attempt: 1,
            running: true,
            deaf: false,
            cause: Some(Cause::new(Code::ScopeExit)),
            decided_at: Some(Time(2)),
            delivered_at: None,
            observed_at: None,
            stopped_at: None,
            rung: None,
            ended: None,
            unseen: Vec::new(),
            leaked: false,
            lost: false,
            late: false,
        }
    }

    fn told() -> AttemptLine {
        AttemptLine { delivered_at: Some(Time(3)), ..attempt() }
    }

    fn looked() -> AttemptLine {
        AttemptLine { observed_at: Some(Time(4)), ..told() }
    }

    fn stopped() -> AttemptLine {
        AttemptLine { running: false, stopped_at: Some(Time(5)), ..looked() }
    }

    fn left(runs: Vec<RunLine>, attempts: Vec<AttemptLine>) -> Leftovers {
        Leftovers { runs, attempts, ..Leftovers::default() }
    }

    #[test]
    fn each_phase_is_reached_by_what_is_left() {
        use Status::{Cancelled, Cancelling, Running, Terminated};
        let one = |status, cancel| vec![run(1, status, cancel)];
        let table = [
            ("nobody has read the request", left(one(Running, ASKED), vec![]), Phase::Requested),
            ("a termination waits", left(one(Running, None), vec![]), Phase::Requested),
            ("the run swallows it", left(one(Cancelling, DECIDED), vec![]), Phase::Decided),
            (
                "a worker is not yet told",
                left(one(Cancelling, DECIDED), vec![told(), attempt()]),
                Phase::Decided,
            ),
            ("all are told", left(one(Cancelling, DECIDED), vec![told()]), Phase::Delivered),
            (
                "the code has looked",
                left(one(Cancelling, DECIDED), vec![looked()]),
                Phase::Observed,
            ),
            (
                "it stopped before it was told, and the run cleans up",
                left(one(Cancelling, DECIDED), vec![stopped()]),
                Phase::Observed,
            ),
            (
                "terminated, while a worker still has something",
                left(one(Terminated, None), vec![attempt()]),
                Phase::Decided,
            ),
            (
                "closed, but marks are not folded",
                Leftovers { unswept: 1, ..left(one(Cancelled, DECIDED), vec![stopped()]) },
                Phase::Stopped,
            ),
            (
                "closed, but something waits in a queue",
                Leftovers { queued: 1, ..left(one(Cancelled, DECIDED), vec![]) },
                Phase::Observed,
            ),
            ("nothing is left", left(one(Cancelled, DECIDED), vec![stopped()]), Phase::Clean),
            ("the rows are gone", left(vec![], vec![]), Phase::Clean),
        ];
        for (story, leftovers, expected) in table {
            assert_eq!(leftovers.phase(), expected, "{story}");
            assert_eq!(leftovers.settled(), expected >= Phase::Settled, "{story}");
            assert_eq!(leftovers.clean(), expected == Phase::Clean, "{story}");
        }
    }

    #[test]
    fn an_outline_is_enough_while_a_run_is_open_or_not_swept() {
        use Status::{Cancelled, Cancelling};
        let outline = |status, unswept| {
            let runs = vec![run(1, status, DECIDED)];
            Leftovers { queued: 1, unswept, truncated: true, ..left(runs, vec![]) }
        };
        let phases = [Phase::Decided, Phase::Observed, Phase::Stopped, Phase::Clean];
        let table = [
            ("it is open", outline(Cancelling, 0), [true, false, false, true]),
            ("it is to be swept", outline(Cancelled, 1), [false, false, false, true]),
            ("rows are missing", outline(Cancelled, 0), [false; 4]),
            ("it is whole", Leftovers { truncated: false, ..outline(Cancelled, 0) }, [true; 4]),
        ];
        for (story, leftovers, expected) in table {
            assert_eq!(phases.map(|phase| leftovers.is_enough(phase)), expected, "{story}");
            assert!(!leftovers.settled(), "{story}");
        }
        assert_eq!(outline(Cancelling, 0).phase(), Phase::Decided);
    }

    /// A walk that was cut says nothing of what it has not seen.
    #[test]
    fn what_is_unknown_is_never_clean() {
        let clean = left(vec![run(1, Status::Cancelled, DECIDED)], vec![stopped()]);
        assert_eq!(clean.phase(), Phase::Clean);
        let cut = Leftovers { unknown: true, truncated: true, ..clean };
        assert_eq!(cut.phase(), Phase::Requested);
        assert!(!cut.settled() && !cut.clean());
    }

    /// Where there are more lines than are told, those that hold the phase back are kept.
    #[test]
    fn what_is_left_out_stands_no_better_than_what_is_told() {
        const MANY: usize = 1_500;
        let tree = |status, cancel: fn(u128) -> Option<bool>| {
            let top = run(0, Status::Cancelled, DECIDED);
            let below = |at| child(0, ParentClose::Cancel, run(at, status, cancel(at)));
            let mut left = left([top].into_iter().chain((1..1_501).map(below)).collect(), vec![]);
            left.bound();
            left
        };
        let undecided = tree(Status::Cancelling, |at| Some(at != 1_500));
        assert!(undecided.truncated);
        assert_eq!(undecided.phase(), Phase::Requested);
        let alone = |at| child(0, ParentClose::Abandon, run(at, Status::Running, None));
        let mut abandoned = left((0..1_500).map(alone).collect(), vec![]);
        abandoned.runs[0] = run(0, Status::Cancelled, DECIDED);
        abandoned.runs.push(child(0, ParentClose::Cancel, run(1_501, Status::Running, ASKED)));
        abandoned.bound();
        assert_eq!(abandoned.phase(), Phase::Requested, "one has yet to close");
        let phase = |last: AttemptLine| {
            let mut attempts = vec![looked(); MANY];
            attempts.push(last);
            let mut left = left(vec![run(1, Status::Cancelling, DECIDED)], attempts);
            left.bound();
            left.phase()
        };
        assert_eq!(phase(attempt()), Phase::Decided);
        assert_eq!(phase(told()), Phase::Delivered);
        assert_eq!(phase(looked()), Phase::Observed);
    }

    #[test]
    fn a_child_holds_the_phase_back_until_it_is_done() {
        use ParentClose::{Abandon, Cancel};
        use Status::{Cancelled, Cancelling, Completed, Running};
        let tree =
            |close, line| left(vec![run(1, Cancelled, DECIDED), child(1, close, line)], vec![]);
        let table = [
            ("it has not read", tree(Cancel, run(2, Running, ASKED)), Phase::Requested),
            ("it will be terminated", tree(Cancel, run(2, Running, None)), Phase::Requested),
            ("it cleans up", tree(Cancel, run(2, Cancelling, DECIDED)), Phase::Decided),
            ("it is done", tree(Cancel, run(2, Completed, None)), Phase::Clean),
            ("it was left", tree(Abandon, run(2, Running, None)), Phase::Settled),
            ("it was left, and asked", tree(Abandon, run(2, Running, ASKED)), Phase::Requested),
            ("it was left, and is done", tree(Abandon, run(2, Completed, None)), Phase::Clean),
        ];
        for (story, leftovers, expected) in table {
            assert_eq!(leftovers.phase(), expected, "{story}");
        }
    }

    #[test]
    fn a_child_of_an_open_parent_is_not_left_yet() {
        let runs = vec![
            run(1, Status::Cancelling, DECIDED),
            RunLine {
                parent_closed: false,
                ..child(1, ParentClose::Abandon, run(2, Status::Running, None))
            },
        ];
        let leftovers = left(runs, vec![]);
        let rest = leftovers.remainder();
        assert_eq!((rest.left.len(), rest.open.len()), (0, 2));
        assert_eq!(leftovers.phase(), Phase::Decided);
    }

    #[test]
    fn the_target_itself_is_never_left() {
        let target = child(99, ParentClose::Abandon, run(1, Status::Running, None));
        let target = RunLine { parent_closed: false, ..target };
        assert_eq!(left(vec![target], vec![]).phase(), Phase::Requested);
    }

    #[test]
    fn the_remainder_names_what_leaked_was_lost_and_was_left() {
        let leaked = AttemptLine { leaked: true, ..stopped() };
        let lost = AttemptLine { lost: true, ..stopped() };
        let runs = vec![
            run(1, Status::Cancelled, DECIDED),
            child(1, ParentClose::Abandon, run(2, Status::Running, None)),
        ];
        let leftovers = left(runs.clone(), vec![leaked.clone(), lost.clone(), stopped()]);
        let expected = Remainder {
            leaked: vec![leaked],
            lost: vec![lost],
            left: runs[1..].to_vec(),
            ..none()
        };
        assert_eq!(leftovers.remainder(), expected);
        assert_eq!(leftovers.phase(), Phase::Settled, "nothing durable can change, but not clean");
    }

    fn none() -> Remainder {
        Remainder::default()
    }

    /// A receipt that was only asked for named nothing, while everything ran.
    #[test]
    fn the_remainder_names_what_runs_before_anything_is_decided() {
        let asked = run(1, Status::Running, ASKED);
        let uncancelled = AttemptLine { cause: None, ..attempt() };
        let mut leftovers = left(vec![asked.clone()], vec![uncancelled.clone()]);
        (leftovers.queued, leftovers.unswept) = (2, 3);
        let (open, running) = (vec![asked], vec![uncancelled]);
        let expected = Remainder { open, running, queued: 2, unswept: 3, ..none() };
        assert_eq!((leftovers.phase(), leftovers.remainder()), (Phase::Requested, expected));
    }

    #[test]
    fn phases_never_go_back_while_a_cancel_runs_its_course() {
        let course = [
            left(vec![run(1, Status::Running, ASKED)], vec![]),
            left(vec![run(1, Status::Cancelling, DECIDED)], vec![attempt()]),
            left(vec![run(1, Status::Cancelling, DECIDED)], vec![told()]),
            left(vec![run(1, Status::Cancelling, DECIDED)], vec![looked()]),
            left(vec![run(1, Status::Cancelling, DECIDED)], vec![stopped()]),
            // Clean-up code runs an activity of its own, which nobody has cancelled.
            left(
                vec![run(1, Status::Cancelling, DECIDED)],
                vec![stopped(), AttemptLine { cause: None, ..attempt() }],
            ),
            left(vec![run(1, Status::Cancelled, DECIDED)], vec![stopped()]),
        ];
        let phases: Vec<Phase> = course.iter().map(Leftovers::phase).collect();
        assert!(phases.is_sorted(), "{phases:?}");
        assert_eq!(phases.last(), Some(&Phase::Clean));
    }
}
