//! Several real processes on one Postgres, and everything that can happen to them: killed, hung,
//! cut off, with a wrong clock, and a database that comes and goes.
//!
//! The children (a test of this binary, started again) make requests, work, and say what was
//! acknowledged. The parent makes the trouble. In the end every promise was kept exactly once,
//! every history is lawful, every receipt is settled, and nothing is left over.

mod child;
mod cluster;
mod flows;
mod hang;
mod kill;
#[path = "../../../bowline-postgres/tests/it/messages.rs"]
mod messages;
mod outage;
mod port;
mod push;
mod rolling;
mod schema;
mod skew;
mod soak;
mod standby;
mod storm;
mod takeover;
mod tls;
mod unseen;
mod verify;
mod worker;

/// How much longer the storms are than in a short run: `BOWLINE_CHAOS=20` for a night.
pub(crate) fn longer() -> usize {
    let set = std::env::var("BOWLINE_CHAOS").ok();
    set.and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Numbers that look random and are the same every time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}
