//! Random workflows in a random world: scopes, races, joins, shields, clean-ups, guards, cancels,
//! and new runs to go on as.
//!
//! Whatever happens, every scope ends after everything inside has stopped, clean-ups run once and
//! in order and are told what had completed, the run closes, and replaying gives the same commands
//! at every prefix.

mod drive;
mod log;
mod plan;

use proptest::prelude::*;

use crate::support::*;
use log::Log;
use plan::Plan;

/// Enough to find, within seconds, every fault that was put in on purpose.
const CASES: u32 = 1_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn scopes_end_after_everything_inside_has_stopped(
        plan in plan::any(),
        choices in prop::collection::vec(any::<u16>(), 0..12),
    ) {
        log::clear();
        let mut world = World::new(plan.workflow());
        drive::drive(&mut world, &choices);
        Log::take().check(&world);
    }

    #[test]
    fn every_prefix_of_a_live_history_replays_to_the_same_commands(
        plan in plan::any(),
        choices in prop::collection::vec(any::<u16>(), 0..12),
    ) {
        let mut world = World::new(plan.workflow());
        drive::drive(&mut world, &choices);
        world.check_prefixes();
    }

    #[test]
    fn evicting_at_any_point_changes_nothing(
        plan in plan::any(),
        choices in prop::collection::vec(any::<u16>(), 0..12),
    ) {
        let mut kept = World::new(plan.workflow());
        drive::drive(&mut kept, &choices);
        let mut evicted = World::new(plan.workflow());
        evicted.evicts = true;
        drive::drive(&mut evicted, &choices);
        Log::take().check_guards();
        prop_assert_eq!(kept.turns, evicted.turns);
        prop_assert_eq!(kept.history, evicted.history);
    }
}

/// The model can tell: a scope that is said to be over while something inside runs is found.
#[test]
#[should_panic(expected = "has not stopped")]
fn a_scope_that_ends_too_early_would_be_found() {
    log::clear();
    let mut world = World::new(Plan::Start(plan::Leaf::Activity).workflow());
    world.turn();
    log::pretend_over(vec![5]);
    Log::take().check(&world);
}
