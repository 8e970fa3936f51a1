//! What went wrong, as RFC 9457 has it, and what to do about it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request was not carried out. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `urn:bowline:error:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, for people.
    pub detail: String,
    /// What went wrong, as a stable word for programs.
    pub code: String,
    /// What to do about it.
    pub todo: String,
    /// Names this request in logs.
    pub request_id: String,
}
