//! A simulator: the real engine, the real replay and the real rules, several members on one store,
//! in virtual time. One seed decides everything: what programs do, what clients ask for, what goes
//! wrong, and in which order ready things run.
//!
//! A [`World`] is data made from a seed. [`play`] lets it happen while an observer, outside of all
//! members, knows the truth: which code runs right now, what was acknowledged and in which order.
//! The first rule that is broken ends the world, and [`shrink`] cuts it down.

pub mod chance;
pub mod client;
pub mod program;
pub mod world;

mod far;
mod host;
mod neighbour;
mod observer;
mod panics;
mod plant;
mod play;
mod process;
mod shrink;
mod store;
mod trace;
mod weather;

pub use observer::Violation;
pub use panics::catch_panics;
pub use plant::plant;
pub use play::{Look, Report, play};
pub use shrink::shrink;
pub use world::World;
