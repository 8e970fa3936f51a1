//! Words that come after the end of their attempt, or of their activity.

use super::{Ending, Step, all_seen};
use crate::{
    Time,
    activity::{ActivityLive, Outcome, Place, Rung, Sight, UnseenAttempt},
};

/// A report about an attempt that is not out. The outcome stands; what the report adds is that the
/// code of an unseen attempt did end, or runs on, and what it had to say. The same report twice
/// adds nothing.
pub(super) fn late(
    live: &mut ActivityLive,
    attempt: u32,
    ending: Ending,
    rung: Option<Rung>,
    now: Time,
) -> Step {
    let Some(known) = live.unseen.find(attempt).cloned() else { return too_late(live, ending) };
    let runs_on = known.sight == Sight::RunsOn;
    let found = match &ending {
        Ending::RunsOn | Ending::Abandoned if runs_on => return Step::Stale,
        Ending::RunsOn | Ending::Abandoned => {
            live.unseen.add(UnseenAttempt { sight: Sight::RunsOn, ..known });
            return Step::Noted;
        }
        Ending::Stopped => true,
        // Its answer is there, and yet something that it started runs on. Or it is handed back by
        // somebody who looked for it before it began.
        Ending::Completed(_) | Ending::Failed(_) | Ending::Cancelled(_) | Ending::Returned => {
            !runs_on
        }
        Ending::TimedOut(_) | Ending::Lost { .. } => return Step::Stale,
    };
    if found {
        live.unseen.remove(attempt);
        if attempt == live.attempt
            && live.ended().is_some()
            && let Some(record) = &mut live.cancel
        {
            record.rung = rung.or(record.rung);
        }
        all_seen(live, now);
    }
    let is_word = live.ended().is_some() && ending != Ending::Stopped;
    match (too_late(live, ending), found) {
        (Step::Stale, true) if is_word => Step::Late,
        (Step::Stale, true) => Step::Noted,
        (step, _) => step,
    }
}

/// What an attempt says that is not out. Once the activity has its outcome it is kept beside it;
/// before that, another attempt will have the word.
fn too_late(live: &mut ActivityLive, ending: Ending) -> Step {
    let Place::Ended(end) = &mut live.place else { return Step::Stale };
    let outcome = match ending {
        Ending::Completed(result) => Outcome::Completed(result),
        Ending::Failed(failure) => Outcome::Failed(failure),
        _ => return Step::Stale,
    };
    if end.late.is_some() || outcome == end.outcome {
        return Step::Stale;
    }
    end.late = Some(outcome);
    Step::Late
}
