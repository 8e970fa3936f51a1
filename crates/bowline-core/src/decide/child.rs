//! Children: started, told to stop, ended.

use super::{
    size,
    start::{self, Begin},
};
use crate::{
    Address, Blob, Cancel, Cause, ChildCancelled, ChildCompleted, ChildFailed, ChildInitiated,
    ChildRefusal, ChildSpec, ChildStartFailed, ChildStarted, ChildTerminated, ChildTimedOut, Code,
    Draft, Effect, EndChild, EventId, EventKind, External, ExternalCancelInitiated, Link, Message,
    Note, Parent, Post, Refusal, RequestId, RunEnding, RunId, Span, State, Time, TurnFault,
    WorkflowStarted, limits,
    planted::{Defect, planted},
};

pub(super) fn start(
    draft: &mut Draft,
    turn: EventId,
    mut spec: ChildSpec,
    run: RunId,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    if spec.queue.is_empty() {
        spec.queue = draft.state.started.queue.clone();
    }
    let initiated = draft.state.next_event;
    if spec.workflow_id.is_empty() && !draft.state.rules().code_gives_ids() {
        spec.workflow_id = default_id(&draft.state, initiated).into();
    }
    size::call(&spec.input, &spec.header)?;
    size::check(spec.memo.values())?;
    let mut started = first_event(draft, &spec, run, initiated);
    if !spec.cron.is_empty() {
        started.delay = Some(wait(draft, &spec.cron)?);
    }
    start::check(&started)
        .map_err(|refusal| Refusal::Command(TurnFault::BadChild, refusal.to_string()))?;
    if draft.state.children.len() >= draft.state.rules().pending_max() {
        let why = "too many children are open".to_owned();
        return Err(Refusal::Command(TurnFault::TooManyChildren, why));
    }
    let begin = Begin {
        run,
        started,
        reuse: spec.reuse,
        link: Link::Child(initiated),
        signals: Vec::new(),
        wire: None,
        now: draft.now,
    };
    draft.record_at(draft.now, ChildInitiated { spec, run, turn }, Vec::new(), wire);
    draft.effect(Effect::Begin(Box::new(start::begin_run(begin))));
    Ok(())
}

/// The id of a child that was given none. Made of what is known at replay too, so that it is the
/// same there; and of which run of the chain begins it, because what an earlier one has begun may
/// still be open: `order/5`, in the second run of the chain `order/2.5`, after a fork
/// `order/5~6b1f0c2e`.
fn default_id(state: &State, initiated: EventId) -> String {
    let own = &state.started;
    let link = own.link.filter(|_| !planted(Defect::ChildIds));
    let link = link.map(|link| format!("{link}.")).unwrap_or_default();
    let branch = state.branch().map(|fork| format!("~{:08x}", fork.uuid & 0xffff_ffff));
    format!("{}/{link}{initiated}{}", own.workflow_id, branch.unwrap_or_default())
}

/// How long a child that runs on a schedule waits for its first turn.
fn wait(draft: &Draft, schedule: &str) -> Result<Span, Refusal> {
    let unread = || {
        let why = format!("the schedule {schedule:?} does not read, or never starts anything");
        Refusal::Command(TurnFault::BadChild, why)
    };
    let next = draft.starts.get(schedule).ok_or_else(unread)?;
    Ok(Span(next.since(draft.now)))
}

fn first_event(draft: &Draft, spec: &ChildSpec, run: RunId, initiated: EventId) -> WorkflowStarted {
    let own = &draft.state.started;
    let (own_run, own_id) = (draft.state.run, own.workflow_id.clone());
    let deadline = [spec.deadline, own.deadline].into_iter().flatten().min();
    WorkflowStarted {
        name: spec.name.clone(),
        workflow_id: spec.workflow_id.clone(),
        queue: spec.queue.clone(),
        rules: own.rules,
        input: spec.input.clone(),
        header: spec.header.clone(),
        run_timeout: spec.run_timeout,
        chain_timeout: spec.chain_timeout,
        turn_timeout: spec.turn_timeout,
        first_run: run,
        original_run: run,
        parent: Some(Parent {
            run: own_run,
            workflow_id: own_id.clone(),
            initiated,
            close: spec.close,
        }),
        root: Some(own.root.clone().unwrap_or((own_run, own_id))),
        tree: Some(draft.state.tree()),
        attempt: 1,
        retry: spec.retry.clone(),
        cron: spec.cron.clone(),
        memo: spec.memo.clone(),
        search: spec.search.clone(),
        deadline,
        kept: spec.kept.clone(),
        ..WorkflowStarted::default()
    }
}

