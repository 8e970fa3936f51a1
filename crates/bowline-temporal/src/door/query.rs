//! Questions to a run's code, and their answers.

use std::collections::HashMap;

use bowline_core::{AskId, Failure, RunId, Token};
use bowline_engine::{QueryAnswer, Question, RemoteAsk};
use temporalio_protos::temporal::api::{
    common::v1::Payloads,
    enums::v1::{QueryRejectCondition, QueryResultType, WorkflowExecutionStatus},
    errordetails::v1::QueryFailedFailure,
    failure::v1::Failure as WireFailure,
    query::v1::{QueryRejected, WorkflowQuery, WorkflowQueryResult},
    workflowservice::v1::*,
};
use tonic::{Code, Request};

use super::{Door, namespace::Space, poll, turn};
use crate::{
    limits,
    status::{self, Answer},
    translate::{failure, payload, word},
};

/// A client asks.
pub(super) async fn ask(
    door: &Door,
    request: Request<QueryWorkflowRequest>,
) -> Answer<QueryWorkflowResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let until = poll::until(&space.engine, &request, limits::QUERY);
    let request = request.into_inner();
    let head = space.head(request.execution.as_ref()).await?;
    let stands = word::status(head.status);
    if is_rejected(request.query_reject_condition, stands) {
        let query_rejected = Some(QueryRejected { status: stands.into() });
        return Ok(QueryWorkflowResponse { query_rejected, ..Default::default() });
    }
    let asked = request.query.ok_or_else(|| status::invalid("Query is not set on request."))?;
    let question = Question {
        name: asked.query_type.as_str().into(),
        input: payload::take(asked.query_args.as_ref()),
        header: payload::take_header(asked.header.as_ref()),
    };
    let asked = space.engine.query_remote(head.run, question, until);
    match poll::while_open(door, asked).await?.map_err(status::of)? {
        QueryAnswer::Value(value) => {
            let query_result = payload::payloads(&value).map_err(status::untranslatable)?;
            Ok(QueryWorkflowResponse { query_result, ..Default::default() })
        }
        QueryAnswer::Failed(why) => {
            let told = failure::show(&why).map_err(status::untranslatable)?;
            let detail = QueryFailedFailure { failure: Some(told) };
            Err(status::detailed(Code::InvalidArgument, why.message, &detail))
        }
    }
}

fn is_rejected(condition: i32, stands: WorkflowExecutionStatus) -> bool {
    use WorkflowExecutionStatus as S;
    match QueryRejectCondition::try_from(condition) {
        Ok(QueryRejectCondition::NotOpen) => stands != S::Running,
        Ok(QueryRejectCondition::NotCompletedCleanly) => {
            !matches!(stands, S::Running | S::Completed)
        }
        _ => false,
    }
}

/// A question, as a worker reads it.
pub(super) fn shown(asked: &Question) -> Answer<WorkflowQuery> {
    Ok(WorkflowQuery {
        query_type: asked.name.to_string(),
        query_args: payload::payloads(&asked.input).map_err(status::untranslatable)?,
        header: payload::header(&asked.header).map_err(status::untranslatable)?,
    })
}

/// A question that comes alone. A worker that has the run in its cache needs no history.
pub(super) fn handed_out(
    space: &Space,
    ask: &RemoteAsk,
    has_cache: bool,
) -> Answer<PollWorkflowTaskQueueResponse> {
    let mut task = turn::handed_out(space, &ask.turn, false)?;
    if has_cache {
        task.history = Some(Default::default());
        task.next_page_token = Vec::new();
    }
    task.task_token = token(ask.turn.run, ask.query.id);
    task.query = Some(shown(&ask.query.question)?);
    Ok(task)
}

/// What the answer to a question that came alone must show: the run, and the question's id in the
/// place of an event's.
fn token(run: RunId, id: AskId) -> Vec<u8> {
    let mut token = Token::activity(run, Default::default(), 0).to_blob().as_slice().to_vec();
    token.extend(id.0.to_be_bytes());
    token
}

fn read_token(space: &Space, bytes: &[u8]) -> Answer<(RunId, AskId)> {
    let at = bytes.len().checked_sub(16);
    let (head, id) = at.map(|at| bytes.split_at(at)).unwrap_or_default();
    let token = space.token(head)?;
    let id = id.try_into().map_err(|_| status::invalid("Error deserializing task token."))?;
    Ok((token.run, AskId(u128::from_be_bytes(id))))
}

/// A worker answers a question that came alone.
pub(super) async fn answer(
    door: &Door,
    request: Request<RespondQueryTaskCompletedRequest>,
) -> Answer<RespondQueryTaskCompletedResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let (run, id) = read_token(space, &request.task_token)?;
    let answer =
        taken(request.completed_type, request.query_result, request.error_message, request.failure);
    match space.engine.answer_query(run, id, answer).await {
        true => Ok(RespondQueryTaskCompletedResponse {}),
        false => Err(status::missing("query task not found, or already expired")),
    }
}

/// Answers that come with a turn's.
pub(super) fn answers(
    space: &Space,
    results: &HashMap<String, WorkflowQueryResult>,
) -> Vec<(AskId, QueryAnswer)> {
    let answer = |(id, result): (&String, &WorkflowQueryResult)| {
        let named = space.run_id(id).ok().flatten()?;
        let result = result.clone();
        let answer = taken(result.result_type, result.answer, result.error_message, result.failure);
        Some((AskId(named.uuid), answer))
    };
    results.iter().filter_map(answer).collect()
}

fn taken(
    kind: i32,
    value: Option<Payloads>,
    message: String,
    why: Option<WireFailure>,
) -> QueryAnswer {
    match QueryResultType::try_from(kind) {
        Ok(QueryResultType::Answered) => QueryAnswer::Value(payload::take(value.as_ref())),
        _ => {
            let failure = why.as_ref().map_or_else(|| Failure::new(""), failure::take);
            QueryAnswer::Failed(Failure { message, ..failure })
        }
    }
}
