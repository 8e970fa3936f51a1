//! What the end of the code means for its attempt.
//!
//! An error after a cancel was delivered is the code's way to stop: the attempt is cancelled. A
//! result is a result, however late.

use bowline_core::{Ending, Failure, Rung};

use super::notice::Told;
use crate::worker::registry::Answer;

/// How the code ended.
#[derive(Debug)]
pub(super) enum How {
    /// It returned.
    Returned(Answer),
    /// It panicked.
    Panicked(Box<Failure>),
    /// Its future was dropped by the ladder.
    Aborted,
    /// It was told to stop before its first line.
    NeverRan,
    /// The runtime that ran it shut down.
    Vanished,
}

/// The end of the code.
#[derive(Debug)]
pub(super) struct Finish {
    pub(super) how: How,
    /// The strongest thing that it had been told by then.
    pub(super) word: Told,
    /// Its attempt had been ended without it.
    pub(super) is_late: bool,
    /// It was to end at once, because its process had lost contact.
    pub(super) is_cut: bool,
}

impl Finish {
    /// What becomes of the attempt. With a leak, a stop that was not complete is not called one.
    pub(super) fn ending(self, is_leaking: bool) -> Ending {
        match (self.how, self.word) {
            (How::Returned(Ok(result)), _) => Ending::Completed(result),
            (How::Returned(Err(failure)), Told::None) => Ending::Failed(failure),
            (How::Panicked(failure), Told::None) => Ending::Failed(*failure),
            (How::Aborted | How::NeverRan, _) if is_leaking => Ending::Abandoned,
            (_, Told::Cancel | Told::Stop | Told::Drain) if is_leaking => Ending::Abandoned,
            (How::Returned(Err(failure)), Told::Cancel) => Ending::Cancelled(failure.details),
            (_, Told::Cancel) => Ending::Cancelled(None),
            (How::Vanished, _) => Ending::Lost { seen: true },
            // Who is not polled because its process has lost contact may not have been told yet: it
            // has surely ended here, or never began.
            (_, Told::Drain | Told::Stop | Told::None) => Ending::Returned,
        }
    }

    /// What is worth telling after the attempt was ended without it.
    pub(super) fn late(self) -> Option<Ending> {
        match self.how {
            How::Returned(Ok(result)) => Some(Ending::Completed(result)),
            How::Returned(Err(failure)) => Some(Ending::Failed(failure)),
            How::Panicked(failure) => Some(Ending::Failed(*failure)),
            How::Aborted | How::NeverRan | How::Vanished => None,
        }
    }

    /// How far the code itself had to be pushed.
    pub(super) fn rung(&self) -> Option<Rung> {
        match (&self.how, self.word) {
            (_, Told::None) => None,
            (How::NeverRan, _) => Some(Rung::NeverStarted),
            (How::Aborted, _) if self.is_cut => Some(Rung::Cut),
            (How::Aborted, _) => Some(Rung::Abort),
            _ => Some(Rung::Signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::Payload;

    fn finish(how: How, word: Told) -> Finish {
        Finish { how, word, is_late: false, is_cut: false }
    }

    fn failure() -> Failure {
        Failure { details: Some(Payload::json("7")), ..Failure::new("no") }
    }

    fn ok() -> How {
        How::Returned(Ok(Some(Payload::json("1"))))
    }

    fn err() -> How {
        How::Returned(Err(failure()))
    }

    #[test]
    fn a_result_is_a_result_whatever_was_said() {
        for word in [Told::None, Told::Drain, Told::Stop, Told::Cancel] {
            let completed = Ending::Completed(Some(Payload::json("1")));
            assert_eq!(finish(ok(), word).ending(false), completed);
            assert_eq!(finish(ok(), word).ending(true), completed, "a leak does not unsay it");
        }
    }

    #[test]
    fn an_error_means_what_the_code_was_told() {
        let cancelled = Ending::Cancelled(Some(Payload::json("7")));
        assert_eq!(finish(err(), Told::None).ending(false), Ending::Failed(failure()));
        assert_eq!(finish(err(), Told::Cancel).ending(false), cancelled);
        assert_eq!(finish(err(), Told::Drain).ending(false), Ending::Returned);
        assert_eq!(finish(err(), Told::Stop).ending(false), Ending::Returned);
    }

    #[test]
    fn a_panic_is_a_failure_and_in_grace_a_stop() {
        let panic = || How::Panicked(Box::new(failure()));
        assert_eq!(finish(panic(), Told::None).ending(false), Ending::Failed(failure()));
        assert_eq!(finish(panic(), Told::Cancel).ending(false), Ending::Cancelled(None));
        assert_eq!(finish(panic(), Told::Drain).ending(false), Ending::Returned);
    }

    #[test]
    fn a_stop_that_leaves_something_running_is_no_stop() {
        for word in [Told::Drain, Told::Stop, Told::Cancel] {
            assert_eq!(finish(err(), word).ending(true), Ending::Abandoned);
            assert_eq!(finish(How::Aborted, word).ending(true), Ending::Abandoned);
        }
        assert_eq!(finish(err(), Told::None).ending(true), Ending::Failed(failure()));
    }

    /// After an outage longer than a lease the code of an attempt was dropped by its very next
    /// poll, before anybody had told it why. It counted as lost, which is a try that has failed;
    /// but nobody knows better than this process that it has ended.
    #[test]
    fn what_ended_here_untold_is_handed_back() {
        for how in [|| How::Aborted, || How::NeverRan] {
            assert_eq!(finish(how(), Told::None).ending(false), Ending::Returned);
            assert_eq!(finish(how(), Told::None).ending(true), Ending::Abandoned);
        }
    }

    #[test]
    fn a_runtime_that_goes_takes_its_code_along() {
        let lost = Ending::Lost { seen: true };
        assert_eq!(finish(How::Vanished, Told::None).ending(false), lost);
        assert_eq!(finish(How::Vanished, Told::Drain).ending(false), lost);
        assert_eq!(finish(How::Vanished, Told::Cancel).ending(false), Ending::Cancelled(None));
    }

    #[test]
    fn the_rung_tells_how_far_it_was_pushed() {
        assert_eq!(finish(err(), Told::None).rung(), None);
        assert_eq!(finish(err(), Told::Cancel).rung(), Some(Rung::Signal));
        assert_eq!(finish(How::Aborted, Told::Stop).rung(), Some(Rung::Abort));
        let cut = Finish { is_cut: true, ..finish(How::Aborted, Told::Cancel) };
        assert_eq!(cut.rung(), Some(Rung::Cut));
        assert_eq!(finish(How::NeverRan, Told::Cancel).rung(), Some(Rung::NeverStarted));
    }
}
