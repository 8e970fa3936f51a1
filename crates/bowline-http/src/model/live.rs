//! What server-sent events carry: how things stand, never what has changed about them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::RunSummary;

/// A run as it stands: the event `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunChanged {
    /// The run.
    pub run: RunSummary,
}

/// A run is not there any more: the event `gone`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gone {
    /// The run.
    pub run: String,
}

/// Something was missed: read everything that is shown again. The event `reset`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reset {
    /// Why.
    pub why: String,
}
