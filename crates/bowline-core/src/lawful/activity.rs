//! Activities: scheduled once, started directly before their end, ended once.

use std::collections::BTreeMap;

use super::{Law, Lawful, must};
use crate::{
    ActivityCancelled, ActivityId, ActivityScheduled, Cancelled, EventId, EventKind, Ranges,
};

const ONCE: &str = "an activity ends once";

#[derive(Clone, Debug, Default)]
pub(super) struct Activities {
    pub(super) open: BTreeMap<EventId, Activity>,
    /// The activity whose `ActivityStarted` is the newest event, and that event.
    began: Option<(EventId, EventId)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Activity {
    id: ActivityId,
    /// Remote rules: its `ActivityCancelRequested`.
    requested: Option<EventId>,
    /// A cancel stands, in whatever form.
    pub(super) cancelled: bool,
    pub(super) detached: bool,
}

impl Activities {
    /// The end follows the start at once.
    pub(super) fn place(&self, kind: &EventKind) -> Law {
        use EventKind as K;
        let Some((activity, _)) = self.began else { return Ok(()) };
        let ended = match kind {
            K::ActivityCompleted(e) => e.activity,
            K::ActivityFailed(e) => e.activity,
            K::ActivityTimedOut(e) => e.activity,
            K::ActivityCancelled(e) => e.activity,
            _ => EventId(0),
        };
        must(ended == activity, "an activity's start is written with its end", || {
            format!("{} stands between those of activity {activity}", kind.name())
        })
    }

    pub(super) fn rest(&self) -> Law {
        must(self.began.is_none(), "an activity's start is written with its end", || {
            "the end is missing".to_owned()
        })
    }

    pub(super) fn started(&mut self, id: EventId, activity: EventId) -> Law {
        must(self.open.contains_key(&activity), ONCE, || format!("{activity} is not open"))?;
        self.began = Some((activity, id));
        Ok(())
    }

    /// What a closing run cancels, and what it leaves alone.
    pub(super) fn at_close(&self) -> (Ranges, Vec<EventId>) {
        let of = |pick: fn(&Activity) -> bool| {
            self.open.iter().filter(move |(_, a)| pick(a)).map(|(id, _)| *id)
        };
        (of(|a| !a.detached && !a.cancelled).collect(), of(|a| a.detached).collect())
    }
}

pub(super) fn scheduled(lawful: &mut Lawful, id: EventId, event: &ActivityScheduled) -> Law {
    let own = &event.spec.id;
    let taken = !lawful.native() && lawful.activities.open.values().any(|open| open.id == *own);
    must(!taken, "open activities have ids of their own", || format!("{own:?} is open"))?;
    let cancelled = lawful.promised.cancel(Cancelled::Activities, id);
    let detached = lawful.promised.detach(id);
    let activity = Activity { id: own.clone(), requested: None, cancelled, detached };
    lawful.activities.open.insert(id, activity);
    Ok(())
}

pub(super) fn cancel_requested(lawful: &mut Lawful, id: EventId, activity: EventId) -> Law {
    must(!lawful.native(), "native cancels of activities are notes", || {
        "this one is an event".to_owned()
    })?;
    let open = lawful.activities.open.get_mut(&activity);
    let first = open.is_some_and(|open| {
        open.cancelled = true;
        open.requested.replace(id).is_none()
    });
    must(first, "an open activity is cancelled once", || {
        format!("{activity} is not open, or cancelled already")
    })
}

/// An end; `needs_start` if it cannot have happened to an activity that never began.
pub(super) fn ended(
    lawful: &mut Lawful,
    activity: EventId,
    started: EventId,
    needs_start: bool,
) -> Law {
    lawful.turns.unseen = true;
    let began = lawful.activities.began.take().map(|(_, id)| id);
    let named = Some(started).filter(|id| *id != EventId(0));
    must(named == began, "an activity's end names its start", || {
        format!("it names {named:?}, and {began:?} is it")
    })?;
    must(named.is_some() || !needs_start, "only what began has a result", || {
        format!("activity {activity} did not begin")
    })?;
    let open = lawful.activities.open.remove(&activity);
    must(open.is_some(), ONCE, || format!("{activity} is not open"))
}

pub(super) fn cancelled(lawful: &mut Lawful, event: &ActivityCancelled) -> Law {
    let open = lawful.activities.open.get(&event.activity);
    let requested = open.and_then(|open| open.requested).unwrap_or_default();
    must(event.requested == requested, "a cancelled end names its request", || {
        format!("it names {}, and {requested} is it", event.requested)
    })?;
    must(lawful.native() || requested != EventId(0), "only what was cancelled ends so", || {
        format!("the code did not cancel {}", event.activity)
    })?;
    ended(lawful, event.activity, event.started, false)
}
