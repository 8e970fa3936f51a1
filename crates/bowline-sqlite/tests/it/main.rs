//! What the conformance suite cannot know: files, locks, pages, groups and counts.

#![allow(clippy::unwrap_used)]

mod backup;
mod chain;
mod corrupt;
mod cost;
mod full;
mod group;
mod list;
mod log;
mod mark;
mod model;
mod open;
mod transaction;
mod world;
