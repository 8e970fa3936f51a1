//! Where every consumed message has gone.

use std::collections::BTreeMap;

use crate::{testing::World, *};

/// An event without its numbers.
pub(super) fn shape(event: &Event) -> String {
    match &event.kind {
        EventKind::WorkflowSignalled(signal) => format!("WorkflowSignalled {}", signal.name),
        EventKind::ActivityScheduled(scheduled) => {
            format!("ActivityScheduled {}", scheduled.spec.id)
        }
        kind => kind.name().to_owned(),
    }
}

/// Every message that this step consumed is accounted for.
#[track_caller]
pub(super) fn check(before: &World, after: &World) {
    assert!(before.consumed <= after.consumed);
    let left: Vec<_> = after.inbox.iter().map(|received| received.number).collect();
    for received in &before.inbox {
        if left.contains(&received.number) {
            continue;
        }
        assert!(received.number <= after.consumed, "{received:?} is gone, and not consumed");
        let fate = fate(before, after, &received.message);
        assert!(fate.is_some(), "lost: {:?}\n{}", received.message, after.told);
    }
}

/// What became of a message; none if nobody can tell.
fn fate(before: &World, after: &World, message: &Message) -> Option<&'static str> {
    let (was, is) = (&before.state, &after.state);
    let gone = |yes: bool| yes.then_some("it is over");
    if !was.status.is_open() {
        return Some("the run was closed");
    }
    match message {
        Message::Signal(signal) => {
            let new = &after.history[before.history.len()..];
            let told = new.iter().any(|event| {
                matches!(&event.kind, EventKind::WorkflowSignalled(e) if e.name == signal.name)
            });
            let known = is.requests.contains(&signal.request_id);
            (told || known).then_some("it is told, or was before")
        }
        Message::Cancel(_) | Message::TimeOut(RunAlarm::Deadline) => gone(is.cancel.is_some()),
        Message::EndActivity(end) => gone(is_over(&was.activities, &is.activities, end.activity)),
        Message::SkipActivities(ranges) => {
            let uncancelled = |id: &EventId| {
                let open = was.activities.get(id);
                open.is_some_and(|open| was.rules().is_native() && open.cancel.is_none())
            };
            gone(
                ranges
                    .ids()
                    .all(|id| is_over(&was.activities, &is.activities, id) || uncancelled(&id)),
            )
        }
        Message::FireTimer(timer) => gone(is_over(&was.timers, &is.timers, *timer)),
        Message::ChildBegan(child) | Message::RefuseChild(child, _) => {
            let begun = is.children.get(child).is_some_and(|open| open.started.is_some());
            gone(begun || is_over(&was.children, &is.children, *child))
        }
        Message::EndChild(end) if matches!(end.ending, RunEnding::Continued(_)) => {
            Some("a child that goes on has not ended")
        }
        Message::EndChild(end) => gone(is_over(&was.children, &is.children, end.child)),
        Message::ExternalDone(id) | Message::RefuseExternal(id, _) => {
            gone(is_over(&was.externals, &is.externals, *id))
        }
        Message::Update(request) => gone(update_is_known(before, after, &request.id)),
        Message::CancelOne(target, _) => one(before, after, *target),
        Message::Terminate(_) | Message::TimeOut(RunAlarm::Run) => gone(!is.status.is_open()),
        Message::TimeOut(_) | Message::Wake => Some("it asks for nothing by itself"),
    }
}

/// Whether nothing of this number is open any more, or was when the message came.
fn is_over<T>(was: &BTreeMap<EventId, T>, is: &BTreeMap<EventId, T>, id: EventId) -> bool {
    !was.contains_key(&id) || !is.contains_key(&id)
}

fn update_is_known(before: &World, after: &World, id: &UpdateId) -> bool {
    let admitted = |world: &World| world.record.admitted.iter().any(|request| request.id == *id);
    let answered = after.effects[before.effects.len()..]
        .iter()
        .any(|effect| matches!(effect, Effect::AnswerUpdate(known, _) if known == id));
    let known = |world: &World| world.state.updates.contains_key(id) || admitted(world);
    known(before) || known(after) || answered
}

fn one(before: &World, after: &World, target: EventId) -> Option<&'static str> {
    let state = &before.state;
    let new = &after.effects[before.effects.len()..];
    if let Some(open) = state.activities.get(&target) {
        let told = new.iter().any(
            |effect| matches!(effect, Effect::CancelActivities(ids, _) if ids.contains(target)),
        );
        let over = !after.state.activities.contains_key(&target);
        return (told || over || open.cancel.is_some()).then_some("it is cancelled, or over");
    }
    if state.timers.contains_key(&target) {
        let over = !after.state.timers.contains_key(&target);
        return (over || !state.rules().timer_can_be_cancelled()).then_some("it is unset");
    }
    if let Some(open) = state.children.get(&target) {
        let told = new.iter().any(|effect| matches!(effect, Effect::Post(_)));
        let over = !after.state.children.contains_key(&target);
        return (told || over || open.cancel.is_some()).then_some("it is told, or over");
    }
    Some("there was nothing to cancel")
}
