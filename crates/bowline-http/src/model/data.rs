//! User data as it can be read: what its bytes are, and their value in a form that JSON has.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// One value of the user's: an input, a result, a detail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Data {
    /// What the bytes are: `json`, `bytes`, or what the sender's own encoding is called.
    pub format: String,
    /// How `value` is written.
    pub encoding: DataEncoding,
    /// The value: any JSON, or a text. Null if it is left out.
    #[schema(value_type = Object)]
    pub value: Value,
    /// How many bytes there are.
    pub bytes: u64,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DataEncoding {
    /// As the JSON value that it is.
    Json,
    /// As a text that it is.
    Text,
    /// As Base64, because it is neither.
    Base64,
    /// Several values, as a list of such objects.
    List,
    /// Not at all: it is too long to be shown here. Ask with `payloads=full`.
    Omitted,
}
