//! A world for one run: an inbox, the rules of core, and the replay under test.

mod show;
mod spec;
mod world;

pub(crate) use show::show;
pub(crate) use spec::*;
pub(crate) use world::World;
