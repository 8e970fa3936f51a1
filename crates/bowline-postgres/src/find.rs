//! Lists of runs, page by page.
//!
//! One of the indexes narrows the runs down; whatever else the filter says is asked of each of
//! them by the function that all stores share.

use std::collections::HashMap;

use bowline_core::{RunId, Time};
use bowline_store::{Error, Filter, Head, Order, Page};

use crate::{
    blob::{self, count},
    db::{Db, Outcome, Value},
    fault::Fault,
    leftovers::SNAPSHOT,
    limits,
    row::Bind,
    run,
    shared::Shared,
};

pub(crate) async fn find(shared: &Shared, filter: &Filter) -> Outcome<Page> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    db.begin(SNAPSHOT).await?;
    let page = page(db, filter).await;
    db.roll_back().await;
    page
}

async fn page(db: Db<'_>, filter: &Filter) -> Outcome<Page> {
    let limit = filter.limit.min(limits::PAGE_MAX);
    let mut page = Page::default();
    let mut after = filter.after;
    // A page's worth of candidates at a time, until a page is full or there are no more.
    let most = limit.max(64) + 1;
    loop {
        let (sql, values) = query(filter, after, most);
        let values: Vec<Value<'_>> = values.iter().map(|value| &**value as Value<'_>).collect();
        let rows = db.rows(&sql, &values).await?;
        let mut candidates = Vec::new();
        for row in &rows {
            candidates.push((Time(row.try_get(2)?), blob::run_id(row, 0)?));
        }
        let mut heads = heads(db, &candidates).await?;
        for (started_at, run) in &candidates {
            after = Some((*started_at, *run));
            let Some(head) = heads.remove(run).filter(|head| filter.accepts(head)) else {
                continue;
            };
            if page.runs.len() == limit {
                page.next = page.runs.last().map(|head| (head.started_at, head.run));
                return Ok(page);
            }
            page.runs.push(head);
        }
        if candidates.len() < most {
            return Ok(page);
        }
    }
}

/// The heads of runs. One that does not read is left out: a list is no place to stop at it.
async fn heads(db: Db<'_>, candidates: &[(Time, RunId)]) -> Outcome<HashMap<RunId, Head>> {
    let ids: Vec<RunId> = candidates.iter().map(|(_, run)| *run).collect();
    let mut heads = HashMap::new();
    for (id, run) in run::whole(db, &ids).await? {
        match run {
            Ok(run) => drop(heads.insert(id, run.head)),
            Err(Fault::Said(Error::Corrupt { .. })) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(heads)
}

type Values = Vec<Box<dyn Bind + Send>>;

/// The table that candidates come from, and what has to be true of them besides. Open runs are few
/// beside the closed ones, and have an index of their own; whoever names a workflow id or a parent
/// is served by the labels' ones.
fn source(filter: &Filter) -> (&'static str, Option<&'static str>) {
    let all = |open: bool| {
        let mut statuses = filter.statuses.iter();
        !filter.statuses.is_empty() && statuses.all(|status| status.is_open() == open)
    };
    let is_named = filter.parent.is_some()
        || filter.workflow_id.is_some()
        || filter.workflow_id_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty());
    match (all(true), all(false)) {
        (true, _) if !is_named => ("@runs", Some("l.closed_at IS NULL")),
        (true, _) => (
            "@labels",
            Some(
                "(SELECT r.closed_at IS NULL FROM @runs r \
                 WHERE r.namespace = l.namespace AND r.run = l.run)",
            ),
        ),
        (_, true) => (
            "@labels",
            Some(
                "(SELECT r.closed_at IS NOT NULL FROM @runs r \
                 WHERE r.namespace = l.namespace AND r.run = l.run)",
            ),
        ),
        _ => ("@labels", None),
    }
}

pub(crate) fn query(
    filter: &Filter,
    after: Option<(Time, RunId)>,
    most: usize,
) -> (String, Values) {
    let (from, also) = source(filter);
    let mut sql =
        format!("SELECT l.namespace, l.run, l.started_at FROM {from} AS l WHERE l.namespace = $1");
    let mut values: Values = vec![Box::new(i64::from(filter.namespace.0))];
    let mut and = |condition: &str, more: Values| {
        let mut condition = condition.to_owned();
        for value in more {
            values.push(value);
            condition = condition.replacen('?', &format!("${}", values.len()), 1);
        }
        sql.push_str(" AND ");
        sql.push_str(&condition);
    };
    if let Some(also) = also {
        and(also, Vec::new());
    }
    if let Some(parent) = filter.parent {
        and("l.parent = ?", vec![Box::new(blob::uuid(parent))]);
    }
    if let Some(id) = &filter.workflow_id {
        and("l.workflow_id = ?", vec![Box::new(id.as_str().to_owned())]);
    }
    if let Some(prefix) = filter.workflow_id_prefix.as_ref().filter(|prefix| !prefix.is_empty()) {
        // Text is compared by its bytes: nothing that begins so is beyond the last character.
        let beyond = format!("{prefix}\u{10FFFF}");
        let bounds: Values = vec![Box::new(prefix.clone()), Box::new(beyond)];
        and("l.workflow_id >= ? AND l.workflow_id <= ?", bounds);
    }
    if let Some(name) = &filter.name {
        and("l.name = ?", vec![Box::new(name.as_str().to_owned())]);
    }
    if let Some(queue) = &filter.queue {
        and("l.queue = ?", vec![Box::new(queue.as_str().to_owned())]);
    }
    if let Some(from) = filter.started_from {
        and("l.started_at >= ?", vec![Box::new(from.0)]);
    }
    if let Some(before) = filter.started_before {
        and("l.started_at < ?", vec![Box::new(before.0)]);
    }
    let (follows, direction) = match filter.order {
        Order::Newest => ("(l.started_at, l.run) < (?, ?)", "DESC"),
        Order::Oldest => ("(l.started_at, l.run) > (?, ?)", "ASC"),
    };
    if let Some((time, run)) = after {
        and(follows, vec![Box::new(time.0), Box::new(blob::uuid(run))]);
    }
    let limit = values.len() + 1;
    sql.push_str(&format!(" ORDER BY l.started_at {direction}, l.run {direction} LIMIT ${limit}"));
    values.push(Box::new(count(most)));
    (sql, values)
}
