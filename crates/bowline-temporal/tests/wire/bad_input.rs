//! Wrong requests: each gets the status, and the details, that SDKs know what to do with; and
//! nothing is changed by any of them.

use std::time::Duration;

use temporalio_protos::temporal::api::{
    command::v1::Command,
    common::v1::{Callback, Payload, Payloads},
    enums::v1::QueryResultType,
    query::v1::WorkflowQuery,
    workflow::v1::{OnConflictOptions, VersioningOverride},
    workflowservice::v1::*,
};
use tonic::{Code, Request, Status};

use crate::world::{SPACE, World, complete, details, kinds, named, schedule, start};

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, Status>, code: Code, detail: &[&str]) {
    let status = answer.expect_err("it is wrong");
    assert_eq!(
        (status.code(), &details(&status)[..]),
        (code, &detail.iter().map(|d| (*d).to_owned()).collect::<Vec<_>>()[..]),
        "{status:?}"
    );
}

/// A worker that answers twice, late, with a token of another attempt, or with the wrong kind of
/// token is told that there is no such thing.
#[tokio::test]
async fn answers_that_nobody_waits_for_are_not_found() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![schedule("a")]).await.expect("it is taken");
    refused(
        world.answer(SPACE, &turn, vec![complete()]).await,
        Code::NotFound,
        &["NotFoundFailure"],
    );
    let taken = world.activity(SPACE).await;
    let done = |token: &[u8]| RespondActivityTaskCompletedRequest {
        namespace: SPACE.into(),
        task_token: token.to_vec(),
        ..Default::default()
    };
    let before = world.store.dump();
    let not_a_turn = PollWorkflowTaskQueueResponse {
        task_token: taken.task_token.clone(),
        ..Default::default()
    };
    let wrong = world.answer(SPACE, &not_a_turn, vec![complete()]).await;
    refused(wrong, Code::NotFound, &["NotFoundFailure"]);
    let wrong: Result<RespondActivityTaskCompletedResponse, _> =
        world.call(done(&turn.task_token)).await;
    refused(wrong, Code::NotFound, &["NotFoundFailure"]);
    // A token of an attempt that is not there yet.
    let read = bowline_core::Token::from_blob(&taken.task_token).expect("one of ours");
    let later = bowline_core::Token { attempt: read.attempt + 1, ..read }.to_blob();
    let wrong: Result<RespondActivityTaskCompletedResponse, _> =
        world.call(done(later.as_slice())).await;
    refused(wrong, Code::NotFound, &["NotFoundFailure"]);
    for garbage in [&b""[..], b"garbage", &taken.task_token[1..]] {
        let wrong: Result<RespondActivityTaskCompletedResponse, _> =
            world.call(done(garbage)).await;
        refused(wrong, Code::InvalidArgument, &[]);
    }
    assert_eq!(world.store.dump(), before, "nothing is changed");
    let _: RespondActivityTaskCompletedResponse =
        world.call(done(&taken.task_token)).await.expect("it is its own");
    let twice: Result<RespondActivityTaskCompletedResponse, _> =
        world.call(done(&taken.task_token)).await;
    refused(twice, Code::NotFound, &["NotFoundFailure"]);
}

/// What the SDKs read beside the code: who has the workflow id, and why a query failed.
#[tokio::test]
async fn details_say_what_programs_want_to_know() {
    let world = World::new().await;
    let run = world.start(start(SPACE, "w")).await;
    let again = StartWorkflowExecutionRequest { request_id: "other".into(), ..start(SPACE, "w") };
    let begun: Result<StartWorkflowExecutionResponse, _> = world.call(again).await;
    let status = begun.expect_err("the id is taken");
    assert_eq!(status.code(), Code::AlreadyExists);
    assert_eq!(details(&status), ["WorkflowExecutionAlreadyStartedFailure"]);
    let text = String::from_utf8_lossy(status.details()).into_owned();
    assert!(text.contains(&run) && text.contains("start w"), "{text}");
    let signal = SignalWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(named("nobody")),
        signal_name: "s".into(),
        ..Default::default()
    };
    let sent: Result<SignalWorkflowExecutionResponse, _> = world.call(signal).await;
    refused(sent, Code::NotFound, &["NotFoundFailure"]);
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, Vec::new()).await.expect("it is taken");
    let query = WorkflowQuery { query_type: "q".into(), ..Default::default() };
    let ask = QueryWorkflowRequest {
        namespace: SPACE.into(),
        execution: Some(named("w")),
        query: Some(query),
        ..Default::default()
    };
    let fails = async {
        let asked = world.turn(SPACE).await;
        let failed = RespondQueryTaskCompletedRequest {
            namespace: SPACE.into(),
            task_token: asked.task_token,
            completed_type: QueryResultType::Failed.into(),
            error_message: "no".into(),
            ..Default::default()
        };
        let _: RespondQueryTaskCompletedResponse = world.call(failed).await.expect("it waits");
    };
    let (asked, ()) = tokio::join!(world.call::<_, QueryWorkflowResponse>(ask), fails);
    refused(asked, Code::InvalidArgument, &["QueryFailedFailure"]);
}

