//! Updates: a client asks, and waits for what becomes of it.

use bowline_core::{UpdateAnswer, UpdateStage};
use bowline_engine::UpdateWait;
use temporalio_protos::temporal::api::{
    enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage,
    update::v1::{Outcome, UpdateRef, WaitPolicy},
    workflowservice::v1::*,
};
use tonic::{Request, Status};

use super::{Door, poll, shown};
use crate::{
    limits,
    status::{self, Answer},
    translate::update as words,
};

pub(super) async fn update(
    door: &Door,
    request: Request<UpdateWorkflowExecutionRequest>,
) -> Answer<UpdateWorkflowExecutionResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let until = poll::until(&space.engine, &request, limits::WAIT);
    let request = request.into_inner();
    let head = space.head(request.workflow_execution.as_ref()).await?;
    if space.run_id(&request.first_execution_run_id)?.is_some_and(|first| first != head.first_run) {
        return Err(status::missing("workflow execution not found"));
    }
    let asked = request.request.ok_or_else(|| status::invalid("Request is not set on request."))?;
    let given = asked.meta.as_ref().map(|meta| meta.update_id.clone()).unwrap_or_default();
    let id = if given.is_empty() { space.engine.mint().to_string() } else { given };
    let asked = words::take_request(&asked, id.clone());
    if asked.name.is_empty() {
        return Err(status::invalid("update name is not set on request"));
    }
    let accepted = !wants_outcome(request.wait_policy.as_ref());
    let wait = UpdateWait { accepted, until };
    let waiting = space.engine.update_for(head.run, asked, wait);
    let stage = poll::while_open(door, waiting).await?.map_err(status::of)?;
    let (stage, outcome) = told(stage)?;
    Ok(UpdateWorkflowExecutionResponse {
        update_ref: Some(UpdateRef {
            workflow_execution: Some(shown::execution(head.run, &head.workflow_id)),
            update_id: id,
        }),
        outcome,
        stage: stage.into(),
        ..Default::default()
    })
}

pub(super) async fn poll(
    door: &Door,
    request: Request<PollWorkflowExecutionUpdateRequest>,
) -> Answer<PollWorkflowExecutionUpdateResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let until = poll::until(&space.engine, &request, limits::WAIT);
    let request = request.into_inner();
    let named = request.update_ref.unwrap_or_default();
    let head = space.head(named.workflow_execution.as_ref()).await?;
    let until = match wait_stage(request.wait_policy.as_ref()) {
        // Nothing is waited for: what stands is told.
        Stage::Unspecified => space.engine.now(),
        _ => until,
    };
    let accepted = !wants_outcome(request.wait_policy.as_ref());
    let id = named.update_id.as_str().into();
    let waiting = space.engine.follow_update(head.run, id, UpdateWait { accepted, until });
    let stage = poll::while_open(door, waiting).await?.map_err(status::of)?;
    let (stage, outcome) = told(stage)?;
    Ok(PollWorkflowExecutionUpdateResponse {
        outcome,
        stage: stage.into(),
        update_ref: Some(UpdateRef {
            workflow_execution: Some(shown::execution(head.run, &head.workflow_id)),
            update_id: named.update_id,
        }),
    })
}

fn wait_stage(policy: Option<&WaitPolicy>) -> Stage {
    let stage = policy.map_or(0, |policy| policy.lifecycle_stage);
    Stage::try_from(stage).unwrap_or(Stage::Unspecified)
}

fn wants_outcome(policy: Option<&WaitPolicy>) -> bool {
    wait_stage(policy) == Stage::Completed
}

/// How far an update has come, in Temporal's terms. One that the run could not take any more is no
/// outcome of the code's.
fn told(stage: Option<UpdateStage>) -> Answer<(Stage, Option<Outcome>)> {
    let outcome = |answer: UpdateAnswer| {
        let outcome = words::outcome(&answer).map_err(status::untranslatable)?;
        Ok((Stage::Completed, Some(outcome)))
    };
    match stage {
        None => Ok((Stage::Admitted, None)),
        Some(UpdateStage::Accepted) => Ok((Stage::Accepted, None)),
        Some(UpdateStage::Rejected(why)) => match why.kind.as_str() {
            "RunClosed" => Err(status::missing("workflow execution already completed")),
            "TooManyUpdates" => Err(Status::resource_exhausted(why.message)),
            _ => outcome(UpdateAnswer::Failed(why)),
        },
        Some(UpdateStage::Completed(answer)) => outcome(answer),
    }
}
