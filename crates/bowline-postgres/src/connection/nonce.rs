//! Numbers that rise, and that nobody gives out twice.
//!
//! A standby that takes over may not have heard of the last commits. It counts on from where it is,
//! and would give out numbers that were given out before, for something else. So whatever is
//! compared has a part that is drawn: two numbers are the same only if one commit has made both.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};

use bowline_core::{CommitId, Version};

/// How much of a number is drawn; the rest counts.
const BITS: u32 = 24;

/// The number after another one.
pub(crate) fn after(last: i64) -> i64 {
    let drawn = RandomState::new().build_hasher().finish();
    (((last >> BITS) + 1) << BITS) | (drawn & mask()).cast_signed()
}

/// The version that a commit makes of another one: the same commit always makes the same.
pub(crate) fn version(before: Version, commit: CommitId) -> Version {
    let mut hasher = DefaultHasher::new();
    commit.0.hash(&mut hasher);
    Version((((before.0 >> BITS) + 1) << BITS) | (hasher.finish() & mask()))
}

fn mask() -> u64 {
    (1 << BITS) - 1
}

/// The same as [`after`], of `r.rev`, for statements that draw it themselves.
macro_rules! next_rev {
    () => {
        "((((r.rev >> 24) + 1) << 24) | floor(random() * 16777216)::int8)"
    };
}
pub(crate) use next_rev;

/// What an epoch is drawn from, as SQL: seconds since the year 2025 by the database's clock, and
/// behind them what the caller has drawn.
pub(crate) const EPOCH: &str =
    "(((extract(epoch FROM clock_timestamp()) - 1735689600)::int8 << 32) | $8::int8)";

/// What a caller draws for an epoch.
pub(crate) fn draw() -> i64 {
    i64::from(RandomState::new().build_hasher().finish() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_differ() {
        let (mut one, mut other) = (0, 0);
        for _ in 0..1_000 {
            let (next, beside) = (after(one), after(other));
            assert!(next > one && beside > other);
            (one, other) = (next, beside);
        }
        assert_ne!(one, other);
        let version = version(Version(1), CommitId(7));
        assert_eq!(version, super::version(Version(1), CommitId(7)));
        assert!(version > Version(1) && version != super::version(Version(1), CommitId(8)));
    }
}
