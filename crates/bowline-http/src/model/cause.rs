//! Why something was cancelled, and how something failed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Data;

/// Why something was cancelled or stopped, and because of what, up to the first mover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// Why, as a stable word: `requested`, `parent_cancelled`, `scope_exit`, ...
    pub code: String,
    /// The whole chain in words.
    pub words: String,
    /// Why, in the words of the one who asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who asked; empty for decisions that code made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The request that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Runs that stay open for so long are terminated, if the request says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminate_after_ms: Option<u64>,
    /// Activities have so long after they were told, if the request says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// What this was a consequence of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion)]
    pub because: Option<Box<Self>>,
}

/// How something failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Failed {
    /// What happened, for people.
    pub message: String,
    /// The error's type, for programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The error as a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Data>,
    /// Where it happened.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
    /// What it followed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion)]
    pub source: Option<Box<Self>>,
}
