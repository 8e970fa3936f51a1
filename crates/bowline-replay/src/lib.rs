//! Deterministic replay of Bowline workflows: events in, commands out, without a runtime.
//!
//! A workflow is an `async fn`. A [`Replay`] owns one run of it and is fed the run's history, the
//! recorded part and the live part by the same call. At every turn it says what the code asks for;
//! for recorded turns it checks that this is what was asked then, and a difference is a
//! [`Mismatch`]. Everything here is untyped: names and payloads.
//!
//! In workflow code dropping is cancelling. What a turn drops is gathered and put into one order
//! of its own, so that the order of dropping is never durable.
//!
//! Nothing here does IO, reads a clock, draws random numbers of its own or spawns anything, and
//! nothing here is `Send`: a run lives and dies on one thread.

mod adopt;
mod channel;
mod context;
mod ended;
mod expect;
mod fault;
mod future;
mod group;
mod join;
mod json;
mod mismatch;
mod place;
mod race;
mod random;
mod ready;
mod reason;
mod replay;
mod run;
mod scope;
mod workflow;

pub mod limits;

pub use channel::{Offer, Offered, Recv, Request, Requested, Signals, Updates};
pub use context::{Context, Info, PATCH};
pub use ended::Ended;
pub use fault::{Fault, UNFIT};
pub use future::{Call, Delay, Durable, Handle};
pub use join::{Join, JoinAll, TryJoinAll, join, join_all, try_join_all};
pub use mismatch::{Difference, Mismatch};
pub use place::{last_place, record_places, unfit};
pub use race::{Either, EitherOf, Race, either, race};
pub use reason::dropping;
pub use replay::Replay;
pub use scope::{Item, Scope, Shield, Stopped};
pub use workflow::{LocalFuture, Workflow};
