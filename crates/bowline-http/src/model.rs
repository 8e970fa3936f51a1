//! What is said over HTTP, as plain data: the console, the command line and programs of others read
//! and write these types, and nothing else. Moments are RFC 3339 in UTC, spans are milliseconds.

mod cause;
mod data;
mod history;
mod live;
mod place;
mod problem;
mod receipt;
mod request;
mod run;
mod session;
mod worker;

pub use cause::{Failed, Why};
pub use data::{Data, DataEncoding};
pub use history::{HistoryEvent, HistoryList};
pub use live::{Gone, Reset, RunChanged};
pub use place::{Health, NamespaceList, NamespaceSummary, QueueList, QueueSummary};
pub use problem::Problem;
pub use receipt::{Awaited, Hops, OrphanList, Receipt, TreeActivity, TreeRun, UnseenLine};
pub use request::{
    Asked, CancelBody, CancelOneBody, CancelledTarget, ConfigureBody, DrainBody, GoneBody,
    GoneMember, GoneMembers, LadderBody, Met, QueryAnswered, QueryBody, Retried, RetryAllBody,
    RunFilter, SignalBody, Signalled, StartBody, StartedRun, TerminateBody, UpdateAnswered,
    UpdateBody,
};
pub use run::{
    CancelState, ParentRun, ParkedState, PendingActivity, PendingChild, PendingTimer, Run,
    RunCount, RunEnded, RunList, RunSummary, RunTree,
};
pub use session::{LogInBody, Me};
pub use worker::{WorkerList, WorkerQueue, WorkerSummary};

/// A moment as text, if there is one.
pub type Moment = String;
