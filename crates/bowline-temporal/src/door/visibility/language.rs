//! The query language of lists: what a client writes, and whether a run is meant by it.
//!
//! `field = value`, `!=`, `<`, `<=`, `>`, `>=`, `IN (…)`, `NOT IN (…)`, `BETWEEN a AND b`,
//! `STARTS_WITH`, `NOT STARTS_WITH`, `IS NULL`, `IS NOT NULL`, joined with `AND`, `OR`, `NOT` and
//! brackets; then `ORDER BY StartTime [ASC|DESC]` (or `ExecutionTime`, `CloseTime`), or
//! `GROUP BY ExecutionStatus`.

mod field;
mod span;
mod term;
mod word;

use bowline_core::{Status, Time};
use bowline_engine::store::{Filter, Head, Order};
use temporalio_protos::temporal::api::enums::v1::WorkflowExecutionStatus;

use crate::door::workflow::begins;
use term::{Comparison, Term};
use word::Words;

/// How deep a query may be nested.
const DEPTH_MAX: usize = 64;
/// How long a query may be, in bytes.
const LENGTH_MAX: usize = 16 * 1024;

/// What a client looks for.
#[derive(Debug)]
pub(super) struct Query {
    condition: Option<Condition>,
    order: Order,
    /// Sorted by another moment than that of its start, in which stores have their runs.
    pub(super) sorted: Option<Sorted>,
    /// Counted by status.
    pub(super) groups: bool,
}

/// A moment that runs can be sorted by, although no store does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sorted {
    /// When they were to have their first turn.
    Beginning,
    /// When they closed; open runs are the newest.
    Close,
}

impl Sorted {
    pub(super) fn of(self, head: &Head) -> Time {
        match self {
            Self::Beginning => begins(head),
            Self::Close => head.closed_at.unwrap_or(Time::MAX),
        }
    }
}

#[derive(Debug)]
enum Condition {
    Is(Term),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl Query {
    /// Reads a query; an error says what was expected, and where.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LENGTH_MAX {
            return Err(format!("invalid query: it is longer than {LENGTH_MAX} bytes"));
        }
        let mut words = Words::read(text)?;
        let (order, sorted) = (Order::default(), None);
        let mut query = Self { condition: None, order, sorted, groups: false };
        if !words.is_at_end() && !words.sees("ORDER") && !words.sees("GROUP") {
            query.condition = Some(any(&mut words, 0)?);
        }
        if words.takes("GROUP") {
            words.expect("BY")?;
            let field = words.name()?;
            if field != "ExecutionStatus" {
                return Err(format!("invalid query: cannot group by {field:?}"));
            }
            query.groups = true;
        }
        if words.takes("ORDER") {
            words.expect("BY")?;
            let field = words.name()?;
            query.sorted = match field.as_str() {
                "StartTime" => None,
                "ExecutionTime" => Some(Sorted::Beginning),
                "CloseTime" => Some(Sorted::Close),
                _ => return Err(format!("invalid query: cannot order by {field:?}")),
            };
            query.order = if words.takes("ASC") { Order::Oldest } else { Order::Newest };
            words.takes("DESC");
        }
        words.finish()?;
        Ok(query)
    }

    /// Whether a run is meant.
    pub(super) fn accepts(&self, head: &Head, kin: &Kin) -> bool {
        self.condition.as_ref().is_none_or(|asked| asked.truth(head, kin) == Some(true))
    }

    /// Whether it matters what a run's parent, or the run at the top, is called.
    pub(super) fn asks_for_kin(&self) -> bool {
        self.condition.as_ref().is_some_and(Condition::asks_for_kin)
    }

    /// The oldest first.
    pub(super) fn is_ascending(&self) -> bool {
        self.order == Order::Oldest
    }

    /// What the store can sort out itself: equal words that every run meant must have.
    pub(super) fn filter(&self) -> Filter {
        let mut filter = Filter { order: self.order, ..Filter::default() };
        let must: &[Condition] = match &self.condition {
            Some(Condition::All(all)) => all,
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        for condition in must {
            range(condition, &mut filter);
            let Condition::Is(Term { field, comparison: Comparison::Equal(value) }) = condition
            else {
                continue;
            };
            let Some(text) = value.text() else { continue };
            match field.as_str() {
                "WorkflowId" => filter.workflow_id = Some(text.into()),
                "WorkflowType" => filter.name = Some(text.into()),
                "TaskQueue" => filter.queue = Some(text.into()),
                "ExecutionStatus" => filter.statuses = statuses(text),
                _ => {}
            }
        }
        filter
    }
}

