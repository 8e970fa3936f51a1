//! Defects that were mended are put back, one at a time, and are found. Without them the same
//! worlds keep every rule.

use bowline_core::planted::{Defect, plant};
use bowline_sim::{Look, World, catch_panics, play};

/// A defect, a world that finds it, and the rule that it breaks there.
const FOUND: &[(Defect, u64, &str)] = &[
    (Defect::DeadlineAfterValue, 1923, "a deadline takes nothing away that is there"),
    (Defect::ShieldOutside, 526, "a clean-up is told of everything that completed"),
    (Defect::ContinueHangs, 391, "whoever goes on as a new run does so"),
    (Defect::GuardPanics, 39, "nothing panics"),
    (Defect::BeginsUndecided, 55, "nothing begins while a cancel waits to be decided"),
    (Defect::EndOvertakes, 265, "what was acknowledged first is heard first"),
];

fn broken(seed: u64) -> Option<&'static str> {
    play(&World::of(seed), &Look::default()).violation.map(|violation| violation.rule)
}

/// One test for all: a defect is planted for the whole process.
#[test]
fn every_planted_defect_is_found() {
    catch_panics();
    let mut wrong = Vec::new();
    for (defect, seed, rule) in FOUND {
        plant(Some(*defect));
        let (found, name) = (broken(*seed), defect.name());
        plant(None);
        if found != Some(*rule) {
            wrong.push(format!("{name} at seed {seed}: {found:?}"));
        }
        if let Some(rule) = broken(*seed) {
            wrong.push(format!("seed {seed} without {name}: {rule}"));
        }
    }
    // From here on panics are told again.
    drop(std::panic::take_hook());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
