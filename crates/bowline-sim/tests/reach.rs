//! Worlds that are known reach everything that the simulator is about: a rule about what never
//! happens says nothing.

use std::collections::BTreeSet;

use bowline_core::EventKind;
use bowline_sim::{Look, World, play};

/// Worlds that reach what is rare, looked at first. `cargo xtask sim --reach` names the first one
/// for each thing.
const WORLDS: &[u64] = &[
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 25, 29, 41, 47, 50, 55, 62, 65, 77, 92, 192, 236, 272,
    302, 332, 360, 492, 733, 1035, 2498,
];

/// A change of the engine shifts what is rare to other worlds: among so many, everything is.
const MORE: u64 = 3_000;

/// Every kind of event is reached, but for these.
const EXCUSED: &[&str] = &[
    // Only runs of remote workers have them: simulated are remote activities, not remote turns.
    "ActivityCancelRequested",
    "TurnFailed",
    "TurnTimedOut",
    // It is a rule that there are none.
    "ChildStartFailed",
    // No program has a limit for its runs, asks other runs for something, or writes things down.
    "WorkflowTimedOut",
    "ChildTimedOut",
    "ExternalCancelFailed",
    "ExternalSignalInitiated",
    "ExternalSignalled",
    "ExternalSignalFailed",
    "MarkerRecorded",
    "SearchUpserted",
    "MemoModified",
];

/// Faults, requests, and the words of receipts.
const THINGS: &[&str] = &[
    "a call fails",
    "a call is done and not answered",
    "a hint is lost",
    "a hint is late",
    "a hint comes twice",
    "a member is killed",
    "a member stands still",
    "a member is cut off",
    "a clock jumps",
    "a worker vanishes",
    "a run is parked",
    "a request is refused",
    "a start is answered",
    "a schedule is started",
    "a signal is answered",
    "an update is answered",
    "a query is answered",
    "a cancel is answered",
    "a cancel of one is answered",
    "a cancel below is answered",
    "a termination is answered",
    "a deletion is answered",
    "a fork is answered",
    "a retry is answered",
    "a word about a member is answered",
    "an outcome is answered",
    "phase requested",
    "phase decided",
    "phase delivered",
    "phase observed",
    "phase settled",
    "phase clean",
    "rung never started",
    "rung waiting",
    "rung signal",
    "rung abort",
    "rung died",
    "rung unknown",
    "never started is said",
    "something is lost",
    "something leaks",
    "something comes too late",
    "a run is left alone",
];

#[test]
fn every_step_fault_request_and_word_is_reached() {
    let events = EventKind::NAMES.iter().filter(|name| !EXCUSED.contains(name));
    let mut missing: BTreeSet<&str> = events.chain(THINGS).copied().collect();
    let mut reached = BTreeSet::new();
    for seed in WORLDS.iter().copied().chain(0..MORE) {
        if missing.is_empty() {
            break;
        }
        reached.extend(play(&World::of(seed), &Look::default()).reached.into_keys());
        missing.retain(|thing| !reached.contains(thing));
    }
    assert!(missing.is_empty(), "no world reaches {missing:?}");
    let needless: Vec<_> = EXCUSED.iter().filter(|thing| reached.contains(*thing)).collect();
    assert!(needless.is_empty(), "excused, and reached: {needless:?}");
}
