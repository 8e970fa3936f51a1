//! A run begins.

use super::{child::text_fits, size};
use crate::{
    AlarmKind, Birth, Blob, Decided, Draft, Effect, Event, Fields, Link, Number, Payload, Refusal,
    Reuse, RunAlarm, RunId, RunLadder, Signal, State, Time, Token, TurnRecord, WorkflowSignalled,
    WorkflowStarted, decide, decide::turn::StartTurn, limits,
};

/// Everything that a beginning needs.
#[derive(Clone, Debug)]
pub struct Begin {
    /// The new run.
    pub run: RunId,
    /// What it is started as.
    pub started: WorkflowStarted,
    /// Whether it may take a workflow id that was used before.
    pub reuse: Reuse,
    /// What it is to the run that begins it.
    pub link: Link,
    /// Signals that come with it, ahead of its first turn.
    pub signals: Vec<Signal>,
    /// What the door wants to have stored with the first event.
    pub wire: Option<Blob>,
    /// Now.
    pub now: Time,
}

/// Whether a run may be started so.
///
/// # Errors
/// Names what is not acceptable, and why.
pub fn check(started: &WorkflowStarted) -> Result<(), Refusal> {
    let bad = |what, why: &str| Err(Refusal::Invalid(what, why.to_owned()));
    let texts = [
        ("the workflow's name", started.name.as_str()),
        ("the workflow id", started.workflow_id.as_str()),
        ("the queue", started.queue.as_str()),
    ];
    for (what, text) in texts {
        if text.is_empty() {
            return bad(what, "it is empty");
        }
        if !text_fits(text) {
            return bad(what, "it is longer than 1,000 bytes");
        }
    }
    if started.input.as_ref().map_or(0, Payload::len) > limits::PAYLOAD_MAX {
        return bad("the input", "it is larger than 2 MiB");
    }
    let memo: usize = started.memo.values().map(Payload::len).sum();
    if memo > limits::PAYLOAD_MAX {
        return bad("the memo", "it is larger than 2 MiB");
    }
    let spans = [
        ("the run timeout", started.run_timeout),
        ("the chain timeout", started.chain_timeout),
        ("the turn timeout", started.turn_timeout),
        ("the delay", started.delay),
    ];
    for (what, span) in spans {
        if span.is_some_and(|span| span.0 > limits::SPAN_MAX) {
            return bad(what, "it is longer than a hundred years");
        }
    }
    if let Err((_, fault)) = size::search(&started.search) {
        return bad("the set of search attributes", fault);
    }
    if let Some(fault) = started.retry.as_ref().and_then(|policy| policy.fault()) {
        return bad("the retry policy", fault);
    }
    if !text_fits(&started.cron) {
        return bad("the schedule", "it is longer than 1,000 bytes");
    }
    Ok(())
}

/// The first events of a run. The caller has [checked](check) what it is started as.
pub fn begin_run(begin: Begin) -> Birth {
    begin_run_with(begin, None).0
}

/// The same; a worker that is there already may have the first turn at once. It gets none if the
/// run waits before its first turn, or has no remote ones.
pub fn begin_run_with(begin: Begin, worker: Option<StartTurn>) -> (Birth, Option<Token>) {
    let Begin { run, mut started, reuse, link, signals, wire, now } = begin;
    let turns_wait = started.rules.turns_wait();
    if started.attempt == 0 {
        started.attempt = 1;
    }
    if started.chain_expires_at.is_none() {
        started.chain_expires_at = started.chain_timeout.map(|span| now.after(span.0));
    }
    let state = State::new(run);
    let mut draft = Draft::new(state, TurnRecord::default(), Number(0), now, run);
    draft.record_at(now, started, Vec::new(), wire);
    signals.into_iter().for_each(|signal| decide_signal(&mut draft, signal));
    let delayed = draft.state.delayed;
    draft.record.begins_at = delayed.then_some(draft.state.since);
    if turns_wait && !delayed {
        draft.insists = true;
        decide::turn::schedule(&mut draft);
    }
    let token = worker.and_then(|worker| draft.start_turn(worker).ok());
    arm(&mut draft);
    let wake = !turns_wait && !delayed;
    (birth(draft, Vec::new(), wake, reuse, link), token)
}

