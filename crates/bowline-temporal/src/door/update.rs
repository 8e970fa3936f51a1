//! Updates: a client asks, and waits for what becomes of it.

use bowline_core::{RunId, UpdateAnswer, UpdateRequest, UpdateStage, WorkflowId};
use bowline_engine::{Error, UpdateWait, limits as engine_limits};
use temporalio_protos::temporal::api::{
    enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage,
    update::v1::{Outcome, UpdateRef, WaitPolicy},
    workflowservice::v1::*,
};
use tonic::{Request, Status};

use super::{Door, namespace::Space, poll, shown};
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
    let in_vain = poll::in_vain(&request, limits::WAIT);
    let request = request.into_inner();
    let asked = request.request.as_ref();
    let asked = asked.ok_or_else(|| status::invalid("Request is not set on request."))?;
    let given = asked.meta.as_ref().map(|meta| meta.update_id.clone()).unwrap_or_default();
    let id = if given.is_empty() { space.engine.mint().to_string() } else { given };
    let asked = words::take_request(asked, id.clone());
    if asked.name.is_empty() {
        return Err(status::invalid("update name is not set on request"));
    }
    let wanted = wait_stage(request.wait_policy.as_ref());
    let wait = UpdateWait { accepted: wanted != Stage::Completed, until };
    let (run, workflow_id, stage) =
        poll::while_open(door, reach(space, &request, asked, wait)).await??;
    let (stage, outcome) = told(stage)?;
    reached(stage, wanted, in_vain)?;
    Ok(UpdateWorkflowExecutionResponse {
        update_ref: Some(UpdateRef {
            workflow_execution: Some(shown::execution(run, &workflow_id)),
            update_id: id,
        }),
        outcome,
        stage: stage.into(),
        ..Default::default()
    })
}

/// Asks the run that is meant. If that closes before it is reached, and no run was named, the one
/// that is there by then is asked.
async fn reach(
    space: &Space,
    request: &UpdateWorkflowExecutionRequest,
    mut asked: UpdateRequest,
    wait: UpdateWait,
) -> Answer<(RunId, WorkflowId, Option<UpdateStage>)> {
    let named = request.workflow_execution.as_ref();
    let first = space.run_id(&request.first_execution_run_id)?;
    asked.only = space.run_id(named.map(|named| named.run_id.as_str()).unwrap_or_default())?;
    let mut before = None;
    loop {
        let head = space.head(named).await?;
        if first.is_some_and(|first| first != head.first_run) {
            return Err(status::missing("workflow execution not found"));
        }
        let attempt = head.record.turn.as_ref().map_or(0, |turn| turn.attempt);
        if attempt >= engine_limits::QUERY_ATTEMPT {
            return Err(status::not_ready("the turns of this workflow fail again and again"));
        }
        match space.engine.update_for(head.run, asked.clone(), wait).await {
            // It went on in the meantime.
            Err(Error::Closed { .. }) if asked.only.is_none() && before != Some(head.run) => {
                before = Some(head.run);
            }
            told => {
                let (run, stage) = told.map_err(status::of)?;
                return Ok((run, head.workflow_id, stage));
            }
        }
    }
}

pub(super) async fn poll(
    door: &Door,
    request: Request<PollWorkflowExecutionUpdateRequest>,
) -> Answer<PollWorkflowExecutionUpdateResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let until = poll::until(&space.engine, &request, limits::WAIT);
    let in_vain = poll::in_vain(&request, limits::WAIT);
    let request = request.into_inner();
    let named = request.update_ref.unwrap_or_default();
    let head = space.head(named.workflow_execution.as_ref()).await?;
    let wanted = wait_stage(request.wait_policy.as_ref());
    let until = match wanted {
        // Nothing is waited for: what stands is told.
        Stage::Unspecified => space.engine.now(),
        _ => until,
    };
    let wait = UpdateWait { accepted: wanted != Stage::Completed, until };
    let waiting = space.engine.follow_update(head.run, named.update_id.as_str().into(), wait);
    let (run, stage) = poll::while_open(door, waiting).await?.map_err(status::of)?;
    let (stage, outcome) = told(stage)?;
    reached(stage, wanted, in_vain)?;
    Ok(PollWorkflowExecutionUpdateResponse {
        outcome,
        stage: stage.into(),
        update_ref: Some(UpdateRef {
            workflow_execution: Some(shown::execution(run, &head.workflow_id)),
            update_id: named.update_id,
        }),
    })
}

/// Whether a wait has come to something. If not, an SDK would ask again, though its caller does not
/// wait any more.
fn reached(stage: Stage, wanted: Stage, in_vain: Answer<()>) -> Answer<()> {
    match i32::from(stage) >= i32::from(wanted) {
        true => Ok(()),
        false => in_vain,
    }
}

fn wait_stage(policy: Option<&WaitPolicy>) -> Stage {
    let stage = policy.map_or(0, |policy| policy.lifecycle_stage);
    Stage::try_from(stage).unwrap_or(Stage::Unspecified)
}

/// How far an update has come, in Temporal's terms. One that the run could not take any more is no
/// outcome of the code's.
fn told(stage: Option<UpdateStage>) -> Answer<(Stage, Option<Outcome>)> {
    let outcome = |answer: UpdateAnswer| {
        let outcome = words::outcome(&answer).map_err(status::untranslatable)?;
        Ok((Stage::Completed, Some(outcome)))
    };
    match stage {
        None | Some(UpdateStage::Moved(_)) => Ok((Stage::Admitted, None)),
        Some(UpdateStage::Unanswered) => Ok((Stage::Completed, Some(words::unanswered()))),
        Some(UpdateStage::Accepted) => Ok((Stage::Accepted, None)),
        Some(UpdateStage::Rejected(why)) => match why.kind.as_str() {
            "RunClosed" => Err(status::missing("workflow execution already completed")),
            "TooManyUpdates" => Err(Status::resource_exhausted(why.message)),
            _ => outcome(UpdateAnswer::Failed(why)),
        },
        Some(UpdateStage::Completed(answer)) => outcome(answer),
    }
}
