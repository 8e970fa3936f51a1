//! Lists of runs, page by page.
//!
//! Where a workflow id or a parent leaves few runs, an index finds all of them. Otherwise runs are
//! walked through in the order of their beginning, so many for a page and no more, and the page
//! says where the next one goes on. Whatever else the filter says is asked of each run by the
//! function that all stores share.

use std::collections::HashMap;

use bowline_core::{RunId, Time};
use bowline_store::{Error, Filter, Head, Order, Page};

use crate::{
    connection::{
        db::{Db, Outcome, Value},
        row::Bind,
    },
    fault::Fault,
    limits,
    rows::{
        blob::{self, count},
        run,
    },
    shared::Shared,
};

pub(crate) async fn find(shared: &Shared, filter: &Filter) -> Outcome<Page> {
    let lent = shared.lend_to_read().await?;
    let db = Db::own(&lent, shared);
    let mut list = List { db, filter, page: Page::default(), last: filter.after };
    match narrow(db, filter).await? {
        Some(few) => {
            list.add(&few).await?;
        }
        None => walk(&mut list).await?,
    }
    Ok(list.page)
}

/// A run that may be meant.
struct Candidate {
    place: (Time, RunId),
    /// As far as its label tells.
    fits: bool,
}

/// A page in the making.
struct List<'l> {
    db: Db<'l>,
    filter: &'l Filter,
    page: Page,
    /// The last run that was looked at.
    last: Option<(Time, RunId)>,
}

impl List<'_> {
    /// Adds those that are meant; false if the page was full before there were no more.
    async fn add(&mut self, candidates: &[Candidate]) -> Outcome<bool> {
        let limit = self.filter.limit.min(limits::PAGE_MAX);
        for some in candidates.chunks(limit.max(64) + 1) {
            let fitting: Vec<RunId> =
                some.iter().filter(|own| own.fits).map(|own| own.place.1).collect();
            let mut heads = heads(self.db, &fitting).await?;
            for Candidate { place, .. } in some {
                self.last = Some(*place);
                let found = heads.remove(&place.1).filter(|head| self.filter.accepts(head));
                let Some(head) = found else { continue };
                if self.page.runs.len() == limit {
                    self.page.next = self.page.runs.last().map(|head| (head.started_at, head.run));
                    return Ok(false);
                }
                self.page.runs.push(head);
            }
        }
        Ok(true)
    }
}

/// Looks at runs in the order of their beginning: a page's worth at a time, until a page is full,
/// enough were looked at, or there are no more.
async fn walk(list: &mut List<'_>) -> Outcome<()> {
    let mut left = Page::LOOKS_MAX;
    let mut most = list.filter.limit.clamp(64, Page::LOOKS_MAX - 1) + 1;
    loop {
        most = most.min(left);
        let (sql, values) = query(list.filter, list.last, most);
        let found = candidates(list.db, &sql, &values).await?;
        if !list.add(&found).await? || found.len() < most {
            return Ok(());
        }
        left -= found.len();
        if left == 0 {
            list.page.next = list.last;
            return Ok(());
        }
        most = most.saturating_mul(4);
    }
}

/// All runs of a workflow id, of those that begin so, or of a parent, in order, if these are few;
/// none if they are many, or if the filter names nothing of the kind.
async fn narrow(db: Db<'_>, filter: &Filter) -> Outcome<Option<Vec<Candidate>>> {
    let Some((sql, values)) = few(filter) else { return Ok(None) };
    let mut found = candidates(db, &sql, &values).await?;
    if found.len() > Page::LOOKS_MAX {
        return Ok(None);
    }
    let follows = |place: (Time, RunId), after| match filter.order {
        Order::Newest => place < after,
        Order::Oldest => place > after,
    };
    found.retain(|own| filter.after.is_none_or(|after| follows(own.place, after)));
    found.sort_unstable_by_key(|own| own.place);
    if filter.order == Order::Newest {
        found.reverse();
    }
    Ok(Some(found))
}

async fn candidates(db: Db<'_>, sql: &str, values: &Values) -> Outcome<Vec<Candidate>> {
    let values: Vec<Value<'_>> = values.iter().map(|value| &**value as Value<'_>).collect();
    let rows = db.rows(sql, &values).await?;
    let candidate = |row: &crate::connection::row::Row| {
        let place = (Time(row.try_get(2)?), blob::run_id(row, 0)?);
        let fits: Option<bool> = row.try_get(3)?;
        Ok(Candidate { place, fits: fits.unwrap_or(false) })
    };
    rows.iter().map(candidate).collect()
}

