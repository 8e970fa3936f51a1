//! What is asked of a run that cannot answer: it is refused at once, in the words that SDKs read.

use temporalio_protos::temporal::api::{
    common::v1::WorkflowExecution, query::v1::WorkflowQuery, workflowservice::v1::*,
};
use tonic::{Code, Status, client::Grpc};
use tonic_prost::ProstCodec;

use crate::world::{SPACE, World, complete, details, kinds, named, schedule, seconds, start};

async fn query(world: &World, id: &str) -> Result<QueryWorkflowResponse, Status> {
    let asked = QueryWorkflowRequest {
        namespace: SPACE.into(),
        execution: Some(named(id)),
        query: Some(WorkflowQuery { query_type: "state".into(), ..Default::default() }),
        ..Default::default()
    };
    world.call(asked).await
}

fn is_not_ready(answer: Result<QueryWorkflowResponse, Status>) {
    let status = answer.expect_err("it cannot be answered");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    assert_eq!(details(&status), ["WorkflowNotReadyFailure"]);
}

#[tokio::test]
async fn a_run_whose_turns_fail_again_and_again_is_not_asked() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    for attempt in 1..=2 {
        let turn = world.turn(SPACE).await;
        assert_eq!(turn.attempt, attempt);
        world.fail(&turn).await;
    }
    is_not_ready(query(&world, "w").await);
    // A turn that is answered makes it ready again.
    let turn = world.turn(SPACE).await;
    let (answer, ()) = tokio::join!(query(&world, "other"), async {
        world.answer(SPACE, &turn, vec![complete()]).await.expect("it is taken");
    });
    assert_eq!(answer.expect_err("there is none").code(), Code::NotFound);
}

/// The question was there first, and would wait for a turn that does not come about.
#[tokio::test]
async fn who_asked_before_hears_that_turns_fail_again_and_again() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let (answer, ()) = tokio::join!(query(&world, "w"), async {
        for _ in 1..=2 {
            let turn = world.turn(SPACE).await;
            world.fail(&turn).await;
        }
    });
    is_not_ready(answer);
}

#[tokio::test]
async fn a_run_that_waits_before_its_first_turn_is_not_asked() {
    let world = World::new().await;
    let delayed = StartWorkflowExecutionRequest {
        workflow_start_delay: Some(seconds(3600)),
        ..start(SPACE, "w")
    };
    world.start(delayed).await;
    is_not_ready(query(&world, "w").await);
}

#[tokio::test]
async fn a_run_that_was_closed_before_its_first_turn_is_not_asked() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    world.terminate("w").await;
    is_not_ready(query(&world, "w").await);
}

/// The run is another workflow's: who meant that one would not want it to be signalled.
#[tokio::test]
async fn a_run_is_signalled_by_its_own_workflow_id_only() {
    let world = World::new().await;
    let run = world.start(start(SPACE, "w")).await;
    let signal = |id: &str| SignalWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(WorkflowExecution { workflow_id: id.into(), run_id: run.clone() }),
        signal_name: "hello".into(),
        ..Default::default()
    };
    let refused: Result<SignalWorkflowExecutionResponse, _> = world.call(signal("x")).await;
    let status = refused.expect_err("it is not of that workflow");
    assert_eq!((status.code(), details(&status)), (Code::NotFound, vec!["NotFoundFailure".into()]));
    let _: SignalWorkflowExecutionResponse = world.call(signal("w")).await.expect("it is taken");
    let events = world.history(SPACE, "w").await;
    let signals = kinds(&events).iter().filter(|k| **k == "WORKFLOW_EXECUTION_SIGNALED").count();
    assert_eq!(signals, 1);
}

