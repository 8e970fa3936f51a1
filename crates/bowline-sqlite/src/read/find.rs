//! Lists of runs, page by page.
//!
//! Where a workflow id, a parent, or being parked leaves few runs, an index finds all of them.
//! Otherwise runs are walked through in the order of their beginning, so many for a page and no
//! more, and the page says where the next one goes on. Whatever else the filter says is asked of
//! each run by the function that all stores share.

use std::sync::Arc;

use bowline_core::{RunId, Time};
use bowline_store::{Error, Filter, Head, Order, Page};
use rusqlite::{Row, types::Value};

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    limits,
    rows::{blob::wide, run},
};

pub(crate) fn find(db: Db<'_>, filter: &Filter) -> Outcome<Page> {
    let limit = filter.limit.min(limits::PAGE_MAX);
    let (sql, values) = query(filter, narrow(db, filter)?);
    let (mut page, mut looks, mut last) = (Page::default(), 0, None);
    db.each(&sql, rusqlite::params_from_iter(values), |row| {
        if looks == Page::LOOKS_MAX {
            page.next = last;
            return Ok(false);
        }
        looks += 1;
        let found = RunId { namespace: filter.namespace, uuid: wide(row, 2)? };
        last = Some((Time(row.get(1)?), found));
        if !may_be(filter, row)? {
            return Ok(true);
        }
        let head = head(db, row.get(0)?)?;
        let Some(head) = head.filter(|head| filter.accepts(head)) else { return Ok(true) };
        if page.runs.len() == limit {
            page.next = page.runs.last().map(|head| (head.started_at, head.run));
            return Ok(false);
        }
        page.runs.push(head);
        Ok(true)
    })?;
    Ok(page)
}

/// What can be told without reading more of a run than its label.
fn may_be(filter: &Filter, row: &Row<'_>) -> Outcome<bool> {
    let text = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let (name, queue, id, closed) = (text(3)?, text(4)?, text(5)?, row.get::<_, bool>(6)?);
    Ok(filter.name.as_ref().is_none_or(|wanted| wanted.as_str() == name)
        && filter.queue.as_ref().is_none_or(|wanted| wanted.as_str() == queue)
        && filter.workflow_id.as_ref().is_none_or(|wanted| wanted.as_str() == id)
        && filter.workflow_id_prefix.as_ref().is_none_or(|prefix| id.starts_with(prefix))
        && (filter.statuses.is_empty()
            || filter.statuses.iter().any(|status| status.is_open() != closed)))
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

/// What leaves so few runs that all of them may be looked at, and sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Narrow {
    Id,
    Parent,
    Parked,
    Nothing,
}

fn narrow(db: Db<'_>, filter: &Filter) -> Outcome<Narrow> {
    for narrow in [Narrow::Id, Narrow::Parent, Narrow::Parked] {
        let Some((few, values)) = few(filter, narrow) else { continue };
        let most = Page::LOOKS_MAX + 1;
        let sql = format!("SELECT count(*) FROM ({few} LIMIT {most})");
        let values = rusqlite::params_from_iter(values);
        let count: Option<i64> = db.first(&sql, values, |row| row.get(0))?;
        if count.is_some_and(|count| usize::try_from(count).is_ok_and(|count| count < most)) {
            return Ok(narrow);
        }
    }
    Ok(Narrow::Nothing)
}

/// The keys of the runs that an index leaves, if the filter names what is in it.
fn few(filter: &Filter, narrow: Narrow) -> Option<(&'static str, Vec<Value>)> {
    let namespace = Value::from(i64::from(filter.namespace.0));
    match narrow {
        Narrow::Id => {
            let (sql, bounds) = by_id(filter)?;
            Some((sql, std::iter::once(namespace).chain(bounds).collect()))
        }
        Narrow::Parent => {
            let sql = "SELECT key FROM labels INDEXED BY labels_parent WHERE parent = ?";
            Some((sql, vec![uuid(filter.parent?)]))
        }
        Narrow::Parked => {
            let keys = run::keys(filter.namespace);
            let sql = "SELECT key FROM runs INDEXED BY runs_parked \
                       WHERE quarantine IS NOT NULL AND key BETWEEN ? AND ?";
            (filter.parked == Some(true))
                .then(|| (sql, vec![Value::from(*keys.start()), Value::from(*keys.end())]))
        }
        Narrow::Nothing => None,
    }
}

