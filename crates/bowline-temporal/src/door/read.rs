//! Reads that look at many rows: so many at once, and the others wait for their turn.

use tokio::sync::{Semaphore, SemaphorePermit};
use tonic::Status;

use crate::{limits, status::Answer};

/// Who reads much.
#[derive(Debug)]
pub(super) struct Reads(Semaphore);

impl Default for Reads {
    fn default() -> Self {
        Self(Semaphore::new(limits::READS))
    }
}

impl Reads {
    /// Waits for one's turn, which is over when this is dropped.
    pub(super) async fn turn(&self) -> Answer<SemaphorePermit<'_>> {
        let turn = tokio::time::timeout(limits::READ_WAIT, self.0.acquire()).await;
        let turn = turn.ok().and_then(Result::ok);
        turn.ok_or_else(|| {
            let why = "too many lists, counts and statistics are read at once; ask again";
            Status::resource_exhausted(why)
        })
    }
}