/// What every run meant must lie between, as far as the store can look for it.
fn range(condition: &Condition, filter: &mut Filter) {
    use Comparison as C;
    let (term, is_not) = match condition {
        Condition::Is(term) => (term, false),
        Condition::Not(inner) => match &**inner {
            Condition::Is(term) => (term, true),
            _ => return,
        },
        _ => return,
    };
    let after = |at: Time| Time(at.0.saturating_add(1));
    let mut from = |at: Option<Time>| filter.started_from = filter.started_from.max(at);
    match (term.field.as_str(), &term.comparison, is_not) {
        ("StartTime", C::More(value), false) => from(value.moment().map(after)),
        ("StartTime", C::Less(value), true) => from(value.moment()),
        ("StartTime", C::Between(low, _), false) => from(low.moment()),
        ("StartTime", C::Less(value), false) => filter.started_before = value.moment(),
        ("StartTime", C::More(value), true) => {
            filter.started_before = value.moment().map(after);
        }
        ("CloseTime", C::Null, false) => filter.statuses = statuses("Running"),
        ("WorkflowId", C::StartsWith(value), false) => {
            filter.workflow_id_prefix = value.text().map(str::to_owned);
        }
        _ => {}
    }
}

/// What the kin of a run is called: its row only has their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Kin {
    pub(super) parent: Option<String>,
    pub(super) root: Option<String>,
}

impl Condition {
    /// Yes, no, or neither: what a run lacks cannot be compared, and then neither can what is
    /// said of it in the negative.
    fn truth(&self, head: &Head, kin: &Kin) -> Option<bool> {
        match self {
            Self::Is(term) => term.truth(head, kin),
            Self::Not(condition) => condition.truth(head, kin).map(|yes| !yes),
            Self::All(all) => joined(all.iter().map(|one| one.truth(head, kin)), false),
            Self::Any(any) => joined(any.iter().map(|one| one.truth(head, kin)), true),
        }
    }

    fn asks_for_kin(&self) -> bool {
        match self {
            Self::Is(term) => ["ParentWorkflowId", "RootWorkflowId"].contains(&term.field.as_str()),
            Self::Not(condition) => condition.asks_for_kin(),
            Self::All(all) | Self::Any(all) => all.iter().any(Self::asks_for_kin),
        }
    }
}

/// One that is `decisive` decides; where there is none, one that is neither leaves it open.
fn joined(all: impl Iterator<Item = Option<bool>>, decisive: bool) -> Option<bool> {
    let mut joined = Some(!decisive);
    for one in all {
        match one {
            Some(truth) if truth == decisive => return Some(decisive),
            Some(_) => {}
            None => joined = None,
        }
    }
    joined
}

fn any(words: &mut Words, depth: usize) -> Result<Condition, String> {
    let mut list = vec![all(words, depth)?];
    while words.takes("OR") {
        list.push(all(words, depth)?);
    }
    Ok(if list.len() == 1 { list.remove(0) } else { Condition::Any(list) })
}

fn all(words: &mut Words, depth: usize) -> Result<Condition, String> {
    let mut list = vec![one(words, depth)?];
    while words.takes("AND") {
        list.push(one(words, depth)?);
    }
    Ok(if list.len() == 1 { list.remove(0) } else { Condition::All(list) })
}

fn one(words: &mut Words, depth: usize) -> Result<Condition, String> {
    if depth > DEPTH_MAX {
        return Err("invalid query: it is nested too deeply".to_owned());
    }
    if words.takes("NOT") {
        return Ok(Condition::Not(Box::new(one(words, depth + 1)?)));
    }
    if words.takes("(") {
        let inner = any(words, depth + 1)?;
        words.expect(")")?;
        return Ok(inner);
    }
    let (term, negated) = Term::read(words)?;
    let is = Condition::Is(term);
    Ok(if negated { Condition::Not(Box::new(is)) } else { is })
}

/// The name of a status in queries and answers.
pub(super) fn status_name(status: i32) -> &'static str {
    use WorkflowExecutionStatus as S;
    match S::try_from(status).unwrap_or_default() {
        S::Running => "Running",
        S::Completed => "Completed",
        S::Failed => "Failed",
        S::Canceled => "Canceled",
        S::Terminated => "Terminated",
        S::ContinuedAsNew => "ContinuedAsNew",
        S::TimedOut => "TimedOut",
        _ => "Unspecified",
    }
}

fn statuses(name: &str) -> Vec<Status> {
    let named =
        |status: &Status| status_name(crate::translate::word::status(*status).into()) == name;
    Status::ALL.into_iter().filter(named).collect()
}

#[cfg(test)]
mod tests;
