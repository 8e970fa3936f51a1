//! Causes and failures.

use bowline_core::{Cause, Failure};

use super::{data::Shown, millis};
use crate::model::{Failed, Why};

/// A cause with everything that it followed from.
pub(crate) fn why(cause: &Cause) -> Why {
    Why {
        code: cause.code.as_str().to_owned(),
        words: cause.to_string(),
        reason: cause.detail.clone(),
        by: cause.requested_by.to_string(),
        request_id: cause.request_id.as_ref().map(ToString::to_string),
        terminate_after_ms: cause.run_ladder().map(|ladder| millis(ladder.terminate_after.0)),
        grace_ms: cause.activity_ladder().map(|ladder| millis(ladder.grace.0)),
        because: cause.parent.as_ref().map(|parent| Box::new(why(parent))),
    }
}

/// A failure with what it followed from.
pub(crate) fn failed(failure: &Failure, shown: &Shown) -> Failed {
    Failed {
        message: failure.message.clone(),
        kind: failure.kind.clone(),
        details: shown.maybe(&failure.details),
        trace: failure.trace.clone(),
        source: failure.source.as_ref().map(|source| Box::new(failed(source, shown))),
    }
}