fn by_id(filter: &Filter) -> Option<(&'static str, Vec<Value>)> {
    if let Some(id) = &filter.workflow_id {
        let sql = "SELECT key FROM labels INDEXED BY labels_workflow \
                   WHERE namespace = ? AND workflow_id = ?";
        return Some((sql, vec![Value::from(id.as_str().to_owned())]));
    }
    let prefix = filter.workflow_id_prefix.as_ref().filter(|prefix| !prefix.is_empty())?;
    // Text is compared by its bytes: nothing that begins so is beyond the prefix and 0xFF.
    let mut beyond = prefix.clone().into_bytes();
    beyond.push(0xFF);
    let sql = "SELECT key FROM labels INDEXED BY labels_workflow \
               WHERE namespace = ? AND workflow_id >= ? AND workflow_id < CAST(? AS TEXT)";
    Some((sql, vec![Value::from(prefix.clone()), Value::from(beyond)]))
}

fn uuid(run: RunId) -> Value {
    Value::from(run.uuid.to_be_bytes().to_vec())
}

/// The runs that may be meant, in the order of the list: one more than a page looks at, so that it
/// is known whether there are more. Nothing is asked here that would have SQLite walk past runs
/// by itself.
fn query(filter: &Filter, narrow: Narrow) -> (String, Vec<Value>) {
    let open = !filter.statuses.is_empty() && filter.statuses.iter().all(|status| status.is_open());
    // Without statistics SQLite would rather not sort than look at few runs; so it is told.
    let (from, mut values) = match few(filter, narrow) {
        Some((few, values)) => (format!("labels NOT INDEXED WHERE key IN ({few})"), values),
        None if open => ("labels INDEXED BY labels_open WHERE closed_at IS NULL".into(), vec![]),
        None => ("labels INDEXED BY labels_started WHERE true".into(), vec![]),
    };
    let mut sql = format!(
        "SELECT key, started_at, uuid, name, queue, workflow_id, closed_at IS NOT NULL FROM {from}"
    );
    let mut and = |condition: &str, more: Vec<Value>| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.extend(more);
    };
    and("namespace = ?", vec![Value::from(i64::from(filter.namespace.0))]);
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
    if let Some((time, run)) = filter.after {
        and(follows, vec![Value::from(time.0), uuid(run)]);
    }
    sql.push_str(&format!(" ORDER BY started_at {direction}, uuid {direction} LIMIT ?"));
    values.push(Value::from(i64::try_from(Page::LOOKS_MAX + 1).unwrap_or(i64::MAX)));
    (sql, values)
}

#[cfg(test)]
mod tests {
    use bowline_core::{Namespace, Status};
    use rusqlite::Connection;

    use super::*;

    fn plan(filter: &Filter, narrow: Narrow, after: bool) -> String {
        let db = Connection::open_in_memory().expect("memory");
        for step in [
            include_str!("../../migrations/0001_tables.sql"),
            include_str!("../../migrations/0005_parked.sql"),
        ] {
            db.execute_batch(step).expect("the schema");
        }
        let after = after.then(|| (Time(5), RunId::default()));
        let (sql, values) = query(&Filter { after, ..filter.clone() }, narrow);
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
        use Narrow::{Id, Nothing, Parent, Parked};
        for (filter, narrow, index) in [
            (all.clone(), Nothing, "labels_started"),
            (Filter { order: Order::Oldest, ..all.clone() }, Nothing, "labels_started"),
            (Filter { started_from: Some(Time(3)), ..all.clone() }, Nothing, "labels_started"),
            (Filter { statuses: open, ..all.clone() }, Nothing, "labels_open"),
            (Filter { workflow_id: id, ..all.clone() }, Id, "labels_workflow"),
            (Filter { workflow_id_prefix: prefix, ..all.clone() }, Id, "labels_workflow"),
            (Filter { parent: Some(RunId::default()), ..all.clone() }, Parent, "labels_parent"),
            (Filter { parked: Some(true), ..all }, Parked, "runs_parked"),
        ] {
            for after in [false, true] {
                let plan = plan(&filter, narrow, after);
                assert!(plan.contains(index) && !plan.contains("SCAN"), "{filter:?}: {plan}");
                let sorted = narrow == Nothing;
                assert!(!sorted || !plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
            }
        }
    }
}
