//! Lists of runs.

mod language;

use bowline_core::{RunId, Time};
use bowline_engine::store::{Filter, Head};
use prost::Message;
use temporalio_protos::temporal::api::{
    common::v1::Payload,
    workflow::v1::WorkflowExecutionInfo,
    workflowservice::v1::{count_workflow_executions_response::AggregationGroup, *},
};
use tonic::{Request, Status};

use super::{Door, namespace::Space, shown, workflow};
use crate::{
    limits,
    status::{self, Answer},
    translate::word,
};
use language::{Kin, Query, Sorted};

type Place = (Time, RunId);

pub(super) async fn list(
    door: &Door,
    request: Request<ListWorkflowExecutionsRequest>,
) -> Answer<ListWorkflowExecutionsResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let query = Query::parse(&request.query).map_err(status::invalid)?;
    if query.groups {
        return Err(status::invalid("a list cannot be grouped: count instead"));
    }
    let wanted = usize::try_from(request.page_size).unwrap_or(0);
    let wanted = if wanted == 0 { limits::LIST_PAGE } else { wanted.min(limits::LIST_PAGE) };
    let mut after = read_token(space, &request.next_page_token)?;
    let _turn = door.inner.reads.turn().await?;
    if let Some(by) = query.sorted {
        return sorted(space, &query, by, (after, wanted)).await;
    }
    let mut family = Family::default();
    let (mut executions, mut bytes, mut pages) = (Vec::new(), 0, Pages::new(limits::LIST_LOOKS));
    loop {
        let (heads, next) = pages.read(space, &query, after).await?;
        let mut heads = heads.into_iter();
        for head in heads.by_ref() {
            if query.accepts(&head, &family.asked(space, &query, &head).await?) {
                let shown = listed(&head, &family.kin(space, &head).await?)?;
                bytes += shown.encoded_len();
                executions.push(shown);
            }
            after = Some((head.started_at, head.run));
            if executions.len() == wanted || bytes > limits::LIST_BYTES {
                break;
            }
        }
        if heads.len() == 0 {
            // Beyond what was looked at in vain, too.
            after = next.or(after);
        }
        let is_last = heads.len() == 0 && next.is_none();
        // Who asks for what is hardly there is told how far it was looked for.
        let is_full = executions.len() == wanted || bytes > limits::LIST_BYTES || pages.is_over();
        if is_last || is_full {
            let next_page_token = after.filter(|_| !is_last).map(token).unwrap_or_default();
            return Ok(ListWorkflowExecutionsResponse { executions, next_page_token });
        }
    }
}

/// A page in an order that stores do not have: all runs that are meant are read.
async fn sorted(
    space: &Space,
    query: &Query,
    by: Sorted,
    (after, wanted): (Option<Place>, usize),
) -> Answer<ListWorkflowExecutionsResponse> {
    let place = |head: &Head| (by.of(head), head.run);
    let mut family = Family::default();
    let (mut found, mut from) = (Vec::new(), None);
    let mut pages = Pages::new(limits::COUNT_LOOKS);
    loop {
        let (heads, next) = pages.read(space, query, from).await?;
        for head in heads {
            if query.accepts(&head, &family.asked(space, query, &head).await?) {
                found.push(head);
            }
        }
        if found.len() > limits::LIST_SORTED {
            let why =
                format!("more than {} runs cannot be sorted: ask for fewer", limits::LIST_SORTED);
            return Err(status::invalid(why));
        }
        match next {
            Some(_) if pages.is_over() => return Err(too_many()),
            Some(next) => from = Some(next),
            None => break,
        }
    }
    found.sort_by_key(place);
    if !query.is_ascending() {
        found.reverse();
    }
    let follows = |head: &Head, after: Place| match query.is_ascending() {
        true => place(head) > after,
        false => place(head) < after,
    };
    found.retain(|head| after.is_none_or(|after| follows(head, after)));
    let more = found.len() > wanted;
    found.truncate(wanted);
    let next_page_token = found.last().filter(|_| more).map(|head| token(place(head)));
    let mut executions = Vec::with_capacity(found.len());
    for head in &found {
        executions.push(listed(head, &family.kin(space, head).await?)?);
    }
    Ok(ListWorkflowExecutionsResponse {
        executions,
        next_page_token: next_page_token.unwrap_or_default(),
    })
}

/// A run as lists show it.
fn listed(head: &Head, kin: &Kin) -> Answer<WorkflowExecutionInfo> {
    let parent = head.parent.zip(kin.parent.as_ref());
    let parent = parent.map(|((run, _), id)| shown::execution(run, &id.as_str().into()));
    let root = kin.root.as_ref().map(|id| shown::execution(head.root, &id.as_str().into()));
    let info = workflow::info(head, None)?;
    let root_execution = root.or(info.root_execution);
    Ok(WorkflowExecutionInfo { parent_execution: parent, root_execution, ..info })
}

/// What runs are called that others belong to, as far as somebody asked.
#[derive(Default)]
struct Family(std::collections::BTreeMap<RunId, Option<String>>);

impl Family {
    /// As far as a query asks for it.
    async fn asked(&mut self, space: &Space, query: &Query, head: &Head) -> Answer<Kin> {
        match query.asks_for_kin() {
            true => self.kin(space, head).await,
            false => Ok(Kin::default()),
        }
    }

