//! Attempts: how they run, fail, are tried again, told to stop, and counted.

mod attempt;
mod cancel;
mod freed;
mod leak;
mod log;
mod process;
mod retry;
mod slots;
mod stop;
mod timeout;
mod unawaited;
