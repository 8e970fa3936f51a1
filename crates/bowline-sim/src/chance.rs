//! Chance: a hash of the seed, of what is drawn for, and of how often that was drawn before.
//!
//! Nothing is drawn from a common stream, so that leaving one thing out of a world changes what
//! chance says about nothing else.

/// The chance of one seed.
#[derive(Clone, Copy, Debug)]
pub struct Chance(u64);

/// One draw.
#[derive(Clone, Copy, Debug)]
pub struct Draw(u64);

impl Chance {
    /// The chance of this seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x6a09_e667_f3bc_c909))
    }

    /// What chance says about something, of a kind, the n-th time.
    pub fn draw(self, kind: &str, site: u64, n: u64) -> Draw {
        let kind = kind.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Draw(mix(mix(mix(self.0 ^ kind) ^ site) ^ n))
    }
}

impl Draw {
    /// The bits themselves.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// A number below this one; 0 if that is 0.
    pub fn below(self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { (self.0 >> 11) % bound }
    }

    /// A number of this range, both ends included.
    pub fn between(self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True so many times of a thousand.
    pub fn per_mille(self, share: u64) -> bool {
        self.below(1000) < share
    }

    /// Another draw that follows from this one.
    pub fn next(self, n: u64) -> Self {
        Self(mix(self.0 ^ mix(n ^ 0x9e37_79b9)))
    }
}

/// Scatters bits (the finaliser of SplitMix64).
pub fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
