//! A report from many shards, with a deadline: what is there in time counts.

use std::time::Duration;

use bowline::prelude::*;

use super::{latency, until_told};

pub(super) const SHARDS: u64 = 6;
/// These many answer in time.
const QUICK: u64 = 3;
/// Comes in the second life of the worker, on a machine that is busy with other things too.
const DEADLINE: Duration = Duration::from_secs(12);

pub(super) async fn report(ctx: Ctx, shards: u64) -> bowline::Result<String> {
    let scans = ctx.scope(async {
        let calls = (1..=shards).map(|shard| ctx.activity(scan, shard));
        bowline::Ok(bowline::try_join_all(calls).await?)
    });
    // The lists of what was done are made for scopes that clean up; here is nothing to undo.
    let scans = scans.deadline(DEADLINE).cleanup(async |_, _| Ok(()));
    let there = match scans.await {
        Ok(rows) => rows.len(),
        Err(stopped) => stopped.completed(scan).len(),
    };
    Ok(format!("{there} of {shards} shards were there in time"))
}

pub(super) async fn scan(ctx: ActivityCtx, shard: u64) -> bowline::Result<u64> {
    if shard > QUICK {
        return Err(until_told(&ctx).await.into());
    }
    latency(shard * 100).await;
    Ok(shard * 1_000)
}
