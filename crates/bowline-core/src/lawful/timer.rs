//! Timers: set, then rung or unset, once.

use std::collections::BTreeMap;

use super::{Law, Lawful, must};
use crate::{Cancelled, EventId, TimerCancelled, TimerFired, TimerId, TimerStarted};

#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    pub(super) open: BTreeMap<EventId, TimerId>,
}

impl Timers {
    fn over(&mut self, timer: EventId, id: &TimerId) -> Law {
        let open = self.open.remove(&timer);
        must(open.as_ref() == Some(id), "a timer rings or is unset, once", || {
            format!("{timer} ({id:?}) is not open")
        })
    }
}

pub(super) fn started(lawful: &mut Lawful, id: EventId, event: &TimerStarted) -> Law {
    let taken = !lawful.native() && lawful.timers.open.values().any(|open| *open == event.id);
    must(!taken, "open timers have ids of their own", || format!("{:?} is open", event.id))?;
    lawful.timers.open.insert(id, event.id.clone());
    Ok(())
}

pub(super) fn fired(lawful: &mut Lawful, event: &TimerFired) -> Law {
    lawful.turns.unseen = true;
    lawful.timers.over(event.timer, &event.id)
}

pub(super) fn cancelled(lawful: &mut Lawful, event: &TimerCancelled) -> Law {
    lawful.turns.unseen |= event.turn == EventId(0);
    lawful.promised.cancel(Cancelled::Timers, event.timer);
    lawful.timers.over(event.timer, &event.id)
}
