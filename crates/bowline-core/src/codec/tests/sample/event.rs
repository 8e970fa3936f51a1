//! One event of every kind.

use super::*;

pub(crate) fn kinds() -> Vec<EventKind> {
    let mut kinds = of_run();
    kinds.extend(of_turns());
    kinds.extend(of_activities());
    kinds.extend(of_timers());
    kinds.push(marker());
    kinds.extend(of_children());
    kinds.extend(of_others());
    kinds.extend(of_records());
    kinds
}

fn started() -> WorkflowStarted {
    WorkflowStarted {
        name: "work".into(),
        workflow_id: "w".into(),
        queue: "q".into(),
        rules: Rules::REMOTE,
        input: payload("in"),
        header: fields("h"),
        run_timeout: span(1),
        chain_timeout: span(2),
        chain_expires_at: Some(Time(3)),
        turn_timeout: span(4),
        first_run: run(5),
        original_run: run(6),
        previous_run: Some(run(7)),
        initiator: Some(Initiator::Retry),
        parent: Some(Parent {
            run: run(8),
            workflow_id: "p".into(),
            initiated: id(9),
            close: ParentClose::Terminate,
        }),
        root: Some((run(10), "top".into())),
        identity: "me".into(),
        attempt: 2,
        retry: Some(policy()),
        cron: "@daily".into(),
        delay: span(11),
        last_result: payload("result"),
        last_failure: Some(failure()),
        memo: fields("m"),
        search: search(),
        request_id: "r".into(),
        deadline: Some(Time(12)),
        ladder: Some(RunLadder { terminate_after: Span(Duration::from_secs(13)) }),
        link: Some(14),
        tree: Some(run(15)),
        branch: Some(run(16)),
        kept: blob("kept"),
    }
}

fn of_run() -> Vec<EventKind> {
    let continued = WorkflowContinuedAsNew {
        next_run: run(2),
        turn: id(4),
        name: "work".into(),
        queue: "q".into(),
        input: payload("in"),
        header: fields("h"),
        run_timeout: span(1),
        turn_timeout: span(2),
        delay: span(3),
        initiator: Initiator::Cron,
        failure: Some(failure()),
        last_result: payload("result"),
        memo: fields("m"),
        search: search(),
    };
    let (retry, next_run) = (RetryState::InProgress, Some(run(2)));
    let external = Some((run(3), WorkflowId::from("other"), id(5)));
    vec![
        started().into(),
        WorkflowCompleted { result: payload("out"), turn: id(4), next_run }.into(),
        WorkflowFailed { failure: failure(), turn: id(4), retry, next_run }.into(),
        WorkflowTimedOut { retry, next_run }.into(),
        WorkflowCancelled { details: payload("done"), turn: id(4) }.into(),
        WorkflowTerminated { cause: cause(), details: payload("why") }.into(),
        continued.into(),
        WorkflowCancelRequested {
            cause: cause(),
            request_id: "r".into(),
            external: external.clone(),
        }
        .into(),
        WorkflowSignalled {
            name: "go".into(),
            input: payload("in"),
            header: fields("h"),
            identity: "me".into(),
            request_id: "r".into(),
            external,
        }
        .into(),
    ]
}

fn of_turns() -> Vec<EventKind> {
    let (scheduled, started) = (id(2), id(3));
    let timeout = Timeout::StartToClose;
    vec![
        TurnScheduled { queue: "q".into(), sticky: true, start_to_close: span(10), attempt: 3 }
            .into(),
        TurnStarted {
            scheduled,
            worker: "me".into(),
            request_id: "r".into(),
            suggest_continue: true,
            history_bytes: 999,
        }
        .into(),
        TurnCompleted {
            scheduled,
            started,
            worker: "me".into(),
            sdk_metadata: blob("sdk"),
            metering: blob("meter"),
            worker_version: blob("version"),
            deployment: blob("deployment"),
        }
        .into(),
        TurnFailed {
            scheduled,
            started,
            fault: TurnFault::TooManyWaiting,
            failure: Some(failure()),
            worker: "me".into(),
            forked: Some((run(1), run(2))),
        }
        .into(),
        TurnTimedOut { scheduled, started, timeout }.into(),
    ]
}

