//! History, page by page; and the wait for more of it.

use std::time::Duration;

use bowline_core::{Address, Event, EventId, RunId, WorkflowId};
use bowline_engine::store::Head;
use temporalio_protos::temporal::api::{
    enums::v1::HistoryEventFilterType, history::v1::History, workflowservice::v1::*,
};
use tonic::Request;

use super::{Door, namespace::Space, poll};
use crate::{
    limits,
    status::{self, Answer},
    translate,
};

/// As many events as one page holds, and where the next page begins, if there is one.
pub(super) fn first_page<'e>(events: &[&'e Event]) -> (Vec<&'e Event>, Option<EventId>) {
    page_of(events, limits::HISTORY_PAGE)
}

fn page_of<'e>(events: &[&'e Event], longest: usize) -> (Vec<&'e Event>, Option<EventId>) {
    let mut bytes = 0;
    let mut page = Vec::new();
    for event in events {
        let weight = usize::try_from(event.weight()).unwrap_or(usize::MAX);
        let is_full = page.len() >= longest || bytes + weight > limits::HISTORY_PAGE_BYTES;
        if is_full && !page.is_empty() {
            return (page, Some(event.id));
        }
        bytes += weight;
        page.push(*event);
    }
    (page, None)
}

/// Where a page begins: the run stays the same, whatever becomes of its workflow id.
pub(super) fn token(run: RunId, next: EventId) -> Vec<u8> {
    let mut token = vec![1];
    token.extend(run.uuid.to_be_bytes());
    token.extend(next.0.to_be_bytes());
    token
}

fn read_token(space: &Space, token: &[u8]) -> Answer<(RunId, EventId)> {
    let bad = || status::invalid("Invalid NextPageToken.");
    let (Some(1), 25) = (token.first(), token.len()) else { return Err(bad()) };
    let uuid = token[1..17].try_into().map_err(|_| bad())?;
    let next = token[17..].try_into().map_err(|_| bad())?;
    let run = RunId { uuid: u128::from_be_bytes(uuid), ..space.engine.mint() };
    Ok((run, EventId(u64::from_be_bytes(next))))
}

/// A page of history, in the order of time.
pub(super) async fn page(
    door: &Door,
    request: Request<GetWorkflowExecutionHistoryRequest>,
) -> Answer<GetWorkflowExecutionHistoryResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let patience = poll::patience(&request, limits::WAIT);
    let request = request.into_inner();
    let only_close = i32::from(HistoryEventFilterType::CloseEvent);
    let only_close = request.history_event_filter_type == only_close;
    if only_close && request.wait_new_event {
        return close(door, space, &request, patience).await;
    }
    let (head, next) = match request.next_page_token.as_slice() {
        [] => (space.head(request.execution.as_ref()).await?, EventId(1)),
        token => {
            let (run, next) = read_token(space, token)?;
            (space.engine.head(run).await.map_err(status::of)?, next)
        }
    };
    if request.wait_new_event {
        let grown = tokio::time::timeout(patience, space.engine.grown(head.run, next));
        match poll::while_open(door, grown).await? {
            Ok(grown) => grown.map_err(status::of)?,
            // Nothing yet: the same question again.
            Err(_) => return Ok(waiting(head.run, next)),
        };
    }
    if only_close {
        let last = last(space, &head).await?.filter(|event| event.kind.closes());
        let last: Vec<_> = last.iter().collect();
        return answer(space, head.queue.as_str(), &last, Vec::new());
    }
    let longest = longest(request.maximum_page_size);
    let read = space.engine.history_page(head.run, next, longest).await.map_err(status::of)?;
    let (mut page, mut after) = page_of(&read.events.iter().collect::<Vec<_>>(), longest);
    if read.has_more() {
        after = after.or(read.events.last().map(|event| event.id.plus(1)));
    }
    match request.wait_new_event {
        // Whoever follows a run hears of each event once, so only of what is written.
        true => after = after.or(read.is_open.then_some(read.end)),
        // As a whole: its numbers may be those of other events by the time of the next page.
        false if after.is_none() => page.extend(&read.tail),
        false => {}
    }
    let next_page_token = after.map(|after| token(head.run, after)).unwrap_or_default();
    answer(space, head.queue.as_str(), &page, next_page_token)
}

