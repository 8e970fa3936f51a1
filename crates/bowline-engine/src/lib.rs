//! Bowline's engine and worker: durable workflows in this process, on any store.
//!
//! [`Engine`] is what doors stand on. `engine/` reads, decides, writes and tells, and never runs
//! user code; `worker/` runs user code, and never touches a store.

mod builder;
mod engine;
mod error;
mod handle;
mod host;
mod schedule;

pub mod clock;
pub mod ids;
pub mod limits;
pub mod metrics;
pub mod worker;

pub use bowline_core as core;
pub use bowline_store as store;
pub use builder::{Builder, QueueOptions};
pub use engine::{
    follow::RunEnd,
    killable::{Pace, Rest},
    remote::{
        Along, Answered, ClosedRun, Eager, History, HistoryPage, Polled, QueryAnswer, Question,
        RemoteActivity, RemoteAsk, RemoteHeartbeat, RemoteQuery, RemoteTurn, Taken, Wait,
        WorkerBeat,
    },
    submit::{CancelRequest, CancelledOne, Prepared, StartOptions, Started},
    update::UpdateWait,
};
pub use error::{Error, Result};
pub use handle::Engine;
pub use host::Host;
pub use metrics::{CommandOutcome, Histogram, Metrics};
pub use schedule::Schedules;
