//! Durable workflows that really stop when told to.
//!
//! A workflow is an `async fn` that survives crashes: what it has done is kept in one SQLite file
//! (or a Postgres database), and a new process continues where the old one died. An activity is an
//! `async fn` that does the work. You can stop both at any moment, from anywhere, and you are told
//! when nothing is left running.
//!
//! ```
//! use bowline::prelude::*;
//!
//! async fn greet(name: String) -> bowline::Result<String> {
//!     Ok(format!("hello, {name}"))
//! }
//!
//! async fn welcome(ctx: Ctx, name: String) -> bowline::Result<String> {
//!     Ok(ctx.activity(greet, &name).await?)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("welcome.db");
//! let bowline = Bowline::open(file).workflow(welcome).activity(greet).start().await?;
//! let run = bowline.start(welcome, "first", "world").await?;
//! assert_eq!(run.result().await?, "hello, world");
//! # Ok(())
//! # }
//! ```
//!
//! Continue with the [`manual`]: ten short chapters on what to write, and what happens on a crash,
//! on a cancel, and on the usual mistakes.

mod activity;
mod builder;
mod call;
mod carry;
mod channel;
mod client;
mod ctx;
mod ended;
mod error;
mod failure;
mod name;
mod open;
mod race;
mod registry;
mod retry;
mod scope;
mod stop;
mod transaction;
mod value;
mod workflow;

pub mod manual;
pub mod prelude;
#[cfg(feature = "test")]
pub mod test;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use activity::{Activity, ActivityCtx, ActivityInfo, Method, Returned};
pub use bowline_engine::{
    CancelledOne, Histogram, Metrics,
    core::{Cause, Code, ParentClose, Rung, Sight, Status, Timeout},
    store::{EndKind, Phase},
    worker::activity::{ChildProcess, Gone, Spawned},
};
pub use bowline_replay::Shield;
pub use builder::Builder;
pub use call::{ActivityCall, ChildCall, Handle, Sleep};
pub use carry::{Carried, Thrown};
pub use channel::{Asked, Exposed, Offered, Query, Signal, Signals, Update, Updates};
pub use client::{
    AnyRun, Bowline, CancelCall, CancelOneCall, CancelTree, CancelledActivity, CancelledRun,
    ClientError, Description, HistoryEvent, IfClosed, IfExists, List, Receipt, Recording, Run,
    RunError, RunSummary, StartCall, TerminateCall, UnseenAttempt, UpdateError,
};
pub use ctx::{Ctx, OtherRun, WorkflowInfo};
pub use ended::{Ended, Outcome};
pub use error::{Error, Ok, Result};
pub use failure::{Failure, FailureError};
pub use race::{Either, either, join, join_all, race, try_join_all};
pub use registry::{ActivityOptions, WorkflowOptions};
pub use retry::Retry;
pub use scope::{Item, Scope, Stopped};
pub use transaction::{Request, Transaction, Tx};
pub use value::Give;
pub use workflow::Workflow;

/// Named in signatures that only this crate calls.
#[doc(hidden)]
pub mod private {
    pub use crate::{ctx::App, registry::States};
}

/// A stored moment as the standard library has it.
pub(crate) fn moment(time: bowline_engine::core::Time) -> SystemTime {
    let span = Duration::from_micros(time.0.unsigned_abs());
    match time.0 < 0 {
        true => UNIX_EPOCH - span,
        false => UNIX_EPOCH + span,
    }
}

/// A moment as it is stored.
pub(crate) fn timestamp(at: SystemTime) -> bowline_engine::core::Time {
    bowline_engine::core::Time(0).after(at.duration_since(UNIX_EPOCH).unwrap_or_default())
}