pub(super) fn began(draft: &mut Draft, at: Time, child: EventId) {
    let Some(open) = draft.state.children.get(&child) else { return };
    if open.started.is_some() {
        return;
    }
    let event = ChildStarted {
        child,
        started: EventId(0),
        run: open.run,
        workflow_id: open.workflow_id.clone(),
        name: open.name.clone(),
    };
    draft.record_at(at, event, Vec::new(), None);
    draft.insists = true;
}

pub(super) fn refused(draft: &mut Draft, at: Time, child: EventId, refusal: ChildRefusal) {
    let waiting = |open: &&crate::OpenChild| open.started.is_none();
    let Some(open) = draft.state.children.get(&child).filter(waiting) else { return };
    let (workflow_id, name) = (open.workflow_id.clone(), open.name.clone());
    let event = ChildStartFailed { child, refusal, workflow_id, name, turn: open.turn };
    draft.record_at(at, event, Vec::new(), None);
    draft.insists = true;
}

pub(super) fn end(draft: &mut Draft, at: Time, end: &EndChild) {
    let Some(open) = draft.state.ended(end).cloned() else { return };
    let Some(started) = open.started else {
        // History must show the beginning before the end.
        began(draft, at, end.child);
        return self::end(draft, at, end);
    };
    let (child, run, workflow_id, name) = (end.child, end.run, open.workflow_id, open.name);
    let mut notes = Vec::new();
    let kind: EventKind = match end.ending.clone() {
        RunEnding::Completed(result) => {
            ChildCompleted { child, started, run, workflow_id, name, result }.into()
        }
        RunEnding::Failed(failure, retry) => {
            ChildFailed { child, started, run, workflow_id, name, failure, retry }.into()
        }
        RunEnding::Cancelled(details, cause) => {
            notes.extend(cause.map(Note::Cause));
            ChildCancelled { child, started, run, workflow_id, name, details }.into()
        }
        RunEnding::TimedOut(retry) => {
            ChildTimedOut { child, started, run, workflow_id, name, retry }.into()
        }
        RunEnding::Terminated(cause) => {
            notes.push(Note::Cause(cause));
            ChildTerminated { child, started, run, workflow_id, name }.into()
        }
        RunEnding::Continued(_) => return,
    };
    draft.record_at(at, kind, notes, None);
    draft.insists = true;
}

/// Native rules: the run's code dropped a child.
pub(super) fn cancel(
    draft: &mut Draft,
    turn: EventId,
    child: EventId,
    cause: &Cause,
) -> Result<(), Refusal> {
    let Some(open) = draft.state.children.get(&child).cloned() else {
        let why = format!("no child with number {child} is open");
        return Err(Refusal::Command(TurnFault::BadExternalCancel, why));
    };
    let target = External { workflow_id: open.workflow_id, run: Some(open.run), child_only: true };
    let event = ExternalCancelInitiated { target, reason: cause.to_string(), turn, child };
    let notes = vec![Note::Cause(cause.clone())];
    let initiated = draft.record_at(draft.now, event, notes, None);
    tell(draft, open.run, cause.clone(), Some(initiated));
    Ok(())
}

/// Sends a cancel to a child, wherever its chain has got to.
pub(super) fn tell(draft: &mut Draft, child: RunId, why: Cause, answer: Option<EventId>) {
    let own = (draft.state.run, draft.state.started.workflow_id.clone());
    let message = Message::Cancel(Box::new(Cancel {
        cause: Draft::cause(Code::ParentCancelled, Some(&why)),
        request_id: RequestId::default(),
        external: answer.map(|initiated| (own.0, own.1, initiated)),
        wire: None,
    }));
    let to = Address::Chain(child);
    draft.effect(Effect::Post(Post { to, message, child_of: None, answer }));
}

/// Names that a child may have, by length.
pub(super) fn text_fits(text: &str) -> bool {
    text.len() <= limits::TEXT_MAX
}

#[cfg(test)]
mod tests;
