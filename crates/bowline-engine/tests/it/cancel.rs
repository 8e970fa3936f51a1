//! Requests to cancel: what they reach, how hard they push, and what their receipts say.

mod ladder;
mod mark;
mod operator;
mod pushed;
mod receipt;
mod withhold;
