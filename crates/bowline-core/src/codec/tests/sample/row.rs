//! What stands on rows beside history: activities, turn records, tokens, snapshots.

use super::*;

pub(crate) fn spec() -> ActivitySpec {
    ActivitySpec {
        id: "a".into(),
        name: "act".into(),
        queue: "q".into(),
        input: payload("in"),
        header: fields("h"),
        timeouts: Timeouts {
            schedule_to_start: span(1),
            start_to_close: span(2),
            schedule_to_close: span(3),
            heartbeat: span(4),
        },
        retry: Some(policy()),
        ladder: Ladder {
            grace: Span(Duration::from_secs(5)),
            step: Span(Duration::from_secs(6)),
            detach: true,
        },
        remote: true,
        deadline: Some(Time(7)),
        priority: blob("urgent"),
    }
}

pub(super) fn outcomes() -> [Outcome; 4] {
    [
        Outcome::Completed(payload("out")),
        Outcome::Failed(failure()),
        Outcome::TimedOut(Timeout::ScheduleToClose),
        Outcome::Cancelled(cause(), Rung::Kill, payload("left")),
    ]
}

/// The changing half of an activity's row, in each of its places.
pub(crate) fn activities() -> [(&'static str, ActivityLive); 4] {
    let seen = |attempt, epoch: Option<u64>, sight| UnseenAttempt {
        attempt,
        epoch: epoch.map(Epoch),
        worker: "it".into(),
        since: Time(12),
        sight,
    };
    let unseen = Unseen::new(vec![
        seen(1, Some(7), Sight::RunsOn),
        seen(2, None, Sight::Silent),
        seen(3, Some(8), Sight::Presumed(Time(13))),
        seen(4, Some(9), Sight::SaidGone("ops".into(), Time(14))),
    ]);
    let live = |place| ActivityLive {
        scheduled_at: Time(1),
        attempt: 3,
        returned: 1,
        place,
        cancel: Some(CancelRecord {
            cause: cause(),
            decided_at: Time(2),
            delivered_at: Some(Time(3)),
            observed_at: Some(Time(4)),
            stopped_at: Some(Time(5)),
            rung: Some(Rung::Abort),
        }),
        last_failure: Some(failure()),
        last_worker: "before".into(),
        heartbeat: payload("half"),
        unseen: unseen.clone(),
        last: Some((Time(15), Time(16))),
    };
    let start = |holder| Start {
        at: Time(6),
        holder,
        worker: "me".into(),
        heard_at: Time(7),
        due: Some(Time(5)),
    };
    let fence = Fence { epoch: Epoch(8), counter: 9 };
    let remote = Holder::Remote { token: Blob::from(&b"token"[..]), control: "control".into() };
    let [outcome, late, ..] = outcomes();
    let retry = RetryState::CancelRequested;
    let end = End { at: Time(10), outcome, retry, late: Some(late) };
    [
        ("Live-Queued", live(Place::Queued { due: Time(11) })),
        ("Live-Native", live(Place::Started(start(Holder::Native(fence))))),
        ("Live-Remote", live(Place::Started(start(remote)))),
        ("Live-Ended", live(Place::Ended(Box::new(end)))),
    ]
}

/// Turn records: of a turn that is out, of one that waits, and of a native run.
pub(crate) fn records() -> [(&'static str, TurnRecord); 4] {
    let start = TurnStart {
        event: id(6),
        at: Time(7),
        worker: "me".into(),
        request_id: "r".into(),
        control: "control".into(),
        suggest_continue: true,
        history_bytes: 999,
        wire: blob("sent"),
    };
    let turn = |started| Turn {
        attempt: 2,
        scheduled: id(5),
        scheduled_at: Time(3),
        first_scheduled_at: Time(2),
        queue: "q".into(),
        sticky: true,
        provisional: true,
        speculative: true,
        started,
        deadline: Some(Time(8)),
        heartbeat_since: Some(Time(1)),
    };
    let record = |started| TurnRecord {
        turn: Some(turn(started)),
        sticky: Some(Sticky { queue: "own".into(), patience: Span(Duration::from_secs(10)) }),
        close_refused: true,
        admitted: vec![request()],
        serial: 12,
        skipped: None,
        begins_at: None,
        unread: None,
    };
    let delayed = TurnRecord { begins_at: Some(Time(9)), ..TurnRecord::default() };
    let unread = Some(UnreadSize { count: 10, bytes: 11 });
    let native = TurnRecord { skipped: Some(ranges()), unread, ..TurnRecord::default() };
    [
        ("TurnRecord-Waiting", record(None)),
        ("TurnRecord-Out", record(Some(start))),
        ("TurnRecord-Native", native),
        ("TurnRecord-Delayed", delayed),
    ]
}

pub(crate) fn token() -> Token {
    Token { run: run(1), scheduled: id(5), attempt: 2, started: id(6), serial: 7 }
}

/// The state of a run with something of everything.
pub(crate) fn state() -> State {
    let mut state = State::of(run(1), &events()[..1]);
    state.next_event = id(50);
    state.time = Time(51);
    state.status = Status::Cancelling;
    state.cancel = Some((id(8), cause()));
    state.cancel_at = Some(Time(8));
    state.last_started = id(3);
    state.last_completed = id(4);
    state.turn_scheduled = Some(id(48));
    state.turn_started = Some(id(49));
    for event in events().iter().filter(|event| opens(&event.kind)) {
        state.evolve(&Event { notes: Vec::new(), wire: None, ..event.clone() });
    }
    state.skipped = 3;
    state.cancelled = ranges();
    state.detached = ranges();
    state
}

pub(in super::super) fn space() -> Space {
    Space { namespace: Namespace(7), id: 12, kept: span(60), wire: blob("config") }
}

fn opens(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ActivityScheduled(_)
            | EventKind::TimerStarted(_)
            | EventKind::ChildInitiated(_)
            | EventKind::ExternalCancelInitiated(_)
            | EventKind::ExternalSignalInitiated(_)
            | EventKind::UpdateAccepted(_)
            | EventKind::WorkflowSignalled(_)
    )
}
