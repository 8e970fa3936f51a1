//! Runs, and parts of them, are stopped.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use bowline_access::Right;
use bowline_core::{Address, Cause, EventId, Ladder, ReceiptId, Span, State, limits::SPAN_MAX};
use bowline_engine::{CancelRequest, CancelledOne, store::Head};

use crate::{
    call::{Body, Call},
    limits,
    model::{Asked, CancelBody, CancelOneBody, CancelledTarget, LadderBody, Met, TerminateBody},
    problem::Refused,
};

type Accepted<T> = Result<(StatusCode, HeaderMap, Json<T>), Refused>;

/// `POST runs/{id}/cancel`
pub(crate) async fn cancel(call: Call, Body(body): Body<CancelBody>) -> Accepted<Asked> {
    let mut request = request(&call, body.reason, body.ladder, body.by)?;
    request.terminate_after = span("terminate_after_ms", body.terminate_after_ms)?;
    if request.terminate_after.is_some() {
        call.needs(Right::Terminate)?;
    }
    let head = call.head().await?;
    call.check_owner(head.run).await?;
    let met = met(&head);
    // The very run whose owner was looked at, where that matters.
    let to = match call.ticket.is_some() {
        true => Address::Run(head.run),
        false => call.address()?,
    };
    let receipt = call.engine.cancel(to, request).await?;
    accepted(&call, &head, met, Some(receipt))
}

/// `POST runs/{id}/terminate`
pub(crate) async fn terminate(call: Call, Body(body): Body<TerminateBody>) -> Accepted<Asked> {
    let cause = cause(&call, body)?;
    let head = call.head().await?;
    let met = met(&head);
    let receipt = call.engine.terminate(head.run, cause).await?;
    accepted(&call, &head, met, Some(receipt))
}

/// `DELETE runs/{id}`
pub(crate) async fn delete(call: Call, Body(body): Body<TerminateBody>) -> Accepted<Asked> {
    let cause = cause(&call, body)?;
    let head = call.head().await?;
    let met = met(&head);
    let receipt = call.engine.delete(head.run, cause).await?;
    accepted(&call, &head, met, receipt)
}

/// `POST runs/{id}/activities/{target}/cancel`
pub(crate) async fn activity(
    call: Call,
    Body(body): Body<CancelOneBody>,
) -> Accepted<CancelledTarget> {
    one(call, body, activities).await
}

/// `POST runs/{id}/timers/{target}/cancel`
pub(crate) async fn timer(
    call: Call,
    Body(body): Body<CancelOneBody>,
) -> Accepted<CancelledTarget> {
    one(call, body, timers).await
}

/// `POST runs/{id}/children/{target}/cancel`
pub(crate) async fn child(
    call: Call,
    Body(body): Body<CancelOneBody>,
) -> Accepted<CancelledTarget> {
    one(call, body, children).await
}

/// What is open of one kind: its number, and what its run calls it.
type Open = Vec<(EventId, String)>;

fn activities(state: &State) -> Open {
    state.activities.iter().map(|(number, open)| (*number, open.id.to_string())).collect()
}

fn timers(state: &State) -> Open {
    state.timers.iter().map(|(number, open)| (*number, open.id.to_string())).collect()
}

fn children(state: &State) -> Open {
    state.children.iter().map(|(number, open)| (*number, open.workflow_id.to_string())).collect()
}

/// Cancels one thing, by its number or by what its run calls it.
async fn one(
    call: Call,
    body: CancelOneBody,
    open: fn(&State) -> Open,
) -> Accepted<CancelledTarget> {
    let request = request(&call, body.reason, body.ladder, body.by)?;
    let head = call.head().await?;
    call.check_owner(head.run).await?;
    let (_, state) = call.engine.state(head.run).await?;
    let text = call.id("target");
    let has = |open: Open, number| open.iter().any(|(own, _)| *own == number);
    let is_other = |number| {
        let all = [activities(&state), timers(&state), children(&state)].concat();
        has(all, number) && !has(open(&state), number)
    };
    let number = match text.parse().map(EventId) {
        Ok(number) => Some(number).filter(|number| !is_other(*number)),
        Err(_) => open(&state).into_iter().find(|(_, name)| name == text).map(|(own, _)| own),
    };
    let number = number.ok_or_else(|| {
        let detail = format!("no such thing called {text:?} is open in run {}", head.run);
        Refused::new(StatusCode::NOT_FOUND, "no_such_target", detail)
    })?;
    let met = match call.engine.cancel_one(head.run, number, request).await? {
        CancelledOne::Asked => Met::Asked,
        CancelledOne::Again => Met::Again,
        CancelledOne::Closed(_) => Met::Closed,
        _ => Met::Over,
    };
    let answer = CancelledTarget { run: head.run.to_string(), number: number.0, met };
    Ok((StatusCode::ACCEPTED, HeaderMap::new(), Json(answer)))
}

/// What a request to cancel a run meets.
fn met(head: &Head) -> Met {
    match (head.status.is_open(), &head.cancel) {
        (false, _) => Met::Over,
        (true, Some(_)) => Met::Again,
        (true, None) => Met::Asked,
    }
}

fn accepted(call: &Call, head: &Head, met: Met, receipt: Option<ReceiptId>) -> Accepted<Asked> {
    let mut headers = HeaderMap::new();
    if let Some(receipt) = receipt {
        let place = format!("/api/v1/namespaces/{}/receipts/{receipt}", call.id("ns"));
        if let Ok(place) = HeaderValue::from_str(&place) {
            headers.insert(header::LOCATION, place);
        }
    }
    let answer = Asked {
        id: head.workflow_id.to_string(),
        run: head.run.to_string(),
        receipt: receipt.map(|receipt| receipt.to_string()),
        met,
        status: head.status.to_string(),
    };
    Ok((StatusCode::ACCEPTED, headers, Json(answer)))
}

fn request(
    call: &Call,
    reason: String,
    ladder: Option<LadderBody>,
    by: Option<String>,
) -> Result<CancelRequest, Refused> {
    reasonable(&reason)?;
    let mut request = CancelRequest::new(reason, call.who(by)?);
    request.request_id = call.request_id();
    request.ladder = ladder.map(self::ladder).transpose()?;
    Ok(request)
}

fn cause(call: &Call, body: TerminateBody) -> Result<Cause, Refused> {
    reasonable(&body.reason)?;
    let request_id = Some(call.request_id()).filter(|id| !id.is_empty());
    Ok(Cause { request_id, ..Cause::requested(body.reason, call.who(body.by)?) })
}

fn reasonable(reason: &str) -> Result<(), Refused> {
    match reason.len() > limits::REASON_MAX {
        true => Err(Refused::invalid(format!("reason has at most {} bytes", limits::REASON_MAX))),
        false => Ok(()),
    }
}

fn ladder(body: LadderBody) -> Result<Ladder, Refused> {
    let usual = Ladder::default();
    Ok(Ladder {
        grace: span("grace_ms", body.grace_ms)?.map_or(usual.grace, Span),
        step: span("step_ms", body.step_ms)?.map_or(usual.step, Span),
        detach: body.detach,
    })
}

fn span(name: &str, given: Option<u64>) -> Result<Option<Duration>, Refused> {
    match given.map(Duration::from_millis) {
        Some(span) if span > SPAN_MAX => {
            Err(Refused::invalid(format!("{name} is longer than a hundred years")))
        }
        span => Ok(span),
    }
}