/// What rings for the run itself while it is open. Whoever closes it takes all of them back.
pub(super) fn alarms(state: &State) -> impl Iterator<Item = (Time, RunAlarm)> {
    let own = &state.started;
    let delay = own.delay.filter(|_| state.delayed);
    let delay = delay.map(|delay| (state.started_at.after(delay.0), RunAlarm::Delay));
    let run_ends = own.run_timeout.map(|span| state.since.after(span.0));
    let ends = [run_ends, own.chain_expires_at].into_iter().flatten().min();
    let ends = ends.map(|due| (due, RunAlarm::Run));
    let deadline = own.deadline.map(|due| (due, RunAlarm::Deadline));
    let ladder = run_ladder(state).zip(state.cancel_at);
    let ladder = ladder.map(|(own, at)| (at.after(own.terminate_after.0), RunAlarm::Ladder));
    [delay, ends, deadline, ladder].into_iter().flatten()
}

/// What follows if the run stays open after it was asked to cancel: as the request says, or else
/// as the run was started with.
pub(super) fn run_ladder(state: &State) -> Option<RunLadder> {
    let asked = state.cancel.as_ref().and_then(|(_, cause)| cause.run_ladder());
    asked.or(state.started.ladder)
}

/// Sets every alarm of the run itself.
pub(super) fn arm(draft: &mut Draft) {
    let alarms: Vec<_> = alarms(&draft.state).collect();
    alarms.into_iter().for_each(|(due, alarm)| draft.arm_run(due, alarm));
}

/// Takes every alarm of the run itself back. One that has rung already is not there any more, and
/// what a later request has hastened in this very decision is not set at all.
pub(super) fn disarm(draft: &mut Draft) {
    let ladder = AlarmKind::Run(RunAlarm::Ladder);
    draft.effects.retain(|set| !matches!(set, Effect::Arm(alarm) if alarm.what == ladder));
    let alarms: Vec<_> = alarms(&draft.state).collect();
    alarms.into_iter().for_each(|(due, alarm)| draft.disarm_run(due, alarm));
}

/// A draft of a run that does not exist yet becomes its beginning: `prefix`, then the draft's own
/// events.
pub(super) fn birth(
    draft: Draft,
    prefix: Vec<Event>,
    wake: bool,
    reuse: Reuse,
    link: Link,
) -> Birth {
    let Decided { state, record, events, effects, .. } = draft.finish();
    let (mut alarms, mut activities) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Arm(alarm) => alarms.push(alarm),
            Effect::QueueActivity(activity, spec) => activities.push((activity, spec)),
            other => unreachable!("a beginning only arms and queues, not {other:?}"),
        }
    }
    let events = prefix.into_iter().chain(events).collect();
    Birth { run: state.run, events, record, alarms, activities, wake, reuse, link }
}

fn decide_signal(draft: &mut Draft, signal: Signal) {
    let event = WorkflowSignalled {
        name: signal.name,
        input: signal.input,
        header: signal.header,
        identity: signal.identity,
        request_id: signal.request_id,
        external: signal.external,
    };
    draft.record_at(draft.now, event, Vec::new(), signal.wire);
}

/// A run that goes on where another one closed: what is not said anew is as it was.
pub(super) fn follow(draft: &Draft, next: RunId) -> WorkflowStarted {
    let own = &draft.state.started;
    WorkflowStarted {
        input: None,
        header: Fields::new(),
        previous_run: Some(draft.state.run),
        link: Some(own.link.unwrap_or(1).saturating_add(1)),
        branch: draft.state.branch(),
        original_run: next,
        memo: draft.state.memo.clone(),
        search: draft.state.search.clone(),
        delay: None,
        request_id: Default::default(),
        last_failure: None,
        ..(**own).clone()
    }
}

#[cfg(test)]
mod tests;
