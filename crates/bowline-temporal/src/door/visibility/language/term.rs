//! One comparison of a query: a field of a run, and what it should be.

use std::cmp::Ordering;

use bowline_core::{SearchValue, Time};
use bowline_engine::store::Head;

use super::{Kin, status_name, word::Words};
use crate::{
    door::workflow::begins,
    translate::{time, word},
};

/// One comparison.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) field: String,
    pub(super) comparison: Comparison,
}

#[derive(Debug)]
pub(super) enum Comparison {
    Equal(Value),
    Less(Value),
    More(Value),
    In(Vec<Value>),
    Between(Value, Value),
    StartsWith(Value),
    Null,
}

/// What a client wrote; what it means depends on what it is compared with.
#[derive(Clone, Debug)]
pub(super) struct Value {
    text: String,
    is_quoted: bool,
}

impl Value {
    fn read(words: &mut Words) -> Result<Self, String> {
        let (text, is_quoted) = words.value()?;
        Ok(Self { text, is_quoted })
    }

    /// The moment, where it is one.
    pub(super) fn moment(&self) -> Option<Time> {
        time::read_moment(&self.text)
    }

    /// The text, where it is one.
    pub(super) fn text(&self) -> Option<&str> {
        self.is_quoted.then_some(self.text.as_str())
    }
}

/// What a run has under a field.
enum Found {
    Text(String),
    Words(Vec<String>),
    Number(f64),
    Time(Time),
    Bool(bool),
}

impl Term {
    /// Reads a comparison, and whether it is negated.
    pub(super) fn read(words: &mut Words) -> Result<(Self, bool), String> {
        use Comparison as C;
        let field = words.name()?;
        check_field(&field)?;
        let (comparison, negated) = if words.takes("=") {
            (C::Equal(Value::read(words)?), false)
        } else if words.takes("!=") || words.takes("<>") {
            (C::Equal(Value::read(words)?), true)
        } else if words.takes("<=") {
            (C::More(Value::read(words)?), true)
        } else if words.takes(">=") {
            (C::Less(Value::read(words)?), true)
        } else if words.takes("<") {
            (C::Less(Value::read(words)?), false)
        } else if words.takes(">") {
            (C::More(Value::read(words)?), false)
        } else if words.takes("IS") {
            let not = words.takes("NOT");
            words.expect("NULL")?;
            (C::Null, not)
        } else {
            let not = words.takes("NOT");
            (of_words(words)?, not)
        };
        Ok((Self { field, comparison }, negated))
    }

    /// Whether it is true of a run. What a run does not have is only null.
    pub(super) fn accepts(&self, head: &Head, kin: &Kin) -> bool {
        let Some(found) = found(head, kin, &self.field) else {
            return matches!(self.comparison, Comparison::Null);
        };
        match &self.comparison {
            Comparison::Null => false,
            Comparison::Equal(value) => found.equals(value),
            Comparison::In(values) => values.iter().any(|value| found.equals(value)),
            Comparison::Less(value) => found.order(value) == Some(Ordering::Less),
            Comparison::More(value) => found.order(value) == Some(Ordering::Greater),
            Comparison::Between(low, high) => {
                let from = found.order(low).is_some_and(Ordering::is_ge);
                from && found.order(high).is_some_and(Ordering::is_le)
            }
            Comparison::StartsWith(value) => match &found {
                Found::Text(text) => text.starts_with(&value.text),
                Found::Words(words) => words.iter().any(|word| word.starts_with(&value.text)),
                _ => false,
            },
        }
    }
}

fn of_words(words: &mut Words) -> Result<Comparison, String> {
    if words.takes("STARTS_WITH") {
        return Ok(Comparison::StartsWith(Value::read(words)?));
    }
    if words.takes("BETWEEN") {
        let low = Value::read(words)?;
        words.expect("AND")?;
        return Ok(Comparison::Between(low, Value::read(words)?));
    }
    words.expect("IN")?;
    words.expect("(")?;
    let mut values = vec![Value::read(words)?];
    while words.takes(",") {
        values.push(Value::read(words)?);
    }
    words.expect(")")?;
    Ok(Comparison::In(values))
}

/// Fields that Temporal has and this server does not keep for lists.
fn check_field(field: &str) -> Result<(), String> {
    match field == "BuildIds" {
        true => Err(format!("invalid query: runs cannot be found by {field} yet")),
        false => Ok(()),
    }
}

fn found(head: &Head, kin: &Kin, field: &str) -> Option<Found> {
    let count = |number: u64| Found::Number(number as f64);
    Some(match field {
        "WorkflowId" => Found::Text(head.workflow_id.to_string()),
        "RunId" => Found::Text(head.run.to_string()),
        "WorkflowType" => Found::Text(head.name.to_string()),
        "TaskQueue" => Found::Text(head.queue.to_string()),
        "ExecutionStatus" => Found::Text(status_name(word::status(head.status).into()).to_owned()),
        "StartTime" => Found::Time(head.started_at),
        "ExecutionTime" => Found::Time(begins(head)),
        "CloseTime" => Found::Time(head.closed_at?),
        "ExecutionDuration" => {
            count(u64::try_from(head.closed_at?.since(begins(head)).as_nanos()).ok()?)
        }
        "HistoryLength" => count(head.next_event.0 - 1),
        "HistorySizeBytes" => count(head.history_bytes),
        "ParentRunId" => Found::Text(head.parent?.0.to_string()),
        "ParentWorkflowId" => Found::Text(kin.parent.clone()?),
        "RootWorkflowId" => Found::Text(kin.root.clone()?),
        "RootRunId" => Found::Text(head.root.to_string()),
        custom => match &head.search.get(custom)?.value {
            SearchValue::Keyword(text) => Found::Text(text.clone()),
            SearchValue::Text(text) => {
                Found::Words(text.split_whitespace().map(str::to_owned).collect())
            }
            SearchValue::Keywords(words) => Found::Words(words.clone()),
            SearchValue::Int(number) => Found::Number(*number as f64),
            SearchValue::Double(number) => Found::Number(*number),
            SearchValue::Bool(yes) => Found::Bool(*yes),
            SearchValue::Time(at) => Found::Time(*at),
            _ => return None,
        },
    })
}

impl Found {
    fn equals(&self, value: &Value) -> bool {
        match self {
            Self::Words(words) => words.contains(&value.text),
            Self::Bool(yes) => value.text.eq_ignore_ascii_case(&yes.to_string()),
            _ => self.order(value) == Some(Ordering::Equal),
        }
    }

    fn order(&self, value: &Value) -> Option<Ordering> {
        match self {
            Self::Text(text) => Some(text.as_str().cmp(value.text.as_str())),
            Self::Number(number) => number.partial_cmp(&value.text.parse().ok()?),
            Self::Time(at) => Some(at.cmp(&time::read_moment(&value.text)?)),
            Self::Words(_) | Self::Bool(_) => None,
        }
    }
}
