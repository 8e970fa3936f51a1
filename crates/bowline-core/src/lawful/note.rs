//! Notes: where each may stand, what it may name, and what it promises of the events behind it.

use std::collections::BTreeSet;

use super::{Law, Lawful, must, run, update};
use crate::{Cancelled, Event, EventId, EventKind, Note, Outstanding, Ranges};

const OPEN: &str = "a cancel names what is open";

/// What a turn's notes say about events of its own block, which come behind them.
#[derive(Clone, Debug, Default)]
pub(super) struct Promised {
    cancels: BTreeSet<(Cancelled, EventId)>,
    detached: BTreeSet<EventId>,
}

impl Promised {
    /// True if a note of this turn had named it.
    pub(super) fn cancel(&mut self, what: Cancelled, id: EventId) -> bool {
        self.cancels.remove(&(what, id))
    }

    pub(super) fn detach(&mut self, id: EventId) -> bool {
        self.detached.remove(&id)
    }

    /// The block is over: whatever was named must have come.
    pub(super) fn kept(&self) -> Law {
        let missing = self.cancels.first().map(|(what, id)| format!("{what:?} {id}"));
        must(missing.is_none(), OPEN, || {
            format!("{} did not follow", missing.unwrap_or_default())
        })?;
        let missing = self.detached.first();
        must(missing.is_none(), "what is let go of is open", || {
            format!("{missing:?} did not follow")
        })
    }
}

/// The notes of an event, ahead of what the event itself changes.
pub(super) fn check(lawful: &mut Lawful, event: &Event) -> Law {
    for note in &event.notes {
        let native = lawful.native();
        must(belongs(note, &event.kind, native), "a note stands where it belongs", || {
            format!("{note:?} stands on {}", event.kind.name())
        })?;
        match note {
            Note::Cancels(decisions) => {
                for decision in decisions {
                    cancels(lawful, event.id, decision.what, &decision.targets)?;
                }
            }
            Note::Skipped(ranges) => skipped(lawful, ranges)?,
            Note::CancelledOne(target, _) => cancelled_one(lawful, *target)?,
            Note::Detached(ranges) => detached(lawful, event.id, ranges)?,
            Note::RefusedUpdates(ids) => update::refused(lawful, ids)?,
            Note::Hastened(_) => run::hastened(lawful)?,
            Note::Received(ranges) => run::received(lawful, ranges)?,
            Note::Scopes(_) | Note::Cause(_) | Note::Rung(_) | Note::Outstanding(_) => {}
        }
    }
    Ok(())
}

/// The closing event tells what was open.
pub(super) fn close(lawful: &mut Lawful, event: &Event) -> Law {
    if !event.kind.closes() {
        return Ok(());
    }
    let (activities, mut left) = lawful.activities.at_close();
    let inherited = inherited(event);
    let heirs = inherited.clone().unwrap_or_default();
    lawful.children.may_inherit(&heirs)?;
    let (children, abandoned) = lawful.children.at_close(&heirs);
    left.extend(abandoned);
    let timers: Ranges = lawful.timers.open.keys().copied().collect();
    let left: Ranges = left.into_iter().collect();
    let note = event.notes.iter().find_map(|note| match note {
        Note::Outstanding(outstanding) => Some(outstanding.clone()),
        _ => None,
    });
    let none = [&activities, &timers, &children, &left].iter().all(|ranges| ranges.is_empty());
    let found = note.clone().unwrap_or_default();
    let closing = if none { found.closing } else { event.id };
    let cause = found.cause.clone();
    let open = Outstanding { activities, timers, children, left, cause, closing, inherited };
    must(found == open && note.is_none() == none, "the last event tells what was open", || {
        format!("open is {open:?}, told is {note:?}")
    })
}

/// What a run that is terminated in favour of a fork leaves to that.
fn inherited(event: &Event) -> Option<Ranges> {
    let is_cut = matches!(event.kind, EventKind::WorkflowTerminated(_));
    event.notes.iter().filter(|_| is_cut).find_map(|note| match note {
        Note::Outstanding(outstanding) => outstanding.inherited.clone(),
        _ => None,
    })
}

fn belongs(note: &Note, kind: &EventKind, native: bool) -> bool {
    use EventKind as K;
    match note {
        Note::Cancels(_)
        | Note::Scopes(_)
        | Note::Detached(_)
        | Note::RefusedUpdates(_)
        | Note::Received(_) => native && matches!(kind, K::TurnCompleted(_)),
        Note::Skipped(_) | Note::CancelledOne(..) | Note::Hastened(_) => {
            native && (matches!(kind, K::TurnScheduled(_)) || kind.closes())
        }
        Note::Rung(_) => matches!(kind, K::ActivityCancelled(_) | K::ActivityFailed(_)),
        Note::Outstanding(_) => kind.closes(),
        Note::Cause(_) => !kind.of_turn(),
    }
}

fn cancels(lawful: &mut Lawful, event: EventId, what: Cancelled, targets: &Ranges) -> Law {
    for id in targets.ids() {
        let open = lawful.activities.open.get_mut(&id).filter(|_| what == Cancelled::Activities);
        match open {
            Some(open) => open.cancelled = true,
            None => {
                // Timers and children have an event behind the note, and so has an activity that
                // the same turn schedules; an older one must be open here.
                must(what != Cancelled::Activities || id > event, OPEN, || {
                    format!("activity {id} is not")
                })?;
                lawful.promised.cancels.insert((what, id));
            }
        }
    }
    Ok(())
}

fn skipped(lawful: &mut Lawful, ranges: &Ranges) -> Law {
    for id in ranges.ids() {
        let open = lawful.activities.open.remove(&id);
        must(open.is_some_and(|open| open.cancelled), "only what was cancelled ends so", || {
            format!("activity {id} is not open, or not cancelled")
        })?;
    }
    lawful.turns.unseen = true;
    Ok(())
}

fn cancelled_one(lawful: &mut Lawful, target: EventId) -> Law {
    if let Some(open) = lawful.activities.open.get_mut(&target) {
        open.cancelled = true;
        return Ok(());
    }
    let open = lawful.children.open.contains_key(&target);
    must(open, OPEN, || format!("neither an activity nor a child {target} is"))
}

fn detached(lawful: &mut Lawful, event: EventId, ranges: &Ranges) -> Law {
    for id in ranges.ids() {
        if let Some(open) = lawful.activities.open.get_mut(&id) {
            open.detached = true;
        } else if let Some(open) = lawful.children.open.get_mut(&id) {
            open.detached = true;
        } else {
            must(id > event, "what is let go of is open", || format!("{id} is not"))?;
            lawful.promised.detached.insert(id);
        }
    }
    Ok(())
}