#[derive(Clone, PartialEq, prost::Message)]
struct HealthCheckRequest {
    #[prost(string, tag = "1")]
    service: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HealthCheckResponse {
    #[prost(int32, tag = "1")]
    status: i32,
}

async fn health(world: &World, service: &str) -> Result<i32, Status> {
    let mut grpc = Grpc::new(world.channel.clone());
    grpc.ready().await.expect("the server is there");
    let codec = ProstCodec::<HealthCheckRequest, HealthCheckResponse>::default();
    let path = "/grpc.health.v1.Health/Check".parse().expect("a path");
    let request = tonic::Request::new(HealthCheckRequest { service: service.into() });
    grpc.unary(request, path, codec).await.map(|answer| answer.into_inner().status)
}

#[tokio::test]
async fn only_services_that_are_there_are_healthy() {
    let world = World::new().await;
    let serving = 1;
    for known in [
        "",
        "temporal.api.workflowservice.v1.WorkflowService",
        "temporal.api.operatorservice.v1.OperatorService",
    ] {
        assert_eq!(health(&world, known).await.expect("it is known"), serving, "{known:?}");
    }
    let status = health(&world, "some.other.Service").await.expect_err("it is not there");
    assert_eq!(status.code(), Code::NotFound);
}

#[tokio::test]
async fn a_description_tells_when_a_run_expires_and_what_was_asked_of_it() {
    let world = World::new().await;
    let bounded = StartWorkflowExecutionRequest {
        workflow_execution_timeout: Some(seconds(3600)),
        workflow_run_timeout: Some(seconds(600)),
        ..start(SPACE, "w")
    };
    let run = world.start(bounded).await;
    let describe =
        DescribeWorkflowExecutionRequest { namespace: SPACE.into(), execution: Some(named("w")) };
    let told: DescribeWorkflowExecutionResponse =
        world.call(describe.clone()).await.expect("a description");
    let began = told.workflow_execution_info.expect("there").start_time.expect("it began");
    let more = told.workflow_extended_info.expect("there");
    let after = |span: i64| Some(began.seconds + span);
    assert_eq!(more.execution_expiration_time.map(|at| at.seconds), after(3600));
    assert_eq!(more.run_expiration_time.map(|at| at.seconds), after(600));
    assert_eq!(more.original_start_time, Some(began));
    assert!(!more.cancel_requested);
    assert_eq!(more.request_id_infos["start w"].event_id, 1);
    let cancel = RequestCancelWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(WorkflowExecution { workflow_id: "w".into(), run_id: run }),
        ..Default::default()
    };
    let _: RequestCancelWorkflowExecutionResponse = world.call(cancel).await.expect("it is taken");
    let told: DescribeWorkflowExecutionResponse = world.call(describe).await.expect("it is there");
    assert!(told.workflow_extended_info.expect("there").cancel_requested);
}

/// Nobody works on it: whoever knows that it is done need not wait until somebody does.
#[tokio::test]
async fn an_activity_that_waits_is_completed_by_its_id() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![schedule("a")]).await.expect("it is taken");
    let done = |id: &str| RespondActivityTaskCompletedByIdRequest {
        namespace: SPACE.into(),
        workflow_id: "w".into(),
        activity_id: id.into(),
        identity: "operator".into(),
        ..Default::default()
    };
    let missing: Result<RespondActivityTaskCompletedByIdResponse, _> = world.call(done("b")).await;
    assert_eq!(missing.expect_err("there is none").code(), Code::NotFound);
    let fail = RespondActivityTaskFailedByIdRequest {
        namespace: SPACE.into(),
        workflow_id: "w".into(),
        activity_id: "a".into(),
        ..Default::default()
    };
    let fails: Result<RespondActivityTaskFailedByIdResponse, _> = world.call(fail).await;
    assert_eq!(fails.expect_err("nobody has tried it").code(), Code::NotFound);
    let _: RespondActivityTaskCompletedByIdResponse =
        world.call(done("a")).await.expect("it is completed");
    let events = world.history(SPACE, "w").await;
    let told = kinds(&events);
    let told: Vec<_> = told.into_iter().filter(|kind| kind.starts_with("ACTIVITY")).collect();
    let whole = ["ACTIVITY_TASK_SCHEDULED", "ACTIVITY_TASK_STARTED", "ACTIVITY_TASK_COMPLETED"];
    assert_eq!(told, whole);
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![complete()]).await.expect("it is taken");
}
