//! Runs begin.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bowline_access::Right;
use bowline_core::{
    Conflict, EventId, EventKind, Payload, Reuse, Rules, SearchField, Span, WorkflowStarted,
};
use bowline_engine::{StartOptions, Started};
use serde_json::Value;

use crate::{
    app::RunRules,
    call::{Body, Call, bounded},
    model::{StartBody, StartedRun},
    problem::Refused,
    view::search,
};

impl Call {
    /// A value that is sent to a run, as its rules have it.
    pub(crate) fn payload(
        &self,
        value: Option<&Value>,
        rules: Rules,
    ) -> Result<Option<Payload>, Refused> {
        let Some(value) = value else { return Ok(None) };
        if rules.is_native() {
            return Ok(Some(Payload::json(value.to_string())));
        }
        match &self.app.options().wire {
            Some(wire) => Ok(Some(Payload::wire(wire.write(std::slice::from_ref(value))))),
            None => Err(Refused::new(
                StatusCode::CONFLICT,
                "not_ready",
                "this process cannot write payloads for the workers of an SDK",
            )),
        }
    }
}

/// `POST runs`
pub(crate) async fn start(call: Call, Body(body): Body<StartBody>) -> Result<Response, Refused> {
    let conflict = conflict(body.on_conflict.as_deref())?;
    if conflict == Conflict::TerminateExisting {
        call.needs(Right::Terminate)?;
    }
    let started = started(&call, &body)?;
    let (input, name) = (started.input.clone(), started.name.clone());
    let options = StartOptions {
        started,
        reuse: reuse(body.reuse.as_deref())?,
        conflict,
        ..StartOptions::default()
    };
    let Started { run, is_new } = call.engine.start_or_find(options).await?;
    if call.key.is_some() {
        // A request that was carried out is answered as it was. The same key for something else is
        // a mistake, which nobody should take for a success.
        let first = call.engine.history_page(run, EventId(1), 1).await?.events;
        if let Some(EventKind::WorkflowStarted(first)) = first.first().map(|event| &event.kind)
            && first.request_id == call.request_id()
            && (&first.name, &first.input) != (&name, &input)
        {
            let detail = "this Idempotency-Key has started a run of something else";
            return Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", detail));
        }
    }
    let met = if is_new { "started" } else { "again" }.to_owned();
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let location = format!("/api/v1/namespaces/{}/runs/@{run}", call.id("ns"));
    let answer = StartedRun { id: body.id, run: run.to_string(), met };
    Ok((status, [(header::LOCATION, location)], Json(answer)).into_response())
}

fn started(call: &Call, body: &StartBody) -> Result<WorkflowStarted, Refused> {
    bounded("type", &body.workflow)?;
    bounded("id", &body.id)?;
    bounded("queue", &body.queue)?;
    let rules = match (body.rules.as_deref(), call.app.options().rules) {
        (Some("native"), _) | (None, RunRules::Native) => Rules::NATIVE,
        (Some("remote"), _) | (None, RunRules::Remote) => Rules::REMOTE,
        (Some(other), _) => {
            return Err(Refused::invalid(format!("rules is native or remote, not {other:?}")));
        }
    };
    let mut started = WorkflowStarted {
        name: body.workflow.as_str().into(),
        workflow_id: body.id.as_str().into(),
        queue: body.queue.as_str().into(),
        rules,
        input: call.payload(body.input.as_ref(), rules)?,
        identity: call.who(body.by.clone())?,
        request_id: call.request_id(),
        run_timeout: body.run_timeout_ms.map(std::time::Duration::from_millis).map(Span),
        ..WorkflowStarted::default()
    };
    for (key, value) in &body.search {
        let why = || {
            let kinds = "a text, a number, a boolean or a list of texts";
            Refused::invalid(format!("the search attribute {key:?} is {kinds}"))
        };
        let field = SearchField { value: search::value(value).ok_or_else(why)?, wire: None };
        started.search.insert(key.clone(), field);
    }
    for (key, value) in &body.memo {
        if let Some(payload) = call.payload(Some(value), rules)? {
            started.memo.insert(key.clone(), payload);
        }
    }
    Ok(started)
}

fn reuse(word: Option<&str>) -> Result<Reuse, Refused> {
    Ok(match word {
        None | Some("allow") => Reuse::Allow,
        Some("allow_unless_completed") => Reuse::AllowUnlessCompleted,
        Some("refuse") => Reuse::Refuse,
        Some(other) => {
            let known = "allow, allow_unless_completed or refuse";
            return Err(Refused::invalid(format!("reuse is {known}, not {other:?}")));
        }
    })
}

fn conflict(word: Option<&str>) -> Result<Conflict, Refused> {
    Ok(match word {
        None | Some("refuse") => Conflict::Refuse,
        Some("use_existing") => Conflict::UseExisting,
        Some("terminate_existing") => Conflict::TerminateExisting,
        Some(other) => {
            let known = "refuse, use_existing or terminate_existing";
            return Err(Refused::invalid(format!("on_conflict is {known}, not {other:?}")));
        }
    })
}
