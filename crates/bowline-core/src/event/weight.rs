//! About how many bytes an event takes: what history limits are counted in.
//!
//! Not the encoded length: that would change with the encoding, and runs would with it.

use super::{Event, EventKind};
use crate::{Fields, Payload};

/// What every event costs, whatever it says.
const BASE: u64 = 40;

impl Event {
    /// About how many bytes it takes.
    pub fn weight(&self) -> u64 {
        let wire = self.wire.as_ref().map_or(0, |wire| wire.len());
        BASE + (wire + self.kind.user_bytes()) as u64
    }
}

impl EventKind {
    /// How many bytes of it are the user's.
    fn user_bytes(&self) -> usize {
        match self {
            Self::WorkflowStarted(e) => one(&e.input) + all(&e.header) + all(&e.memo),
            Self::WorkflowCompleted(e) => one(&e.result),
            Self::WorkflowFailed(e) => e.failure.len(),
            Self::WorkflowContinuedAsNew(e) => one(&e.input) + all(&e.header) + all(&e.memo),
            Self::WorkflowSignalled(e) => one(&e.input) + all(&e.header),
            Self::ActivityScheduled(e) => one(&e.spec.input) + all(&e.spec.header),
            Self::ActivityCompleted(e) => one(&e.result),
            Self::ActivityFailed(e) => e.failure.len(),
            Self::MarkerRecorded(e) => all(&e.details) + all(&e.header),
            Self::ChildInitiated(e) => one(&e.spec.input) + all(&e.spec.header),
            Self::ChildCompleted(e) => one(&e.result),
            Self::ChildFailed(e) => e.failure.len(),
            Self::ExternalSignalInitiated(e) => one(&e.input) + all(&e.header),
            Self::UpdateAccepted(e) => one(&e.request.input) + all(&e.request.header),
            _ => 0,
        }
    }
}

fn one(payload: &Option<Payload>) -> usize {
    payload.as_ref().map_or(0, Payload::len)
}

fn all(fields: &Fields) -> usize {
    fields.iter().map(|(key, value)| key.len() + value.len()).sum()
}