/// The heads of runs. One that does not read is left out: a list is no place to stop at it.
async fn heads(db: Db<'_>, ids: &[RunId]) -> Outcome<HashMap<RunId, Head>> {
    let mut heads = HashMap::new();
    if ids.is_empty() {
        return Ok(heads);
    }
    for (id, run) in run::whole(db, ids).await? {
        match run {
            Ok(run) => drop(heads.insert(id, run.head)),
            Err(Fault::Said(Error::Corrupt { .. })) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(heads)
}

type Values = Vec<Box<dyn Bind + Send>>;

/// A text and its values.
#[derive(Default)]
struct Asked {
    values: Values,
}

impl Asked {
    /// Puts values where the question marks are.
    fn bind(&mut self, condition: &str, more: Values) -> String {
        let mut condition = condition.to_owned();
        for value in more {
            self.values.push(value);
            condition = condition.replacen('?', &format!("${}", self.values.len()), 1);
        }
        condition
    }

    /// What a label `l` must say of a workflow id or a parent; or that its run is parked.
    fn named(&mut self, filter: &Filter) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(parent) = filter.parent {
            all.push(self.bind("l.parent = ?", vec![Box::new(blob::uuid(parent))]));
        }
        if let Some(id) = &filter.workflow_id {
            all.push(self.bind("l.workflow_id = ?", vec![Box::new(id.as_str().to_owned())]));
        }
        let prefix = filter.workflow_id_prefix.as_ref().filter(|prefix| !prefix.is_empty());
        if let Some(prefix) = prefix {
            // Text is compared by its bytes: nothing that begins so is beyond the last character.
            let beyond = format!("{prefix}\u{10FFFF}");
            let bounds: Values = vec![Box::new(prefix.clone()), Box::new(beyond)];
            all.push(self.bind("l.workflow_id >= ? AND l.workflow_id <= ?", bounds));
        }
        if filter.parked == Some(true) {
            all.push(
                "(l.started_at, l.run) IN (SELECT p.started_at, p.run FROM @runs p \
                 WHERE p.namespace = $1 AND p.quarantine IS NOT NULL)"
                    .into(),
            );
        }
        all
    }

    /// What it must say of the rest, which no index tells.
    fn plain(&mut self, filter: &Filter) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(name) = &filter.name {
            all.push(self.bind("l.name = ?", vec![Box::new(name.as_str().to_owned())]));
        }
        if let Some(queue) = &filter.queue {
            all.push(self.bind("l.queue = ?", vec![Box::new(queue.as_str().to_owned())]));
        }
        for (all_of, closed) in [(true, "IS NULL"), (false, "IS NOT NULL")] {
            if !filter.statuses.is_empty() && are_all(filter, all_of) {
                all.push(format!(
                    "(SELECT r.closed_at {closed} FROM @runs r \
                     WHERE r.namespace = l.namespace AND r.run = l.run)"
                ));
            }
        }
        all
    }
}

/// Whether only open runs are meant, or only closed ones.
fn are_all(filter: &Filter, open: bool) -> bool {
    filter.statuses.iter().all(|status| status.is_open() == open)
}

/// So many runs of a workflow id or a parent that it is known whether there are too many.
pub(crate) fn few(filter: &Filter) -> Option<(String, Values)> {
    let mut asked = Asked { values: vec![Box::new(i64::from(filter.namespace.0))] };
    let named = asked.named(filter);
    if named.is_empty() {
        return None;
    }
    let named = named.join(" AND ");
    let mut fits = asked.plain(filter);
    fits.push("true".into());
    let fits = fits.join(" AND ");
    asked.values.push(Box::new(count(Page::LOOKS_MAX + 1)));
    let sql = format!(
        "SELECT l.namespace, l.run, l.started_at, {fits} FROM @labels l \
         WHERE l.namespace = $1 AND {named} LIMIT ${}",
        asked.values.len()
    );
    Some((sql, asked.values))
}

/// Runs in the order of their beginning, each with what its label says to the filter. Open runs
/// are few beside the closed ones, and have an index of their own.
pub(crate) fn query(
    filter: &Filter,
    after: Option<(Time, RunId)>,
    most: usize,
) -> (String, Values) {
    let mut asked = Asked { values: vec![Box::new(i64::from(filter.namespace.0))] };
    let is_open = !filter.statuses.is_empty() && are_all(filter, true);
    let mut walked = vec!["o.namespace = $1".to_owned()];
    if is_open {
        walked.push("o.closed_at IS NULL".into());
    }
    if let Some(from) = filter.started_from {
        walked.push(asked.bind("o.started_at >= ?", vec![Box::new(from.0)]));
    }
    if let Some(before) = filter.started_before {
        walked.push(asked.bind("o.started_at < ?", vec![Box::new(before.0)]));
    }
    let (follows, direction) = match filter.order {
        Order::Newest => ("(o.started_at, o.run) < (?, ?)", "DESC"),
        Order::Oldest => ("(o.started_at, o.run) > (?, ?)", "ASC"),
    };
    if let Some((time, run)) = after {
        walked.push(asked.bind(follows, vec![Box::new(time.0), Box::new(blob::uuid(run))]));
    }
    let mut fits = asked.named(filter);
    fits.extend(asked.plain(filter));
    fits.push("true".into());
    let (walked, fits) = (walked.join(" AND "), fits.join(" AND "));
    asked.values.push(Box::new(count(most)));
    let from = if is_open { "@runs" } else { "@labels" };
    let sql = format!(
        "SELECT l.namespace, l.run, l.started_at, {fits} FROM (\
             SELECT o.namespace, o.run, o.started_at FROM {from} o WHERE {walked} \
             ORDER BY o.started_at {direction}, o.run {direction} LIMIT ${}) AS c \
         JOIN @labels l ON l.namespace = c.namespace AND l.started_at = c.started_at \
         AND l.run = c.run ORDER BY l.started_at {direction}, l.run {direction}",
        asked.values.len()
    );
    (sql, asked.values)
}
