//! What is said to a run's code: signals, queries and updates.

use axum::{Json, http::StatusCode};
use bowline_core::{Rules, Signal, UpdateAnswer, UpdateRequest, UpdateStage};
use bowline_engine::{Error, QueryAnswer, Question, UpdateWait};

use crate::{
    call::{Body, Call, bounded},
    limits,
    model::{QueryAnswered, QueryBody, SignalBody, Signalled, UpdateAnswered, UpdateBody},
    problem::{Answer, Refused},
    view::cause::failed,
};

/// `POST runs/{id}/signal`
pub(crate) async fn signal(
    call: Call,
    Body(body): Body<SignalBody>,
) -> Result<(StatusCode, Json<Signalled>), Refused> {
    bounded("name", &body.name)?;
    let head = call.head().await?;
    let signal = Signal {
        name: body.name.as_str().into(),
        input: call.payload(body.input.as_ref(), head.rules)?,
        header: Default::default(),
        identity: call.who(body.by)?,
        request_id: call.request_id(),
        external: None,
        wire: None,
    };
    let to = call.address()?;
    let run = match head.rules.is_native() {
        true => call.engine.signal(to, signal).await?,
        false => call.engine.signal_counted(to, signal).await?,
    };
    Ok((StatusCode::ACCEPTED, Json(Signalled { run: run.to_string() })))
}

/// `POST runs/{id}/query`
pub(crate) async fn query(call: Call, Body(body): Body<QueryBody>) -> Answer<QueryAnswered> {
    bounded("name", &body.name)?;
    let shown = call.shown()?;
    let head = call.head().await?;
    let input = call.payload(body.input.as_ref(), head.rules)?;
    let answer = match head.rules == Rules::NATIVE || head.rules.is_native() {
        true => call.engine.query(head.run, body.name.as_str(), input).await?,
        false => {
            let name = body.name.as_str().into();
            let question = Question { name, input, header: Default::default() };
            let until = call.engine.now().after(limits::QUERY);
            match call.engine.query_remote(head.run, question, until).await? {
                QueryAnswer::Value(value) => value,
                QueryAnswer::Failed(failure) => return Err(Error::Query(failure.message).into()),
            }
        }
    };
    let (run, answer) = (head.run.to_string(), shown.maybe(&answer));
    Ok(Json(QueryAnswered { run, answer }))
}

/// `POST runs/{id}/update`
pub(crate) async fn update(call: Call, Body(body): Body<UpdateBody>) -> Answer<UpdateAnswered> {
    bounded("name", &body.name)?;
    let shown = call.shown()?;
    let head = call.head().await?;
    let drawn = || format!("{:032x}", call.engine.draw());
    let id = body.update.clone().or_else(|| call.key.clone()).unwrap_or_else(drawn);
    bounded("update", &id)?;
    let request = UpdateRequest {
        id: id.as_str().into(),
        name: body.name.as_str().into(),
        input: call.payload(body.input.as_ref(), head.rules)?,
        header: Default::default(),
        identity: call.who(body.by.clone())?,
        only: None,
    };
    let until = call.engine.now().after(call.within(body.within_ms));
    let wait = UpdateWait { accepted: false, until };
    let (run, stage) = call.engine.update_for(head.run, request, wait).await?;
    let (stage, answer, failure) = match stage {
        None => ("asked", None, None),
        Some(UpdateStage::Accepted) => ("accepted", None, None),
        Some(UpdateStage::Rejected(failure)) => ("rejected", None, Some(failure)),
        Some(UpdateStage::Completed(UpdateAnswer::Done(answer))) => ("completed", answer, None),
        Some(UpdateStage::Completed(UpdateAnswer::Failed(failure))) => {
            ("failed", None, Some(failure))
        }
        Some(UpdateStage::Unanswered) => ("unanswered", None, None),
        Some(_) => ("asked", None, None),
    };
    Ok(Json(UpdateAnswered {
        run: run.to_string(),
        update: id,
        stage: stage.to_owned(),
        answer: shown.maybe(&answer),
        failure: failure.map(|failure| failed(&failure, &shown)),
    }))
}
