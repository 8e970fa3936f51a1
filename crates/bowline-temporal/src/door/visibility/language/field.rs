//! What queries may ask of the fields that every run has: what cannot be compared is refused,
//! because it would match everything, or nothing.

use temporalio_protos::temporal::api::enums::v1::WorkflowExecutionStatus;

use super::{
    status_name,
    term::{Comparison, Value},
};

/// Of which type the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Text,
    Status,
    Time,
    Span,
    Number,
}

/// The fields of this server's own. All others are search attributes, which need not be registered:
/// their type is the one that each run gave them.
const FIELDS: &[(&str, Type)] = &[
    ("WorkflowId", Type::Text),
    ("RunId", Type::Text),
    ("WorkflowType", Type::Text),
    ("TaskQueue", Type::Text),
    ("ExecutionStatus", Type::Status),
    ("StartTime", Type::Time),
    ("ExecutionTime", Type::Time),
    ("CloseTime", Type::Time),
    ("ExecutionDuration", Type::Span),
    ("HistoryLength", Type::Number),
    ("HistorySizeBytes", Type::Number),
    ("ParentRunId", Type::Text),
    ("ParentWorkflowId", Type::Text),
    ("RootRunId", Type::Text),
    ("RootWorkflowId", Type::Text),
];

/// Fields that Temporal has and this server does not keep for lists.
const UNKEPT: &[&str] = &["BuildIds", "StateTransitionCount"];

/// Whether runs can be found by a field.
pub(super) fn check(field: &str) -> Result<(), String> {
    if UNKEPT.contains(&field) {
        return Err(format!("invalid query: runs cannot be found by {field} yet"));
    }
    let meant = FIELDS.iter().find(|(own, _)| own.eq_ignore_ascii_case(field));
    match meant {
        Some((own, _)) if *own != field => {
            Err(format!("invalid query: there is no field {field:?}; is {own} meant?"))
        }
        _ => Ok(()),
    }
}

/// Whether a field can be compared so.
pub(super) fn check_values(field: &str, comparison: &Comparison) -> Result<(), String> {
    use Comparison as C;
    let Some((_, of)) = FIELDS.iter().find(|(own, _)| *own == field) else { return Ok(()) };
    if matches!(comparison, C::StartsWith(_)) && *of != Type::Text {
        return Err(format!("invalid query: {field} is not a text that begins with anything"));
    }
    let values: Vec<&Value> = match comparison {
        C::Equal(one) | C::Less(one) | C::More(one) | C::StartsWith(one) => vec![one],
        C::Between(low, high) => vec![low, high],
        C::In(values) => values.iter().collect(),
        C::Null => Vec::new(),
    };
    values.into_iter().try_for_each(|value| check_value(field, *of, value))
}

fn check_value(field: &str, of: Type, value: &Value) -> Result<(), String> {
    let (reads, wanted) = match of {
        Type::Text => return Ok(()),
        Type::Status => (is_status(value.written()), "the name of a status"),
        Type::Time => (value.moment().is_some(), "a time such as '2024-05-01T12:00:00Z'"),
        Type::Span => (value.span().is_some(), "a span such as '1h30m', '01:30:00' or nanoseconds"),
        Type::Number => (value.number().is_some(), "a number"),
    };
    match reads {
        true => Ok(()),
        false => {
            let written = value.written();
            Err(format!("invalid query: {field} wants {wanted}, and not {written:?}"))
        }
    }
}

fn is_status(name: &str) -> bool {
    use WorkflowExecutionStatus as S;
    let known = [
        S::Running,
        S::Completed,
        S::Failed,
        S::Canceled,
        S::Terminated,
        S::ContinuedAsNew,
        S::TimedOut,
    ];
    // Runs cannot be paused here, so none is; to ask for them is no mistake.
    name == "Paused" || known.into_iter().any(|status| status_name(status.into()) == name)
}
