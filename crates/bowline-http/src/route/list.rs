//! Many runs: lists, counts, and parked ones that are tried again.

use axum::Json;
use bowline_core::RunId;
use bowline_engine::{
    Error,
    store::{Filter, Page},
};

use crate::{
    call::{Body, Call},
    filter, limits,
    model::{Retried, RetryAllBody, RunCount, RunList},
    problem::{Answer, Refused},
    view::run::summary,
};

/// `GET runs`
pub(crate) async fn runs(call: Call) -> Answer<RunList> {
    let limit = call.limit()?;
    let mut filter = filter::after(call.filter()?, call.option("cursor"))?;
    let mut heads = Vec::new();
    let mut next = None;
    // A page of the store has few runs, or none, where much is looked at for each of them.
    for _ in 0..limits::LOOKS {
        filter.limit = limit - heads.len();
        let page = call.engine.find(filter.clone()).await?;
        heads.extend(page.runs);
        next = page.next;
        filter.after = next;
        if next.is_none() || heads.len() >= limit {
            break;
        }
    }
    let now = call.engine.now();
    let runs = heads.iter().map(|head| summary(head, now)).collect();
    Ok(Json(RunList { runs, next: next.map(|place| filter::cursor(&filter, place)) }))
}

/// `GET count`
pub(crate) async fn count(call: Call) -> Answer<RunCount> {
    let filter = call.filter()?;
    let mut filter = Filter { limit: Page::LOOKS_MAX, ..filter };
    let (mut count, mut looks) = (0, 0);
    loop {
        let page = call.engine.find(filter.clone()).await?;
        count += page.runs.len() as u64;
        looks += Page::LOOKS_MAX as u64;
        filter.after = page.next;
        if filter.after.is_none() || looks >= limits::COUNT_MAX {
            return Ok(Json(RunCount { count, exact: filter.after.is_none() }));
        }
    }
}

/// `POST runs/{id}/retry`
pub(crate) async fn retry(call: Call) -> Answer<Retried> {
    let head = call.head().await?;
    call.engine.retry(head.run).await?;
    Ok(Json(Retried { retried: u64::from(head.is_parked()) }))
}

/// `POST retry`
pub(crate) async fn retry_all(call: Call, Body(body): Body<RetryAllBody>) -> Answer<Retried> {
    let wanted = &body.filter.status;
    if !wanted.is_empty() && wanted != &["parked"] {
        return Err(Refused::invalid("only parked runs are tried again: leave status out"));
    }
    let filter = filter::read(&body.filter, call.engine.namespace())?;
    let Some(ticket) = &call.ticket else {
        let retried = call.engine.retry_all(filter).await? as u64;
        return Ok(Json(Retried { retried }));
    };
    // As many as one may touch, and those that were counted.
    let most = ticket.access().radius().0;
    let runs = parked(&call, filter, most).await?;
    ticket.check_radius(runs.len() as u64)?;
    let mut retried = 0;
    for run in runs {
        match call.engine.retry(run).await {
            Ok(()) => retried += 1,
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Json(Retried { retried }))
}

/// The parked runs that a filter finds: all of them, or more than so many.
async fn parked(call: &Call, filter: Filter, most: u64) -> Result<Vec<RunId>, Refused> {
    let mut filter = Filter { parked: Some(true), limit: Page::LOOKS_MAX, ..filter };
    let mut runs = Vec::new();
    loop {
        let page = call.engine.find(filter.clone()).await?;
        let open = page.runs.iter().filter(|head| head.status.is_open());
        runs.extend(open.map(|head| head.run));
        filter.after = page.next;
        if filter.after.is_none() || runs.len() as u64 > most {
            return Ok(runs);
        }
    }
}
