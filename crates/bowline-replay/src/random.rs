//! Random numbers that are the same at every replay, and ids made of stable parts.
//!
//! The algorithms are durable format: a run drew from them yesterday and draws the same tomorrow.

use bowline_core::{EventId, RunId};

/// A xoshiro256** generator, seeded from a run's id.
pub(crate) struct Random([u64; 4]);

impl Random {
    /// The generator of a run; a fork keeps the id of the run that it was forked from.
    pub(crate) fn of(run: RunId) -> Self {
        let (high, low) = halves(run.uuid);
        let (mut high, mut low) = (Mix(high), Mix(low));
        Self([high.next(), low.next(), high.next(), low.next()])
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        let Self(s) = self;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A random uuid, version 4.
    pub(crate) fn uuid(&mut self) -> u128 {
        versioned(u128::from(self.next()) << 64 | u128::from(self.next()), 4)
    }
}

/// The id of a run that `parent` begins with its event `number`: the same however often the turn
/// is tried, so that a repeated commit begins one run and not two.
pub(crate) fn run_id(parent: RunId, number: EventId) -> RunId {
    let (high, low) = halves(parent.uuid);
    let (mut high, mut low) = (Mix(high ^ Mix(number.0).next()), Mix(low));
    let first = high.next() ^ low.next().rotate_left(32);
    let second = Mix(first ^ number.0).next() ^ low.next();
    let uuid = u128::from(first) << 64 | u128::from(second);
    RunId { namespace: parent.namespace, uuid: versioned(uuid, 8) }
}

fn halves(wide: u128) -> (u64, u64) {
    ((wide >> 64) as u64, wide as u64)
}

/// The same bits with the version and variant of a well-formed uuid.
fn versioned(uuid: u128, version: u128) -> u128 {
    let cleared = uuid & !(0xf << 76) & !(0x3 << 62);
    cleared | version << 76 | 0x2 << 62
}

/// A splitmix64 sequence.
struct Mix(u64);

impl Mix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use expect_test::expect;

    use super::*;

    #[test]
    fn the_generators_are_what_they_are_called() {
        let mut mix = Mix(1_234_567);
        assert_eq!(
            [mix.next(), mix.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
        let mut random = Random([1, 2, 3, 4]);
        let drawn: Vec<_> = (0..4).map(|_| random.next()).collect();
        assert_eq!(drawn, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    /// If this test fails, runs that are open anywhere draw other numbers than they did.
    #[test]
    fn the_sequence_is_durable() {
        let mut random = Random::of(RunId { uuid: 7, ..RunId::default() });
        let drawn: Vec<_> = (0..3).map(|_| random.next()).collect();
        expect!["[7735655662133668289, 9112366514325737734, 17105566450041962190]"]
            .assert_eq(&format!("{drawn:?}"));
        expect!["1135ee86471c42dbb264e0cf01f97498"].assert_eq(&format!("{:032x}", random.uuid()));
    }

    #[test]
    fn ids_of_new_runs_are_stable_and_apart() {
        let parent = RunId { uuid: 1 << 90 | 5, ..RunId::default() };
        expect!["48f9b10d-ea22-8464-9c19-a5712c73fa22"]
            .assert_eq(&run_id(parent, EventId(9)).to_string());
        let other = RunId { uuid: 1 << 90 | 6, ..RunId::default() };
        let of = |n| [run_id(parent, EventId(n)), run_id(other, EventId(n))];
        let ids: BTreeSet<_> = (0..10_000).flat_map(of).collect();
        assert_eq!(ids.len(), 20_000);
    }
}
