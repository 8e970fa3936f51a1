//! The rules of a Bowline run, and nothing else: messages and commands in, events and effects out.
//!
//! A run's [`State`] is folded from its events. Deciding looks at that state and says what happens
//! next; nothing here does IO, reads a clock, draws a random number or spawns anything. The same
//! input gives the same output, for ever.

mod activity;
mod cause;
mod command;
mod decide;
mod draft;
mod effect;
mod event;
mod failure;
mod id;
mod intake;
mod ladder;
mod message;
mod note;
mod notice;
mod parked;
mod payload;
mod ranges;
mod refusal;
mod rules;
mod search;
mod space;
mod state;
mod status;
#[cfg(test)]
mod testing;
mod time;
mod token;
mod turn;

pub mod codec;
pub mod lawful;
pub mod limits;
pub mod planted;
pub mod retry;

pub use activity::*;
pub use cause::{Cause, Code};
pub use codec::{Batch, Corrupt};
pub use command::*;
pub use decide::turn::{FailTurn, StartTurn, TurnAnswer, TurnVerdict};
pub use decide::{Begin, begin, begin_with, check, fork};
pub use draft::{Decided, Draft};
pub use effect::*;
pub use event::*;
pub use failure::{Failure, Verdict};
pub use id::*;
pub use ladder::Ladders;
pub use message::*;
pub use note::*;
pub use notice::{CancelActivity, Notice, NoticeId};
pub use parked::{GaveUp, MayTry, Parked, Tried};
pub use payload::{Blob, Fields, Format, Payload};
pub use ranges::{Range, Ranges};
pub use refusal::Refusal;
pub use retry::{RetryPolicy, RetryState};
pub use rules::{Conflict, Kind, ParentClose, Reuse, Rules};
pub use search::{SearchAttributes, SearchField, SearchValue};
pub use space::Space;
pub use state::{
    OpenActivity, OpenChild, OpenExternal, OpenTimer, OpenUpdate, Requests, State, Unread,
    UnreadSize,
};
pub use status::Status;
pub use time::{Span, Time};
pub use token::Token;
pub use turn::{Sticky, Turn, TurnRecord, TurnStart};
