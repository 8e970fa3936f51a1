//! One run: what it is doing, what has happened to it, and what is below it.

use axum::Json;
use bowline_core::{Event, EventId};
use bowline_engine::store::{Head, Read, RunKey};

use crate::{
    call::Call,
    limits,
    model::{HistoryEvent, HistoryList, Run, RunTree},
    problem::{Answer, Refused},
    view::{
        event,
        run::{PENDING_SHOWN, Sources, page},
        tree,
    },
};

/// `GET runs/{id}`
pub(crate) async fn show(call: Call) -> Answer<Run> {
    let shown = call.shown()?;
    let head = call.head().await?;
    let first = one(&call, &head, EventId(1)).await?;
    let last = match head.status.is_open() {
        true => None,
        false => one(&call, &head, EventId(head.next_event.0.saturating_sub(1))).await?,
    };
    let (state, rows) = match head.status.is_open() {
        true => {
            let (_, state) = call.engine.state(head.run).await?;
            let read = Read::head(RunKey::Run(head.run));
            // Rows of those that are over are among them for a while.
            let read = Read { activities_max: 5 * PENDING_SHOWN, ..read };
            (Some(state), call.engine.read(read).await?.activities)
        }
        false => (None, Vec::new()),
    };
    let sources = Sources {
        head: &head,
        state: state.as_ref(),
        first: first.as_ref(),
        last: last.as_ref(),
        rows: &rows,
        now: call.engine.now(),
    };
    Ok(Json(page(&sources, &shown)))
}

async fn one(call: &Call, head: &Head, at: EventId) -> Result<Option<Event>, Refused> {
    let page = call.engine.history_page(head.run, at, 1).await?;
    Ok(page.events.into_iter().next())
}

/// `GET runs/{id}/history`
pub(crate) async fn history(call: Call) -> Answer<HistoryList> {
    let (shown, limit) = (call.shown()?, call.limit()?);
    let newest = match call.option("order") {
        None | Some("oldest") => false,
        Some("newest") => true,
        Some(other) => {
            return Err(Refused::invalid(format!("order is newest or oldest, not {other:?}")));
        }
    };
    let from = call.number("from")?;
    let head = call.head().await?;
    let total = head.next_event.0.saturating_sub(1);
    let (first, most) = match newest {
        false => (from.unwrap_or(1).max(1), limit as u64),
        true => {
            let last = from.unwrap_or(total).min(total);
            let first = last.saturating_sub(limit as u64 - 1).max(1);
            (first, last.saturating_sub(first - 1))
        }
    };
    let mut events = Vec::new();
    if most > 0 && first <= total {
        let page = call.engine.history_page(head.run, EventId(first), most as usize).await?;
        events = page.events;
        events.truncate(most as usize);
    }
    if newest {
        events.reverse();
    }
    let lines = events.iter().map(|event| event::event(event, head.started_at, &shown));
    let lines = light(lines);
    let next = lines.last().and_then(|line| match newest {
        false => Some(line.id + 1).filter(|next| *next <= total),
        true => Some(line.id - 1).filter(|next| *next > 0),
    });
    let (run, open) = (head.run.to_string(), head.status.is_open());
    Ok(Json(HistoryList { run, events: lines, total, open, next }))
}

/// As many lines as one answer may carry; at least one.
fn light(lines: impl Iterator<Item = HistoryEvent>) -> Vec<HistoryEvent> {
    let mut carried = 0;
    let mut kept = Vec::new();
    for line in lines {
        carried += line.data.as_ref().map_or(0, |data| data.bytes);
        kept.push(line);
        if carried > limits::PAYLOADS_MAX {
            break;
        }
    }
    kept
}

/// `GET runs/{id}/tree`
pub(crate) async fn tree(call: Call) -> Answer<RunTree> {
    let head = call.head().await?;
    Ok(Json(tree::tree(&call.engine.leftovers(head.run).await?)))
}
