//! One message of every kind; more where a kind has kinds of its own.

use super::*;

/// The name of a message. A new kind does not compile until it has one, and then has no golden
/// file.
pub(crate) fn name(message: &Message) -> String {
    match message {
        Message::Signal(_) => "Signal".into(),
        Message::Cancel(cancel) if cancel.cause.ladders.is_some() => "Cancel-Pushed".into(),
        Message::Cancel(_) => "Cancel".into(),
        Message::Terminate(_) => "Terminate".into(),
        Message::EndActivity(end) => match end.outcome {
            Outcome::Completed(_) => "EndActivity-Completed".into(),
            Outcome::Failed(_) => "EndActivity-Failed".into(),
            Outcome::TimedOut(_) => "EndActivity-TimedOut".into(),
            Outcome::Cancelled(..) => "EndActivity-Cancelled".into(),
        },
        Message::SkipActivities(_) => "SkipActivities".into(),
        Message::FireTimer(_) => "FireTimer".into(),
        Message::TimeOut(alarm) => match alarm {
            RunAlarm::Delay => "TimeOut-Delay".into(),
            RunAlarm::Run => "TimeOut-Run".into(),
            RunAlarm::Deadline => "TimeOut-Deadline".into(),
            RunAlarm::Ladder => "TimeOut-Ladder".into(),
            RunAlarm::Turn(..) => "TimeOut-Turn".into(),
        },
        Message::ChildBegan(_) => "ChildBegan".into(),
        Message::RefuseChild(..) => "RefuseChild".into(),
        Message::EndChild(end) => match end.ending {
            RunEnding::Completed(_) => "EndChild-Completed".into(),
            RunEnding::Failed(..) => "EndChild-Failed".into(),
            RunEnding::Cancelled(..) => "EndChild-Cancelled".into(),
            RunEnding::TimedOut(_) => "EndChild-TimedOut".into(),
            RunEnding::Terminated(_) => "EndChild-Terminated".into(),
            RunEnding::Continued(_) => "EndChild-Continued".into(),
        },
        Message::ExternalDone(_) => "ExternalDone".into(),
        Message::RefuseExternal(..) => "RefuseExternal".into(),
        Message::Update(_) => "Update".into(),
        Message::CancelOne(..) => "CancelOne".into(),
        Message::Wake => "Wake".into(),
    }
}

/// How many names there are above.
pub(crate) const COUNT: usize = 28;

pub(crate) fn messages() -> Vec<Message> {
    let signal = Signal {
        name: "go".into(),
        input: payload("in"),
        header: fields("h"),
        identity: "me".into(),
        request_id: "r".into(),
        external: Some((run(3), "other".into(), id(5))),
        wire: blob("sent"),
    };
    let cancel = Cancel {
        cause: cause(),
        request_id: "r".into(),
        external: Some((run(3), "other".into(), id(5))),
        wire: blob("sent"),
    };
    let pushing = Cancel { cause: pushed(), ..cancel.clone() };
    let terminate = Terminate { cause: cause(), details: payload("why"), wire: blob("sent") };
    let mut messages = vec![
        Message::Signal(Box::new(signal)),
        Message::Cancel(Box::new(cancel)),
        Message::Cancel(Box::new(pushing)),
        Message::Terminate(Box::new(terminate)),
        Message::SkipActivities(ranges()),
        Message::FireTimer(id(5)),
        Message::ChildBegan(id(5)),
        Message::RefuseChild(id(5), ChildRefusal::NoNamespace),
        Message::ExternalDone(id(5)),
        Message::RefuseExternal(id(5), ExternalRefusal::NoNamespace),
        Message::Update(Box::new(request())),
        Message::CancelOne(id(5), cause()),
        Message::Wake,
    ];
    messages.extend(row::outcomes().into_iter().map(ended));
    messages.extend(endings().into_iter().map(|ending| {
        Message::EndChild(Box::new(EndChild { child: id(5), run: run(9), ending, first: None }))
    }));
    let alarms = [
        RunAlarm::Delay,
        RunAlarm::Run,
        RunAlarm::Deadline,
        RunAlarm::Ladder,
        RunAlarm::Turn(id(5), 2),
    ];
    messages.extend(alarms.into_iter().map(Message::TimeOut));
    messages
}

fn ended(outcome: Outcome) -> Message {
    Message::EndActivity(Box::new(EndActivity {
        activity: id(5),
        attempt: 2,
        started_at: Some(Time(6)),
        worker: "me".into(),
        last_failure: Some(failure()),
        outcome,
        retry: RetryState::AttemptsUsed,
        heartbeat: payload("half"),
    }))
}

fn endings() -> [RunEnding; 6] {
    [
        RunEnding::Completed(payload("out")),
        RunEnding::Failed(failure(), RetryState::NonRetryable),
        RunEnding::Cancelled(payload("left"), Some(cause())),
        RunEnding::TimedOut(RetryState::Timeout),
        RunEnding::Terminated(cause()),
        RunEnding::Continued(run(8)),
    ]
}