/// Waits for the event that closes a run: what clients ask for who wait for its result.
async fn close(
    door: &Door,
    space: &Space,
    request: &GetWorkflowExecutionHistoryRequest,
    patience: Duration,
) -> Answer<GetWorkflowExecutionHistoryResponse> {
    let named = request.execution.as_ref();
    let id = named.map(|named| WorkflowId::from(named.workflow_id.as_str()));
    let (run, next, id) = match request.next_page_token.as_slice() {
        [] => match space.address(named)? {
            Address::Run(run) | Address::Chain(run) => (run, EventId(1), id),
            Address::Current(..) => (space.head(named).await?.run, EventId(1), None),
        },
        token => {
            let (run, next) = read_token(space, token)?;
            (run, next, None)
        }
    };
    let closing = tokio::time::timeout(patience, space.engine.closing(run, id.as_ref()));
    match poll::while_open(door, closing).await? {
        Ok(closed) => {
            let closed = closed.map_err(status::of)?;
            answer(space, closed.queue.as_str(), &[&closed.event], Vec::new())
        }
        // Not yet: the same question again.
        Err(_) => Ok(waiting(run, next)),
    }
}

/// How many events a page has.
fn longest(asked: i32) -> usize {
    match usize::try_from(asked).unwrap_or(0) {
        0 => limits::HISTORY_PAGE,
        asked => asked.min(limits::HISTORY_PAGE),
    }
}

/// The last event that is written.
async fn last(space: &Space, head: &Head) -> Answer<Option<Event>> {
    let mut from = EventId(head.next_event.0.saturating_sub(1).max(1));
    loop {
        let read = space.engine.history_page(head.run, from, limits::HISTORY_PAGE).await;
        let mut read = read.map_err(status::of)?;
        match read.has_more() {
            true => from = EventId(read.end.0 - 1),
            false => return Ok(read.events.pop()),
        }
    }
}

fn waiting(run: RunId, next: EventId) -> GetWorkflowExecutionHistoryResponse {
    GetWorkflowExecutionHistoryResponse {
        history: Some(History::default()),
        next_page_token: token(run, next),
        ..Default::default()
    }
}

fn answer(
    space: &Space,
    queue: &str,
    events: &[&Event],
    next_page_token: Vec<u8>,
) -> Answer<GetWorkflowExecutionHistoryResponse> {
    let history = translate::history(events.iter().copied(), space.run(queue));
    let history = Some(history.map_err(status::untranslatable)?);
    Ok(GetWorkflowExecutionHistoryResponse { history, next_page_token, ..Default::default() })
}

/// A page of history, the newest event first.
pub(super) async fn page_back(
    door: &Door,
    request: Request<GetWorkflowExecutionHistoryReverseRequest>,
) -> Answer<GetWorkflowExecutionHistoryReverseResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let (head, last) = match request.next_page_token.as_slice() {
        [] => (space.head(request.execution.as_ref()).await?, EventId(u64::MAX)),
        token => {
            let (run, last) = read_token(space, token)?;
            (space.engine.head(run).await.map_err(status::of)?, last)
        }
    };
    let longest = longest(request.maximum_page_size);
    // What was acknowledged is taken in, and then stands at the end.
    let end =
        space.engine.history_page(head.run, head.next_event, 1).await.map_err(status::of)?.end;
    let last = last.min(EventId(end.0.saturating_sub(1)));
    let span = u64::try_from(longest).unwrap_or(u64::MAX);
    let from = EventId((last.0 + 1).saturating_sub(span).max(1));
    let read = space.engine.history_page(head.run, from, longest).await.map_err(status::of)?;
    let rest: Vec<_> = read.events.iter().rev().filter(|event| event.id <= last).collect();
    let (page, after) = page_of(&rest, longest);
    let before = (from > EventId(1)).then(|| EventId(from.0 - 1));
    let next_page_token = after.or(before).map(|after| token(head.run, after)).unwrap_or_default();
    let told = answer(space, head.queue.as_str(), &page, next_page_token)?;
    Ok(GetWorkflowExecutionHistoryReverseResponse {
        history: told.history,
        next_page_token: told.next_page_token,
    })
}
