//! A fixed set of worlds, and some that nobody has seen before: every rule is kept in all of them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bowline_sim::{Look, World, play, shrink};

/// How many worlds are the same in every test.
const FIXED: u64 = 60;

/// For how long fresh ones are played.
const FRESH: Duration = Duration::from_secs(20);

/// Plays a world. One in which a rule is broken is cut down, and told.
fn keeps_every_rule(seed: u64) {
    let (world, look) = (World::of(seed), Look::default());
    let Some(violation) = play(&world, &look).violation else { return };
    let small = shrink(&world, violation.rule, &look);
    let story = play(&small, &Look { tells: true, ..look }).story;
    let told = story[story.len().saturating_sub(80)..].join("\n");
    panic!("seed {seed} breaks a rule: {violation:?}\n{small}\n{told}");
}

#[test]
fn every_rule_is_kept_in_worlds_that_are_known() {
    (0..FIXED).for_each(keeps_every_rule);
}

#[test]
fn every_rule_is_kept_in_worlds_that_nobody_has_seen() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    let (from, began) = (now.as_secs() << 20, Instant::now());
    let worlds = from..;
    // tidy: allow(sleep) It waits for nothing: so much is played as there is time for.
    worlds.take_while(|_| began.elapsed() < FRESH).for_each(keeps_every_rule);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 1_000..1_012 {
        let world = World::of(seed);
        let (one, other) = (play(&world, &Look::default()), play(&world, &Look::default()));
        assert_eq!((one.hash, one.facts), (other.hash, other.facts), "seed {seed}");
        assert!(one.facts > 0);
    }
}

#[test]
fn another_seed_gives_another_trace() {
    let hash = |seed| play(&World::of(seed), &Look::default()).hash;
    assert_ne!(hash(1), hash(2));
}