fn of_activities() -> Vec<EventKind> {
    let (activity, started, turn) = (id(5), id(6), id(4));
    let worker = || Identity::from("me");
    let (retry, last_failure) = (RetryState::AttemptsUsed, Some(failure()));
    vec![
        ActivityScheduled { spec: spec(), turn }.into(),
        ActivityStarted {
            activity,
            worker: worker(),
            request_id: "r".into(),
            attempt: 2,
            last_failure: last_failure.clone(),
            at: Time(77),
        }
        .into(),
        ActivityCompleted { activity, started, result: payload("out"), worker: worker() }.into(),
        ActivityFailed { activity, started, failure: failure(), retry, worker: worker() }.into(),
        ActivityTimedOut {
            activity,
            started,
            timeout: Timeout::Heartbeat,
            retry,
            last_failure,
            heartbeat: payload("half"),
        }
        .into(),
        ActivityCancelRequested { activity, turn }.into(),
        ActivityCancelled {
            activity,
            started,
            requested: id(7),
            details: payload("left"),
            worker: worker(),
        }
        .into(),
    ]
}

fn of_timers() -> Vec<EventKind> {
    let (timer, turn) = (id(5), id(4));
    vec![
        TimerStarted { id: "t".into(), after: Span(Duration::from_secs(5)), turn }.into(),
        TimerFired { timer, id: "t".into() }.into(),
        TimerCancelled { timer, id: "t".into(), turn, worker: "me".into() }.into(),
    ]
}

fn marker() -> EventKind {
    MarkerRecorded {
        name: "m".into(),
        details: fields("d"),
        header: fields("h"),
        failure: Some(failure()),
        turn: id(4),
    }
    .into()
}

fn child_spec() -> ChildSpec {
    ChildSpec {
        name: "child".into(),
        workflow_id: "c".into(),
        queue: "q".into(),
        input: payload("in"),
        header: fields("h"),
        run_timeout: span(1),
        chain_timeout: span(2),
        turn_timeout: span(3),
        close: ParentClose::Abandon,
        reuse: Reuse::AllowUnlessCompleted,
        retry: Some(policy()),
        cron: "@daily".into(),
        memo: fields("m"),
        search: search(),
        deadline: Some(Time(4)),
        kept: blob("kept"),
    }
}

fn of_children() -> Vec<EventKind> {
    let (child, started, run, turn) = (id(5), id(6), run(9), id(4));
    let (workflow_id, name) = (|| WorkflowId::from("c"), || Name::from("child"));
    let refusal = ChildRefusal::NoNamespace;
    let retry = RetryState::NoPolicy;
    let (result, details, failure) = (payload("out"), payload("left"), failure());
    vec![
        ChildInitiated { spec: child_spec(), run, turn }.into(),
        ChildStartFailed { child, refusal, workflow_id: workflow_id(), name: name(), turn }.into(),
        ChildStarted { child, started, run, workflow_id: workflow_id(), name: name() }.into(),
        ChildCompleted { child, started, run, workflow_id: workflow_id(), name: name(), result }
            .into(),
        ChildFailed {
            child,
            started,
            run,
            workflow_id: workflow_id(),
            name: name(),
            failure,
            retry,
        }
        .into(),
        ChildCancelled { child, started, run, workflow_id: workflow_id(), name: name(), details }
            .into(),
        ChildTimedOut { child, started, run, workflow_id: workflow_id(), name: name(), retry }
            .into(),
        ChildTerminated { child, started, run, workflow_id: workflow_id(), name: name() }.into(),
    ]
}

fn of_others() -> Vec<EventKind> {
    let (initiated, turn, child, target) = (id(5), id(4), id(3), external);
    let refusal = ExternalRefusal::NoNamespace;
    let (name, input, header) = (Name::from("go"), payload("in"), fields("h"));
    vec![
        ExternalCancelInitiated { target: target(), reason: "stop".into(), turn, child }.into(),
        ExternalCancelRequested { initiated, target: target() }.into(),
        ExternalCancelFailed { initiated, target: target(), refusal, turn }.into(),
        ExternalSignalInitiated { target: target(), name, input, header, turn }.into(),
        ExternalSignalled { initiated, target: target() }.into(),
        ExternalSignalFailed { initiated, target: target(), refusal, turn }.into(),
    ]
}

fn of_records() -> Vec<EventKind> {
    let turn = id(4);
    let searched = search().into_iter().map(|(key, field)| (key, Some(field)));
    let gone = [("gone".to_owned(), None)];
    let kept = [("kept".to_owned(), payload("1"))];
    vec![
        SearchUpserted { changes: searched.chain(gone).collect(), turn }.into(),
        MemoModified {
            changes: kept.into_iter().chain([("gone".to_owned(), None)]).collect(),
            turn,
        }
        .into(),
        UpdateAdmitted { request: request() }.into(),
        UpdateAccepted { request: request(), message_id: "u/1".into(), sequencing: id(2), turn }
            .into(),
        UpdateCompleted {
            id: "u".into(),
            name: "raise".into(),
            accepted: id(5),
            answer: UpdateAnswer::Failed(failure()),
            turn,
        }
        .into(),
    ]
}
