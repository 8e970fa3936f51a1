//! Histories written in core's types, translated, and replayed by the SDKs' own core.
//!
//! The official SDKs for Python, TypeScript, .NET, Ruby and Rust share one engine, which replays a
//! history against what workflow code asks for. Each test here is a history and a script that
//! stands for the code. What the engine accepts, a worker of those SDKs can go on from; what it
//! refuses would leave a run stuck, so the refusals are tested too: they show that the check can
//! fail, and which histories must never be written.

mod activity;
mod cancel;
mod child;
mod closing;
mod code;
mod external;
mod fork;
mod marker;
mod sdk;
mod story;
mod timer;
mod turn;
mod update;
