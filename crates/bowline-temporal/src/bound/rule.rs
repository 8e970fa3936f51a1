//! Which bound each field has.

use super::{Kind, Shape};
use crate::limits;

/// A message, with the bounds of its fields.
pub(super) struct Rule {
    /// A pair of a map.
    pub(super) is_entry: bool,
    /// It is kept in histories, and held to the bound of payloads.
    pub(super) is_blob: bool,
    /// Everything in it is looked at by the rules.
    pub(super) is_free: bool,
    fields: Vec<Field>,
}

pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// How many bytes it may have.
    pub(super) longest: usize,
    /// How often it may be there.
    pub(super) most: usize,
}

impl Rule {
    pub(super) fn of(shape: &Shape) -> Self {
        let field = |&(number, name, kind): &(u32, &'static str, Kind)| Field {
            number,
            name,
            kind,
            longest: longest(shape.name, name, kind),
            most: if name == "links" { limits::LINKS } else { usize::MAX },
        };
        Self {
            is_entry: shape.is_entry,
            is_blob: BLOBS.contains(&shape.name),
            is_free: FREE.contains(&shape.name),
            fields: shape.fields.iter().map(field).collect(),
        }
    }

    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        let place = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        self.fields.get(place)
    }
}

/// What is kept in histories as it came.
const BLOBS: &[&str] = &[
    "temporal.api.common.v1.Payloads",
    "temporal.api.common.v1.Header",
    "temporal.api.common.v1.Memo",
    "temporal.api.failure.v1.Failure",
];

/// What workers decide and how their code fails: the rules have bounds for it, and words for what
/// passes them.
const FREE: &[&str] = &[
    "temporal.api.command.v1.Command",
    "temporal.api.failure.v1.Failure",
    "temporal.api.protocol.v1.Message",
    "temporal.api.update.v1.Acceptance",
    "temporal.api.update.v1.Rejection",
    "temporal.api.update.v1.Response",
];

/// How many bytes a field may have.
fn longest(shape: &str, field: &str, kind: Kind) -> usize {
    let text = matches!(kind, Kind::Text);
    match (shape, field) {
        ("temporal.api.sdk.v1.UserMetadata", "summary") => limits::SUMMARY,
        ("temporal.api.sdk.v1.UserMetadata", "details") => limits::DETAILS,
        (_, "query" | "visibility_query") if text => limits::QUERY_TEXT,
        (_, "reason" | "error_message" | "description" | "owner_email") if text => limits::NOTE,
        _ if text => limits::TEXT,
        _ => usize::MAX,
    }
}
