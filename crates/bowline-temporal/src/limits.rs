//! Every bound of this door on one screen.

use std::time::Duration;

/// Bounds that whoever runs a server may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message that is read.
    pub message_in: usize,
    /// How long a poll for work waits before it is answered empty.
    pub poll: Duration,
    /// How many calls may be in flight at once, polls that wait among them.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message_in: MESSAGE_IN, poll: POLL, calls: CALLS }
    }
}

/// How many calls may be in flight at once, unless the settings say otherwise.
pub const CALLS: usize = 100_000;

/// How long a poll for work waits before it is answered empty, unless the settings say otherwise.
pub const POLL: Duration = Duration::from_secs(60);
/// How long a wait for an event, or for an update's outcome, may take.
pub const WAIT: Duration = Duration::from_secs(20);
/// How long a query waits for its answer, unless its caller gives it less.
pub const QUERY: Duration = Duration::from_secs(30);
/// How many events stand on one page of history.
pub const HISTORY_PAGE: usize = 256;
/// About how many bytes one page of history has.
pub const HISTORY_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// The longest message that is read, unless the settings say otherwise.
pub const MESSAGE_IN: usize = 16 * 1024 * 1024;
/// The largest message that is sent.
pub const MESSAGE_OUT: usize = 64 * 1024 * 1024;
/// How many bytes a refusal has, about: it travels in headers.
pub const STATUS: usize = 4 * 1024;
/// From how many bytes on an answer is packed.
pub const PACKED_FROM: usize = 16 * 1024;
/// How many runs stand on one page of a list.
pub const LIST_PAGE: usize = 1_000;
/// How many namespaces stand on one page of a list.
pub const NAMESPACE_PAGE: usize = 1_000;
/// How many workers are known by when they were first heard of.
pub const WORKERS: usize = 10_000;
/// For how long after it was first heard of a worker may not know yet where it listens.
pub const WORKER_YOUNG: Duration = Duration::from_secs(2);
/// How many open runs are looked at to tell how much waits in a queue.
pub const BACKLOG_RUNS: usize = 1_000;
/// How many runs a list in another order than that of their beginning may have.
pub const LIST_SORTED: usize = 10_000;
/// How many activities of a run are looked at to tell how much waits in a queue.
pub const BACKLOG_ACTIVITIES: usize = 2_000;