    async fn kin(&mut self, space: &Space, head: &Head) -> Answer<Kin> {
        let parent = match head.parent {
            Some((parent, _)) => self.name(space, parent).await?,
            None => None,
        };
        let root = match head.root == head.run {
            true => Some(head.workflow_id.to_string()),
            false => self.name(space, head.root).await?,
        };
        Ok(Kin { parent, root })
    }

    async fn name(&mut self, space: &Space, run: RunId) -> Answer<Option<String>> {
        if let Some(known) = self.0.get(&run) {
            return Ok(known.clone());
        }
        let found = match space.engine.head(run).await {
            Ok(head) => Some(head.workflow_id.to_string()),
            // It is gone: nobody knows any more.
            Err(bowline_engine::Error::NotFound(_)) => None,
            Err(error) => return Err(status::of(error)),
        };
        if self.0.len() >= limits::LIST_SORTED {
            self.0.clear();
        }
        self.0.insert(run, found.clone());
        Ok(found)
    }
}

pub(super) async fn count(
    door: &Door,
    request: Request<CountWorkflowExecutionsRequest>,
) -> Answer<CountWorkflowExecutionsResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let query = Query::parse(&request.query).map_err(status::invalid)?;
    let mut by_status = std::collections::BTreeMap::<i32, i64>::new();
    let mut family = Family::default();
    let _turn = door.inner.reads.turn().await?;
    let (mut after, mut pages) = (None, Pages::new(limits::COUNT_LOOKS));
    loop {
        let (heads, next) = pages.read(space, &query, after).await?;
        for head in &heads {
            if !query.accepts(head, &family.asked(space, &query, head).await?) {
                continue;
            }
            *by_status.entry(word::status(head.status).into()).or_default() += 1;
        }
        match next {
            Some(_) if pages.is_over() => return Err(too_many()),
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let count = by_status.values().sum();
    let groups = by_status
        .into_iter()
        .filter(|_| query.groups)
        .map(|(status, count)| AggregationGroup { group_values: vec![name(status)], count });
    Ok(CountWorkflowExecutionsResponse { count, groups: groups.collect() })
}

fn name(status: i32) -> Payload {
    let text = serde_json::Value::from(language::status_name(status)).to_string();
    let metadata = [("encoding", "json/plain"), ("type", "Keyword")];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
    Payload { metadata: metadata.into(), data: text.into_bytes(), ..Default::default() }
}

/// Runs are read in pieces: as many at once as are not much together, and so many in all.
struct Pages {
    at_once: usize,
    left: usize,
}

impl Pages {
    fn new(left: usize) -> Self {
        Self { at_once: limits::LIST_FIRST, left }
    }

    /// No more are looked at for this call.
    fn is_over(&self) -> bool {
        self.left == 0
    }

    async fn read(
        &mut self,
        space: &Space,
        query: &Query,
        after: Option<Place>,
    ) -> Answer<(Vec<Head>, Option<Place>)> {
        let limit = self.at_once.min(self.left).max(1);
        let filter = Filter { after, limit, ..query.filter() };
        let page = space.engine.find(filter).await.map_err(status::of)?;
        // A page that is not full, and not the last, stands for all that were looked at in vain.
        let looked = match page.next.is_some() && page.runs.len() < limit {
            true => limits::LIST_LOOKS,
            false => page.runs.len().max(1),
        };
        self.left = self.left.saturating_sub(looked);
        self.at_once = at_once(&page.runs);
        Ok((page.runs, page.next))
    }
}

/// How many runs like these are read at once. What runs bring for lists may be large.
fn at_once(runs: &[Head]) -> usize {
    let bytes: usize = runs.iter().map(weight).sum();
    let each = bytes / runs.len().max(1) + 1;
    (limits::LIST_BYTES / each).clamp(1, limits::LIST_PAGE)
}

/// What a run has for lists, in bytes.
fn weight(head: &Head) -> usize {
    let memo: usize = head.memo.values().map(bowline_core::Payload::len).sum();
    let search: usize = head.search.values().map(bowline_core::SearchField::len).sum();
    memo + search
}

/// There are more runs than are looked at for one call.
fn too_many() -> Status {
    let most = limits::COUNT_LOOKS;
    Status::resource_exhausted(format!("more than {most} runs would be looked at: ask for fewer"))
}

fn token((at, run): Place) -> Vec<u8> {
    let mut token = at.0.to_be_bytes().to_vec();
    token.extend(run.uuid.to_be_bytes());
    token
}

fn read_token(space: &Space, token: &[u8]) -> Answer<Option<Place>> {
    if token.is_empty() {
        return Ok(None);
    }
    let bad = || status::invalid("Invalid NextPageToken.");
    if token.len() != 24 {
        return Err(bad());
    }
    let at = token[..8].try_into().map_err(|_| bad())?;
    let uuid = token[8..].try_into().map_err(|_| bad())?;
    let run = RunId { uuid: u128::from_be_bytes(uuid), ..space.engine.mint() };
    Ok(Some((Time(i64::from_be_bytes(at)), run)))
}
