//! Events of timers.

use super::{OpenTimer, State};
use crate::{Event, EventId, TimerStarted};

pub(super) fn started(state: &mut State, event: &Event, timer: &TimerStarted) {
    let open = OpenTimer { id: timer.id.clone(), due: event.time.after(timer.after.0) };
    state.timers.insert(event.id, open);
}

pub(super) fn over(state: &mut State, timer: EventId) {
    state.timers.remove(&timer);
}
