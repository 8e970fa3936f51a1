//! One comparison of a query: a field of a run, and what it should be.

use std::cmp::Ordering;

use bowline_core::{SearchValue, Time};
use bowline_engine::store::Head;

use super::{Kin, field, joined, span, status_name, word::Words};
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

    /// The moment, where it is one: as JSON has it, or in nanoseconds.
    pub(super) fn moment(&self) -> Option<Time> {
        match self.text.parse::<i64>() {
            Ok(nanos) if !self.is_quoted => Some(Time(nanos.div_euclid(1_000))),
            _ => time::read_moment(&self.text),
        }
    }

    /// The number, where it is one.
    pub(super) fn number(&self) -> Option<f64> {
        self.text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The span, where it is one, in nanoseconds.
    pub(super) fn span(&self) -> Option<i128> {
        span::read(&self.text)
    }

    /// As it was written, without quotes.
    pub(super) fn written(&self) -> &str {
        &self.text
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
    /// In nanoseconds.
    Span(i128),
    Time(Time),
    Bool(bool),
}

impl Term {
    /// Reads a comparison, and whether it is negated.
    pub(super) fn read(words: &mut Words) -> Result<(Self, bool), String> {
        use Comparison as C;
        let field = words.name()?;
        field::check(&field)?;
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
        field::check_values(&field, &comparison)?;
        Ok((Self { field, comparison }, negated))
    }

    /// Whether it is true of a run, where that can be said: what a run does not have is only null,
    /// and what does not read as a value of the field's type is neither more nor less than it.
    pub(super) fn truth(&self, head: &Head, kin: &Kin) -> Option<bool> {
        let Some(found) = found(head, kin, &self.field) else {
            return matches!(self.comparison, Comparison::Null).then_some(true);
        };
        match &self.comparison {
            Comparison::Null => Some(false),
            Comparison::Equal(value) => found.equals(value),
            Comparison::In(values) => joined(values.iter().map(|value| found.equals(value)), true),
            Comparison::Less(value) => found.order(value).map(Ordering::is_lt),
            Comparison::More(value) => found.order(value).map(Ordering::is_gt),
            Comparison::Between(low, high) => {
                let bounds =
                    [found.order(low).map(Ordering::is_ge), found.order(high).map(Ordering::is_le)];
                joined(bounds.into_iter(), false)
            }
            Comparison::StartsWith(value) => match &found {
                Found::Text(text) => Some(text.starts_with(&value.text)),
                Found::Words(words) => Some(words.iter().any(|word| word.starts_with(&value.text))),
                _ => None,
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
            Found::Span(i128::try_from(head.closed_at?.since(begins(head)).as_nanos()).ok()?)
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
    fn equals(&self, value: &Value) -> Option<bool> {
        match self {
            Self::Words(words) => Some(words.contains(&value.text)),
            Self::Bool(yes) => Some(*yes == value.text.to_ascii_lowercase().parse::<bool>().ok()?),
            _ => self.order(value).map(Ordering::is_eq),
        }
    }

    fn order(&self, value: &Value) -> Option<Ordering> {
        match self {
            Self::Text(text) => Some(text.as_str().cmp(value.text.as_str())),
            Self::Number(number) => number.partial_cmp(&value.number()?),
            Self::Span(nanos) => Some(nanos.cmp(&value.span()?)),
            Self::Time(at) => Some(at.cmp(&value.moment()?)),
            Self::Words(_) | Self::Bool(_) => None,
        }
    }
}