/// Nothing is done for a caller whose deadline is over.
#[tokio::test]
async fn a_deadline_in_the_past_changes_nothing() {
    let world = World::new().await;
    let before = world.store.dump();
    let mut late = Request::new(start(SPACE, "w"));
    late.set_timeout(Duration::ZERO);
    let begun: Result<tonic::Response<StartWorkflowExecutionResponse>, _> = world.send(late).await;
    let code = begun.expect_err("nobody waits").code();
    // The connection may notice it first, on this side.
    assert!([Code::DeadlineExceeded, Code::Cancelled].contains(&code), "{code:?}");
    assert_eq!(world.store.dump(), before, "nothing is changed");
}

/// Whoever asks for what a start cannot do here is told so, and not given something else.
#[tokio::test]
async fn what_is_not_built_is_refused_and_not_ignored() {
    let world = World::new().await;
    let before = world.store.dump();
    let callbacks = StartWorkflowExecutionRequest {
        completion_callbacks: vec![Callback::default()],
        ..start(SPACE, "w")
    };
    let versioned = StartWorkflowExecutionRequest {
        versioning_override: Some(VersioningOverride::default()),
        ..start(SPACE, "w")
    };
    let attached = StartWorkflowExecutionRequest {
        on_conflict_options: Some(OnConflictOptions::default()),
        ..start(SPACE, "w")
    };
    for request in [callbacks, versioned, attached] {
        let begun: Result<StartWorkflowExecutionResponse, _> = world.call(request).await;
        refused(begun, Code::InvalidArgument, &[]);
    }
    assert_eq!(world.store.dump(), before, "nothing is changed");
}

/// What is too large is refused before it is read, whether or not it was packed small; in words
/// that SDKs compare, or they would send it again.
#[tokio::test]
async fn what_is_too_large_is_refused() {
    let world = World::new().await;
    let before = world.store.dump();
    let sized = |bytes: usize| {
        let payload = Payload { data: vec![0; bytes], ..Default::default() };
        let input = Some(Payloads { payloads: vec![payload] });
        StartWorkflowExecutionRequest { input, ..start(SPACE, "w") }
    };
    let begun: Result<StartWorkflowExecutionResponse, _> =
        world.call(sized(2 * 1024 * 1024 + 1)).await;
    refused(begun, Code::InvalidArgument, &[]);
    let begun: Result<StartWorkflowExecutionResponse, _> =
        world.call(sized(17 * 1024 * 1024)).await;
    let too_large = begun.expect_err("it is too large");
    assert_eq!(too_large.code(), Code::ResourceExhausted, "{too_large}");
    assert!(too_large.message().starts_with("grpc: received message larger than max"));
    let bomb = world.pack(sized(24 * 1024 * 1024)).await.expect_err("it is too large");
    assert_eq!(bomb.code(), Code::ResourceExhausted, "{bomb}");
    let says = "grpc: received message after decompression larger than max";
    assert!(bomb.message().starts_with(says), "{bomb}");
    assert_eq!(world.store.dump(), before, "nothing is changed");
}

/// Commands behind the end of their run are no answer at all: the turn stays out.
#[tokio::test]
async fn an_answer_that_goes_on_after_its_end_is_refused() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let before = world.store.dump();
    let after_the_end = world.answer(SPACE, &turn, vec![complete(), schedule("a")]).await;
    refused(after_the_end, Code::InvalidArgument, &[]);
    assert_eq!(world.store.dump(), before, "nothing is changed");
    world.answer(SPACE, &turn, vec![complete()]).await.expect("the turn is still out");
}

/// A command of a kind that nobody knows fails the turn, and nothing beside it is taken.
#[tokio::test]
async fn an_unknown_command_takes_nothing_of_its_answer() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let unknown = Command { command_type: 99, ..Default::default() };
    let answered = world.answer(SPACE, &turn, vec![schedule("a"), unknown]).await;
    refused(answered, Code::InvalidArgument, &[]);
    let told = kinds(&world.history(SPACE, "w").await);
    let turn = ["WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED", "WORKFLOW_TASK_FAILED"];
    assert_eq!(told[1..], turn, "nothing of it is done");
}
