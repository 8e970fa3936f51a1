//! About how many bytes an event takes: what history limits are counted in.
//!
//! Not the encoded length: that would change with the encoding, and runs would with it. Whatever
//! a user or a worker can make large counts; ids and names do not.

use super::{Event, EventKind};
use crate::{
    Blob, Failure, Fields, Payload, SearchAttributes, SearchField, UpdateAnswer, UpdateRequest,
};

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
    pub(super) fn user_bytes(&self) -> usize {
        match self {
            Self::WorkflowStarted(e) => {
                let before = one(&e.last_result) + failure(&e.last_failure);
                one(&e.input) + all(&e.header) + all(&e.memo) + found(&e.search) + before
            }
            Self::WorkflowCompleted(e) => one(&e.result),
            Self::WorkflowFailed(e) => e.failure.len(),
            Self::WorkflowCancelled(e) => one(&e.details),
            Self::WorkflowTerminated(e) => one(&e.details),
            Self::WorkflowContinuedAsNew(e) => {
                let before = one(&e.last_result) + failure(&e.failure);
                one(&e.input) + all(&e.header) + all(&e.memo) + found(&e.search) + before
            }
            Self::WorkflowSignalled(e) => one(&e.input) + all(&e.header),
            Self::TurnCompleted(e) => {
                blob(&e.sdk_metadata)
                    + blob(&e.metering)
                    + blob(&e.worker_version)
                    + blob(&e.deployment)
            }
            Self::TurnFailed(e) => failure(&e.failure),
            Self::MarkerRecorded(e) => all(&e.details) + all(&e.header) + failure(&e.failure),
            Self::SearchUpserted(e) => e.changes.values().flatten().map(SearchField::len).sum(),
            Self::MemoModified(e) => e.changes.values().flatten().map(Payload::len).sum(),
            Self::UpdateAdmitted(e) => request(&e.request),
            Self::UpdateAccepted(e) => request(&e.request),
            Self::UpdateCompleted(e) => match &e.answer {
                UpdateAnswer::Done(result) => one(result),
                UpdateAnswer::Failed(failure) => failure.len(),
            },
            _ => self.work_bytes(),
        }
    }

    /// The same, of activities, children and requests to others.
    fn work_bytes(&self) -> usize {
        match self {
            Self::ActivityScheduled(e) => one(&e.spec.input) + all(&e.spec.header),
            Self::ActivityStarted(e) => failure(&e.last_failure),
            Self::ActivityCompleted(e) => one(&e.result),
            Self::ActivityFailed(e) => e.failure.len(),
            Self::ActivityTimedOut(e) => one(&e.heartbeat) + failure(&e.last_failure),
            Self::ActivityCancelled(e) => one(&e.details),
            Self::ChildInitiated(e) => {
                let spec = &e.spec;
                one(&spec.input) + all(&spec.header) + all(&spec.memo) + found(&spec.search)
            }
            Self::ChildCompleted(e) => one(&e.result),
            Self::ChildFailed(e) => e.failure.len(),
            Self::ChildCancelled(e) => one(&e.details),
            Self::ExternalSignalInitiated(e) => one(&e.input) + all(&e.header),
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

fn found(search: &SearchAttributes) -> usize {
    search.iter().map(|(key, field)| key.len() + field.len()).sum()
}

fn blob(blob: &Option<Blob>) -> usize {
    blob.as_ref().map_or(0, Blob::len)
}

fn failure(failure: &Option<Failure>) -> usize {
    failure.as_ref().map_or(0, Failure::len)
}

fn request(request: &UpdateRequest) -> usize {
    one(&request.input) + all(&request.header)
}
