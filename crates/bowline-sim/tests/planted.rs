//! Defects that were mended are put back, one at a time, and are found. Without them the same
//! worlds keep every rule.

use bowline_core::planted::{Defect, plant};
use bowline_sim::{Look, World, catch_panics, play};

/// A defect, the rule that it breaks, and worlds of which one at least finds it: which one does may
/// change with the order in which things are polled.
const FOUND: &[(Defect, &str, &[u64])] = &[
    (Defect::DeadlineAfterValue, "a deadline takes nothing away that is there", &[148, 1480, 1951]),
    (Defect::ShieldOutside, "a clean-up is told of everything that completed", &[55, 390, 834]),
    (Defect::ContinueHangs, "whoever goes on as a new run does so", &[217, 947, 1009, 1050]),
    (Defect::GuardPanics, "nothing panics", &[2, 65, 116, 135]),
    (
        Defect::BeginsUndecided,
        "nothing begins while a cancel waits to be decided",
        &[35, 55, 103, 112],
    ),
    (Defect::EndOvertakes, "what was acknowledged first is heard first", &[148, 265, 277, 323]),
    (Defect::ChainForward, "a receipt names everything that runs", &[9, 16, 65, 122]),
    (
        Defect::ChildIds,
        "a child with an id of the engine's own is never refused",
        &[147, 187, 255, 316],
    ),
    (Defect::UnseenForgotten, "a receipt names everything that runs", &[742, 989, 1122, 1269]),
    (
        Defect::NeverStarted,
        "a receipt says never started only of what never began",
        &[92, 103, 138, 146],
    ),
    (
        Defect::KilledUntold,
        "a receipt says how far something was pushed, and it was",
        &[332, 472, 630, 685],
    ),
    (Defect::RemainderLate, "a receipt names everything that runs", &[1, 2, 4, 9]),
    (Defect::SignalsDropped, "an acknowledged signal is never lost", &[82, 96, 114, 234]),
    (Defect::CutWalk, "a receipt names everything that runs", &[9, 16, 55, 65]),
    (Defect::ChainKept, "what has expired is forgotten", &[41, 82, 234, 261]),
    (Defect::ParkedLadder, "everything settles in time", &[7, 103, 186, 226]),
    (Defect::ParkedForGood, "mended code goes on by itself", &[55, 70, 75, 745]),
    (
        Defect::TerminatedEarly,
        "a termination is answered when its run is closed",
        &[13, 19, 24, 25],
    ),
    (Defect::ForeignWaker, "what is woken from elsewhere is parked", &[664, 1429, 1608, 1971]),
    (Defect::LeaseIgnored, "no code runs out of contact for a lease", &[2, 169, 236]),
    (Defect::MixedBuilds, "mended code goes on by itself", &[55, 70, 100]),
    (Defect::OtherInput, "a call is given its own answer", &[148, 226, 629, 969]),
];

fn broken(seed: u64) -> Option<&'static str> {
    play(&World::of(seed), &Look::default()).violation.map(|violation| violation.rule)
}

/// One test for all: a defect is planted for the whole process.
#[test]
fn every_planted_defect_is_found() {
    catch_panics();
    let mut wrong = Vec::new();
    for (defect, rule, seeds) in FOUND {
        plant(Some(*defect));
        let found = seeds.iter().find(|seed| broken(**seed) == Some(*rule));
        plant(None);
        match found {
            None => wrong.push(format!("{} is not found", defect.name())),
            Some(seed) => {
                let without = broken(*seed);
                let told = |rule| format!("seed {seed} without {}: {rule}", defect.name());
                wrong.extend(without.map(told));
            }
        }
    }
    // From here on panics are told again.
    drop(std::panic::take_hook());
    let all = Defect::ALL.iter().filter(|own| FOUND.iter().all(|(found, ..)| found != *own));
    wrong.extend(all.map(|defect| format!("{} is looked for nowhere", defect.name())));
    assert!(wrong.is_empty(), "{wrong:#?}");
}
