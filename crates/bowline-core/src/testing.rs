//! A small world for rule tests: one run, its inbox, its alarms, and somebody who decides.
//!
//! Every commit is checked: its events are lawful, the folded state is the state that history
//! gives, everything survives its encoding. What happens is told in lines, one per event and one
//! per effect, and compared with what the test expects.

mod print;
mod say;
mod world;

use expect_test::Expect;

pub(crate) use say::*;
pub(crate) use world::World;

/// Tells what `input` does to a given world. What was told before does not count.
#[track_caller]
pub(crate) fn check(
    mut given: World,
    input: impl FnOnce(&mut World) -> &mut World,
    expect: Expect,
) {
    given.told.clear();
    input(&mut given);
    expect.assert_eq(&given.told);
}

/// A world after some steps.
pub(crate) fn given(mut world: World, steps: impl FnOnce(&mut World) -> &mut World) -> World {
    steps(&mut world);
    world
}
