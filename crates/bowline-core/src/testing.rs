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

/// What an answer with each of these lists of commands is told, one line for each.
pub(crate) fn refusals(
    given: &World,
    cases: impl IntoIterator<Item = Vec<crate::Command>>,
) -> String {
    let mut said = String::new();
    for commands in cases {
        let mut world = given.clone();
        world.told.clear();
        world.answer(commands);
        said.push_str(world.told.lines().next().unwrap_or("taken"));
        said.push('\n');
    }
    said
}
