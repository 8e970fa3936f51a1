//! What a request may change about a cancel that stands: it may push harder, and nothing else.
//!
//! In:    a request with ladders, for something that is being cancelled already.
//! Out:   an earlier end for the run, quicker rungs for its activities, word to its children.
//! Never: changes why, or by whom, something is cancelled; never gives anybody more time.

use super::child::tell;
use crate::{
    Cause, Draft, Effect, Ladders, Note, Ranges, RunAlarm, RunId, RunLadder, Span, Time,
    decide::start,
};

/// The run itself is being cancelled already. Under native rules a note remembers what stands
/// from now on, for what the code has yet to drop. Activities of remote runs know no ladder, and
/// a remote history has no place for such a note: there the earlier alarm is all.
pub(super) fn run(draft: &mut Draft, at: Time, cause: &Cause) {
    let before = standing(draft);
    let mut after = before;
    let since = draft.state.cancel_at.unwrap_or(at);
    let due = |ladder: RunLadder| since.after(ladder.terminate_after.0);
    let asked = cause.run_ladder().map(|ladder| at.after(ladder.terminate_after.0));
    if let Some(asked) = asked.filter(|asked| before.run.is_none_or(|own| *asked < due(own))) {
        after.run = Some(RunLadder { terminate_after: Span(asked.since(since)) });
        if let Some(own) = before.run {
            draft.disarm_run(due(own), RunAlarm::Ladder);
        }
        draft.arm_run(asked, RunAlarm::Ladder);
    }
    if let Some(by) = cause.activity_ladder() {
        after.hasten_activities(by);
    }
    if after != before && draft.state.rules().decisions_are_noted() {
        let cause = Cause { ladders: Some(Box::new(after)), ..cause.clone() };
        draft.notes.retain(|note| !matches!(note, Note::Hastened(_)));
        draft.notes.push(Note::Hastened(cause));
        draft.insists = true;
    }
}

/// What stands now, a note that this very draft has made included.
fn standing(draft: &Draft) -> Ladders {
    let noted = draft.notes.iter().rev().find_map(|note| match note {
        Note::Hastened(cause) => Some(cause.effective()),
        _ => None,
    });
    let of_run = || {
        let stands = draft.state.cancel.as_ref().map(|(_, cause)| cause.effective());
        Ladders { run: start::run_ladder(&draft.state), ..stands.unwrap_or_default() }
    };
    noted.unwrap_or_else(of_run)
}

/// Whatever of the run was cancelled before, and is not over, is pushed harder too.
pub(super) fn cancelled(draft: &mut Draft, cause: &Cause) {
    if cause.effective() == Ladders::default() {
        return;
    }
    let activities = draft.state.activities.iter().filter(|(_, open)| open.cancel.is_some());
    let activities: Ranges = activities.map(|(id, _)| *id).collect();
    self::activities(draft, activities, cause);
    let children = draft.state.children.values().filter(|open| open.cancel.is_some());
    let children: Vec<RunId> = children.map(|open| open.run).collect();
    children.into_iter().for_each(|run| child(draft, run, cause));
}

/// Activities that are cancelled already.
pub(super) fn activities(draft: &mut Draft, targets: Ranges, cause: &Cause) {
    let targets: Ranges = targets.ids().filter(|id| !draft.is_skipped(*id)).collect();
    let climbs = draft.state.rules().activities_climb() && cause.activity_ladder().is_some();
    if climbs && !targets.is_empty() {
        draft.effect(Effect::CancelActivities(targets, cause.clone()));
    }
}

/// A child that was asked to cancel already.
pub(super) fn child(draft: &mut Draft, run: RunId, cause: &Cause) {
    if cause.effective() != Ladders::default() {
        tell(draft, run, cause.clone(), None);
    }
}

/// A cause that follows from the run's cancel pushes as hard as that one does by now. Code knows
/// the first request only.
pub(super) fn as_asked(draft: &Draft, cause: Cause) -> Cause {
    let Some((_, own)) = &draft.state.cancel else { return cause };
    let follows = own.ladders.is_some() && cause.chain().any(|link| link.is_same(own));
    match follows && cause.effective() != own.effective() {
        true => Cause { ladders: own.ladders.clone(), ..cause },
        false => cause,
    }
}

#[cfg(test)]
mod tests;
