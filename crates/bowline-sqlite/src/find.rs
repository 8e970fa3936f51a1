//! Lists of runs, page by page.
//!
//! One of the indexes narrows the runs down; whatever else the filter says is asked of each of
//! them by the function that all stores share.

use std::sync::Arc;

use bowline_core::{RunId, Time};
use bowline_store::{Error, Filter, Head, Order, Page};
use rusqlite::types::Value;

use crate::{
    blob::wide,
    db::{Db, Outcome},
    fault::Fault,
    limits, run,
};

pub(crate) fn find(db: Db<'_>, filter: &Filter) -> Outcome<Page> {
    let limit = filter.limit.min(limits::PAGE_MAX);
    let mut page = Page::default();
    let mut after = filter.after;
    // A page's worth of candidates at a time, until a page is full or there are no more.
    let most = limit.max(64) + 1;
    loop {
        let (sql, values) = query(filter, after, most);
        let values = rusqlite::params_from_iter(values);
        let candidates = db.all(&sql, values, |row| {
            let uuid = wide(row, 2)?;
            let run = RunId { namespace: filter.namespace, uuid };
            Ok((row.get(0)?, Time(row.get(1)?), run))
        })?;
        for (key, started_at, run) in &candidates {
            after = Some((*started_at, *run));
            let Some(head) = head(db, *key)?.filter(|head| filter.accepts(head)) else { continue };
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

/// The head of a run. One that does not read is left out: a list is no place to stop at it.
fn head(db: Db<'_>, key: i64) -> Outcome<Option<Head>> {
    let read = || {
        let Some(label) = run::label_at(db, key)? else { return Ok(None) };
        let mut found = run::run(db, Arc::new(label))?;
        run::complete(db, &mut found)?;
        Ok(Some(found.head))
    };
    match read() {
        Err(Fault::Said(Error::Corrupt { .. })) => Ok(None),
        other => other,
    }
}

fn query(filter: &Filter, after: Option<(Time, RunId)>, most: usize) -> (String, Vec<Value>) {
    let open = !filter.statuses.is_empty() && filter.statuses.iter().all(|status| status.is_open());
    let prefix = filter.workflow_id_prefix.as_ref().filter(|prefix| !prefix.is_empty());
    // Without statistics SQLite would rather not sort than look at few runs; so it is told.
    let index = match () {
        () if filter.workflow_id.is_some() || prefix.is_some() => "labels_workflow",
        () if filter.parent.is_some() => "labels_parent",
        () if filter.quarantined == Some(true) => "",
        () if open => "labels_open",
        () => "labels_started",
    };
    let from = match index {
        // Parked runs are few, and have an index of their own.
        "" => "labels NOT INDEXED WHERE key IN (SELECT r.key FROM runs r INDEXED BY runs_parked \
             WHERE r.quarantine IS NOT NULL) AND namespace = ?"
            .to_owned(),
        index => format!("labels INDEXED BY {index} WHERE namespace = ?"),
    };
    let mut sql = format!("SELECT key, started_at, uuid FROM {from}");
    let mut values = vec![Value::from(i64::from(filter.namespace.0))];
    let mut and = |condition: &str, more: Vec<Value>| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.extend(more);
    };
    let uuid = |run: RunId| Value::from(run.uuid.to_be_bytes().to_vec());
    if open {
        and("closed_at IS NULL", Vec::new());
    }
    if !filter.statuses.is_empty() && filter.statuses.iter().all(|status| !status.is_open()) {
        and("closed_at IS NOT NULL", Vec::new());
    }
    if let Some(parent) = filter.parent {
        and("parent = ?", vec![uuid(parent)]);
    }
    if let Some(id) = &filter.workflow_id {
        and("workflow_id = ?", vec![Value::from(id.as_str().to_owned())]);
    }
    if let Some(prefix) = prefix {
        // Text is compared by its bytes: nothing that begins so is beyond the prefix and 0xFF.
        let mut beyond = prefix.clone().into_bytes();
        beyond.push(0xFF);
        let bounds = vec![Value::from(prefix.clone()), Value::from(beyond)];
        and("workflow_id >= ? AND workflow_id < CAST(? AS TEXT)", bounds);
    }
    if let Some(name) = &filter.name {
        and("name = ?", vec![Value::from(name.as_str().to_owned())]);
    }
    if let Some(queue) = &filter.queue {
        and("queue = ?", vec![Value::from(queue.as_str().to_owned())]);
    }
    if let Some(from) = filter.started_from {
        and("started_at >= ?", vec![Value::from(from.0)]);
    }
    if let Some(before) = filter.started_before {
        and("started_at < ?", vec![Value::from(before.0)]);
    }
    let (follows, direction) = match filter.order {
        Order::Newest => ("(started_at, uuid) < (?, ?)", "DESC"),
        Order::Oldest => ("(started_at, uuid) > (?, ?)", "ASC"),
    };
    if let Some((time, run)) = after {
        and(follows, vec![Value::from(time.0), uuid(run)]);
    }
    sql.push_str(&format!(" ORDER BY started_at {direction}, uuid {direction} LIMIT ?"));
    values.push(Value::from(i64::try_from(most).unwrap_or(i64::MAX)));
    (sql, values)
}

#[cfg(test)]
mod tests {
    use bowline_core::{Namespace, Status};
    use rusqlite::Connection;

    use super::*;

    fn plan(filter: &Filter, after: bool) -> String {
        let db = Connection::open_in_memory().expect("memory");
        for step in [
            include_str!("../migrations/0001_tables.sql"),
            include_str!("../migrations/0005_parked.sql"),
        ] {
            db.execute_batch(step).expect("the schema");
        }
        let after = after.then(|| (Time(5), RunId::default()));
        let (sql, values) = query(filter, after, 100);
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("it is SQL");
        let values = rusqlite::params_from_iter(values);
        let lines = plan.query_map(values, |row| row.get(3)).expect("it is explained");
        lines.map(|line: rusqlite::Result<String>| line.expect("a line")).collect()
    }

    /// Nobody walks through all runs to find a few, and nobody sorts them to find the first.
    #[test]
    fn every_list_has_its_index() {
        let all = Filter { namespace: Namespace(1), ..Filter::default() };
        let open = vec![Status::Running, Status::Cancelling];
        let (id, prefix) = (Some("order-7".into()), Some("order".into()));
        for (filter, index, sorted) in [
            (all.clone(), "labels_started", true),
            (Filter { order: Order::Oldest, ..all.clone() }, "labels_started", true),
            (Filter { started_from: Some(Time(3)), ..all.clone() }, "labels_started", true),
            (Filter { statuses: open, ..all.clone() }, "labels_open", true),
            (Filter { workflow_id: id, ..all.clone() }, "labels_workflow", false),
            (Filter { workflow_id_prefix: prefix, ..all.clone() }, "labels_workflow", false),
            (Filter { parent: Some(RunId::default()), ..all.clone() }, "labels_parent", false),
            (Filter { quarantined: Some(true), ..all }, "SEARCH labels USING INTEGER", false),
        ] {
            for after in [false, true] {
                let plan = plan(&filter, after);
                // The index of parked runs holds nothing else.
                let walks = plan.replace("SCAN r USING INDEX runs_parked", "").contains("SCAN");
                assert!(plan.contains(index) && !walks, "{filter:?}: {plan}");
                assert!(!sorted || !plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
            }
        }
    }
}
