//! Code that does not listen: it is told, given a moment, and then aborted.

use std::time::Duration;

use bowline::prelude::*;

use super::latency;

const GRACE: Duration = Duration::from_millis(400);
/// An abort is seen at once; a machine that is busy with other things needs longer.
const STEP: Duration = Duration::from_secs(10);

pub(super) async fn training(ctx: Ctx) -> bowline::Result<u64> {
    Ok(ctx.activity(crunch, ()).grace(GRACE).grace_step(STEP).await?)
}

/// Never looks whether it should stop.
pub(super) async fn crunch() -> bowline::Result<u64> {
    for _ in 0..1_000_000_u64 {
        latency(20).await;
    }
    Ok(42)
}
