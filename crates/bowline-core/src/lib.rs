//! The rules of a Bowline run, and nothing else: messages and commands in, events and effects out.
//!
//! A run's [`State`] is folded from its events. Deciding looks at that state and says what happens
//! next; nothing here does IO, reads a clock, draws a random number or spawns anything. The same
//! input gives the same output, for ever.

mod activity;
mod command;
mod decide;
mod draft;
mod effect;
mod event;
mod intake;
mod ladder;
mod message;
mod note;
mod notice;
mod parked;
mod rules;
mod state;
#[cfg(test)]
mod testing;
mod token;
mod turn;
mod value;

pub mod codec;
pub mod lawful;
pub mod limits;
pub mod planted;
pub mod retry;

pub use activity::*;
pub use codec::{Batch, Corrupt};
pub use command::*;
pub use decide::turn::{FailTurn, StartTurn, TurnAnswer, TurnVerdict};
pub use decide::{Begin, CancelTarget, begin_run, begin_run_with, check, fork};
pub use draft::{Decided, Draft};
pub use effect::*;
pub use event::*;
pub use ladder::Ladders;
pub use message::*;
pub use note::*;
pub use notice::{Notice, NoticeId, StopAttempt};
pub use parked::{GaveUp, MayTry, Parked, Tried};
pub use retry::{RetryPolicy, RetryState};
pub use rules::{Conflict, Kind, ParentClose, Reuse, Rules};
pub use state::{
    OpenActivity, OpenChild, OpenExternal, OpenTimer, OpenUpdate, Requests, State, Unread,
    UnreadSize,
};
pub use token::Token;
pub use turn::{Sticky, Turn, TurnRecord, TurnStart};
pub use value::cause::{Cause, Code};
pub use value::failure::{Failure, Verdict};
pub use value::id::*;
pub use value::payload::{Blob, Fields, Format, Payload};
pub use value::ranges::{Range, Ranges};
pub use value::refusal::Refusal;
pub use value::search::{SearchAttributes, SearchField, SearchValue};
pub use value::space::Space;
pub use value::status::Status;
pub use value::time::{Span, Time};
