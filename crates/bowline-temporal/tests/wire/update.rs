//! Updates, and what becomes of them where their run closes or goes on as another.

use std::time::Duration;

use prost::Name;
use prost_wkt_types::Any;
use temporalio_protos::temporal::api::{
    command::v1::{Command, ProtocolMessageCommandAttributes, command::Attributes},
    common::v1::WorkflowExecution,
    enums::v1::{CommandType, UpdateWorkflowExecutionLifecycleStage as Stage},
    failure::v1::failure::FailureInfo,
    protocol::v1::Message,
    update::v1::{
        Acceptance, Input, Meta, Outcome, Request as Asked, Response, UpdateRef, WaitPolicy,
        outcome::Value,
    },
    workflowservice::v1::*,
};
use tonic::{Code, Request, Status};

use crate::world::{SPACE, World, command, complete, go_on, start};

type Answer = Result<UpdateWorkflowExecutionResponse, Status>;

fn update(id: &str, run: &str, stage: Stage) -> UpdateWorkflowExecutionRequest {
    UpdateWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(WorkflowExecution { workflow_id: "w".into(), run_id: run.into() }),
        wait_policy: Some(WaitPolicy { lifecycle_stage: stage.into() }),
        request: Some(Asked {
            meta: Some(Meta { update_id: id.into(), identity: "client".into() }),
            input: Some(Input { name: "raise".into(), ..Default::default() }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn poll(id: &str, run: &str, stage: Stage) -> PollWorkflowExecutionUpdateRequest {
    let workflow_execution =
        Some(WorkflowExecution { workflow_id: "w".into(), run_id: run.into() });
    PollWorkflowExecutionUpdateRequest {
        namespace: SPACE.into(),
        update_ref: Some(UpdateRef { workflow_execution, update_id: id.into() }),
        wait_policy: Some(WaitPolicy { lifecycle_stage: stage.into() }),
        ..Default::default()
    }
}

/// Waits until the server knows of an update.
async fn is_admitted(world: &World, id: &str) {
    loop {
        let known: Result<PollWorkflowExecutionUpdateResponse, _> =
            world.call(poll(id, "", Stage::Unspecified)).await;
        match known {
            Ok(_) => return,
            Err(status) => assert_eq!(status.code(), Code::NotFound, "{status}"),
        }
        tokio::task::yield_now().await;
    }
}

/// Asks for an update, and does not wait for what becomes of it.
async fn ask_and_go(world: &World, id: &str) {
    let asked: Result<UpdateWorkflowExecutionResponse, _>;
    tokio::select! {
        told = world.call(update(id, "", Stage::Completed)) => asked = told,
        () = is_admitted(world, id) => return,
    }
    panic!("nobody answers: {asked:?}");
}

fn said<M: prost::Message + Name>(id: &str, what: &str, body: M) -> Message {
    let type_url = format!("type.googleapis.com/{}", M::full_name());
    Message {
        id: format!("{id}/{what}"),
        protocol_instance_id: id.into(),
        body: Some(Any { type_url, value: body.encode_to_vec() }),
        ..Default::default()
    }
}

fn accepted(id: &str) -> Message {
    let request_id = format!("{id}/request");
    let acceptance = Acceptance { accepted_request_message_id: request_id, ..Default::default() };
    said(id, "accept", acceptance)
}

fn completed(id: &str) -> Message {
    let outcome = Some(Outcome { value: Some(Value::Success(Default::default())) });
    said(id, "complete", Response { outcome, ..Default::default() })
}

/// The command that says where a message has its place.
fn place(message: &Message) -> Command {
    let here = ProtocolMessageCommandAttributes { message_id: message.id.clone() };
    command(CommandType::ProtocolMessage, Attributes::ProtocolMessageCommandAttributes(here))
}

/// Answers a turn: first what is said about updates, then the rest.
async fn answer(
    world: &World,
    turn: &PollWorkflowTaskQueueResponse,
    messages: Vec<Message>,
    rest: Vec<Command>,
) {
    let commands = messages.iter().map(place).chain(rest).collect();
    let answer = RespondWorkflowTaskCompletedRequest {
        namespace: SPACE.into(),
        task_token: turn.task_token.clone(),
        identity: "worker".into(),
        commands,
        messages,
        ..Default::default()
    };
    let _: RespondWorkflowTaskCompletedResponse = world.call(answer).await.expect("it is taken");
}

fn shown(turn: &PollWorkflowTaskQueueResponse) -> Vec<&str> {
    turn.messages.iter().map(|message| message.protocol_instance_id.as_str()).collect()
}

/// That an update's outcome is the failure of one whose run closed first.
fn closed_first(stage: i32, outcome: Option<Outcome>) {
    assert_eq!(stage, i32::from(Stage::Completed));
    let Some(Outcome { value: Some(Value::Failure(why)) }) = outcome else {
        panic!("{outcome:?}");
    };
    let Some(FailureInfo::ApplicationFailureInfo(kind)) = why.failure_info else {
        panic!("{why:?}");
    };
    assert_eq!(kind.r#type, "AcceptedUpdateCompletedWorkflow");
    assert!(kind.non_retryable);
}

fn succeeded(answer: &Answer) -> &UpdateWorkflowExecutionResponse {
    let told = answer.as_ref().expect("an answer");
    let value = told.outcome.as_ref().and_then(|outcome| outcome.value.as_ref());
    assert!(matches!(value, Some(Value::Success(_))), "{told:?}");
    told
}

fn run_of(told: &UpdateWorkflowExecutionResponse) -> String {
    let named = told.update_ref.clone().unwrap_or_default();
    named.workflow_execution.unwrap_or_default().run_id
}

#[tokio::test]
async fn an_update_that_was_accepted_has_an_outcome_though_its_run_closed() {
    for stage in [Stage::Accepted, Stage::Completed] {
        let world = World::new().await;
        let run = world.start(start(SPACE, "w")).await;
        let (told, ()): (Answer, _) = tokio::join!(world.call(update("u", "", stage)), async {
            is_admitted(&world, "u").await;
            let turn = world.turn(SPACE).await;
            assert_eq!(shown(&turn), ["u"]);
            answer(&world, &turn, vec![accepted("u")], vec![complete()]).await;
        });
        let told = told.expect("an answer");
        closed_first(told.stage, told.outcome);
        // And whoever asks later is told the same.
        let again: Answer = world.call(update("u", "", stage)).await;
        let again = again.expect("an answer");
        closed_first(again.stage, again.outcome);
        let told: PollWorkflowExecutionUpdateResponse =
            world.call(poll("u", &run, stage)).await.expect("an answer");
        closed_first(told.stage, told.outcome);
    }
}

#[tokio::test]
async fn who_waits_for_an_update_hears_that_its_run_was_terminated() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let (told, ()): (Answer, _) =
        tokio::join!(world.call(update("u", "", Stage::Completed)), async {
            is_admitted(&world, "u").await;
            let turn = world.turn(SPACE).await;
            answer(&world, &turn, vec![accepted("u")], Vec::new()).await;
            world.terminate("w").await;
        });
    let told = told.expect("an answer");
    closed_first(told.stage, told.outcome);
}

#[tokio::test]
async fn an_update_that_nobody_looked_at_ends_with_its_run() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let (told, ()): (Answer, _) =
        tokio::join!(world.call(update("u", "", Stage::Completed)), async {
            is_admitted(&world, "u").await;
            let turn = world.turn(SPACE).await;
            answer(&world, &turn, Vec::new(), vec![complete()]).await;
        });
    assert_eq!(told.expect_err("it was never taken").code(), Code::NotFound);
}

/// One was shown to the code and not looked at, another came while the turn was out: the run that
/// goes on takes both, and who waits hears from there.
#[tokio::test]
async fn updates_that_were_not_accepted_go_to_the_run_that_goes_on() {
    let world = World::new().await;
    let first = world.start(start(SPACE, "w")).await;
    let ask = |id| world.call(update(id, "", Stage::Completed));
    let work = async {
        is_admitted(&world, "early").await;
        let turn = world.turn(SPACE).await;
        assert_eq!(shown(&turn), ["early"]);
        let (late, next): (Answer, _) = tokio::join!(ask("late"), async {
            is_admitted(&world, "late").await;
            answer(&world, &turn, Vec::new(), vec![go_on()]).await;
            let turn = world.turn(SPACE).await;
            assert_eq!(shown(&turn), ["early", "late"]);
            let said = ["early", "late"].iter().flat_map(|id| [accepted(id), completed(id)]);
            answer(&world, &turn, said.collect(), vec![complete()]).await;
            turn.workflow_execution.expect("it is named").run_id
        });
        (late, next)
    };
    let (early, (late, next)): (Answer, _) = tokio::join!(ask("early"), work);
    assert_ne!(first, next);
    assert_eq!(run_of(succeeded(&early)), next);
    assert_eq!(run_of(succeeded(&late)), next);
}

/// They are not kept in anybody's mind: the server ends, and the update is there.
#[tokio::test]
async fn an_update_that_goes_on_outlives_the_server() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    ask_and_go(&world, "u").await;
    answer(&world, &turn, Vec::new(), vec![go_on()]).await;
    let world = world.restart().await;
    let turn = world.turn(SPACE).await;
    assert_eq!(shown(&turn), ["u"]);
    answer(&world, &turn, vec![accepted("u"), completed("u")], Vec::new()).await;
    let told: Answer = world.call(update("u", "", Stage::Completed)).await;
    succeeded(&told);
}

/// Who names a run means that one.
#[tokio::test]
async fn an_update_of_one_run_does_not_go_on() {
    let world = World::new().await;
    let run = world.start(start(SPACE, "w")).await;
    let (told, ()): (Answer, _) =
        tokio::join!(world.call(update("u", &run, Stage::Completed)), async {
            is_admitted(&world, "u").await;
            let turn = world.turn(SPACE).await;
            answer(&world, &turn, Vec::new(), vec![go_on()]).await;
            let turn = world.turn(SPACE).await;
            assert_eq!(shown(&turn), [""; 0]);
            answer(&world, &turn, Vec::new(), vec![complete()]).await;
        });
    assert_eq!(told.expect_err("that run is closed").code(), Code::NotFound);
}

/// Updates by workflow id beside a workflow that goes on as another run with every turn: whichever
/// run each of them reaches, it is answered.
#[tokio::test]
async fn updates_reach_a_workflow_that_always_goes_on() {
    const UPDATES: usize = 2;
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let worker = async {
        let mut answered = 0;
        while answered < 4 * UPDATES {
            let turn = world.turn(SPACE).await;
            let said = shown(&turn).into_iter().flat_map(|id| [accepted(id), completed(id)]);
            let said: Vec<_> = said.collect();
            answered += said.len() / 2;
            answer(&world, &turn, said, vec![go_on()]).await;
        }
    };
    let client = async |name: &str| {
        for number in 0..UPDATES {
            let id = format!("{name} {number}");
            let told: Answer = world.call(update(&id, "", Stage::Completed)).await;
            succeeded(&told);
        }
    };
    tokio::join!(worker, client("a"), client("b"), client("c"), client("d"));
}

/// An answer that says nothing would make an SDK ask again, for ever, past the time that its
/// caller gave it.
#[tokio::test]
async fn a_short_deadline_of_the_caller_is_one() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    ask_and_go(&world, "u").await;
    let mut asked = Request::new(poll("u", "", Stage::Completed));
    asked.set_timeout(Duration::from_millis(300));
    let told = world.send::<_, PollWorkflowExecutionUpdateResponse>(asked).await;
    is_over(told.expect_err("it is too short"));
    let mut asked = Request::new(update("u", "", Stage::Accepted));
    asked.set_timeout(Duration::from_millis(300));
    let told = world.send::<_, UpdateWorkflowExecutionResponse>(asked).await;
    is_over(told.expect_err("it is too short"));
}

/// On a busy machine the client itself gives the call up before the server's word of it is there.
fn is_over(status: Status) {
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status}");
}
