//! Who asks.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Logs a browser in.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogInBody {
    /// An API key or a token.
    pub credential: String,
}

impl fmt::Debug for LogInBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogInBody(..)")
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// The name that stands in causes; unset where nobody has shown one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// How it was shown: `key`, `token`, `certificate`, or `user` of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}
