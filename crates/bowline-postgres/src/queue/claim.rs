//! The queue: work is taken by whoever has room for it.
//!
//! Runs are taken by one statement. Activities are looked for without locks, and then started like
//! everything else: by a statement that writes only if nothing has changed, marks and cancels of
//! their runs included. Whoever is told of a cancel was told after it.

mod activity;

use bowline_core::RunId;
use bowline_store::{ClaimRuns, ClaimedRun, Error, Hint, TakeUp, Want};

use crate::{
    connection::{
        db::{Db, Outcome, Value},
        nonce::next_rev,
    },
    fault::Fault,
    limits,
    read::one as read,
    rows::{
        blob::{self, count, int},
        damaged,
    },
    shared::Shared,
    write::{tx::Wants, work},
};

pub(crate) use self::activity::claim_activities;
#[cfg(test)]
pub(crate) use self::activity::{NAMES, WAITING, touched};

pub(crate) async fn claim_runs(shared: &Shared, claim: &ClaimRuns) -> Outcome<Vec<ClaimedRun>> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    if !is_alive(db, claim.epoch).await? {
        return Err(Error::Fenced.into());
    }
    let runs = take(db, shared, claim).await?;
    drop(lent);
    let holder = (claim.want == Want::Turn).then_some(claim.epoch);
    hand_out(shared, runs, holder, claim.now).await
}

/// Takes parked runs that the member may try, and holds them.
pub(crate) async fn take_up(shared: &Shared, take: &TakeUp) -> Outcome<Vec<ClaimedRun>> {
    let first = shared.fences(take.runs.len());
    let taking = (take, first);
    let taken = work::attempt(shared, &taking, |tx, (take, first)| {
        Box::pin(async move {
            let mut wants = Wants::default();
            wants.runs.extend(take.runs.iter().copied());
            wants.epochs.insert(take.epoch);
            tx.prefetch(wants).await?;
            tx.alive(take.epoch).await?;
            let mut taken = Vec::new();
            for (at, id) in take.runs.iter().enumerate() {
                let found = match tx.find(*id).await {
                    Err(Fault::Said(Error::Corrupt { .. })) => continue,
                    found => found?,
                };
                if found.is_some_and(|run| take.may_have(&run.head)) {
                    let counter = first + 1 + at as u64;
                    let fence = bowline_core::Fence { epoch: take.epoch, counter };
                    tx.edit(*id).head.holder = Some(fence);
                    taken.push(*id);
                }
            }
            Ok(taken)
        })
    });
    let taken = taken.await?;
    hand_out(shared, taken, Some(take.epoch), take.now).await
}

/// Reads runs that are taken: whoever is not told which has to look for them.
async fn hand_out(
    shared: &Shared,
    runs: Vec<RunId>,
    holder: Option<bowline_core::Epoch>,
    now: bowline_core::Time,
) -> Outcome<Vec<ClaimedRun>> {
    let reads = read::many(shared, &runs).await.map_err(|fault| unsure(fault, !runs.is_empty()))?;
    let mut claimed = Vec::new();
    for (run, outcome) in runs.into_iter().zip(reads) {
        match outcome {
            Ok(Some(read)) => {
                let fence = read.head.holder.filter(|_| holder.is_some());
                // Somebody has fenced this member already, and taken the run.
                if holder.is_none() || fence.map(|fence| fence.epoch) == holder {
                    claimed.push(ClaimedRun { read, fence });
                }
            }
            Ok(None) => {}
            Err(Fault::Said(Error::Corrupt { corrupt, .. })) => {
                let aside = damaged::give_back(shared, run, corrupt.to_string(), now).await;
                aside.map_err(|fault| unsure(fault, true))?;
            }
            Err(fault) => return Err(unsure(fault, true)),
        }
    }
    Ok(claimed)
}

async fn is_alive(db: Db<'_>, epoch: bowline_core::Epoch) -> Outcome<bool> {
    let sql = "SELECT 1 FROM @members WHERE epoch = $1 AND state = 0";
    Ok(db.first(sql, &[&int(epoch.0)]).await?.is_some())
}

/// Takes runs in the order in which they became ready. A native run is held from here on; others
/// go behind those that were not handed out yet.
async fn take(db: Db<'_>, shared: &Shared, claim: &ClaimRuns) -> Outcome<Vec<RunId>> {
    let most = claim.count.min(limits::LOOK_MAX);
    let space = i64::from(claim.namespace.0);
    let queues: Vec<&str> = claim.queues.iter().map(|queue| queue.as_str()).collect();
    let names: Vec<&str> = claim.names.iter().map(|name| name.as_str()).collect();
    let (epoch, rows) = (int(claim.epoch.0), count(most));
    let looks = count(most.saturating_mul(4).saturating_add(16));
    let (sql, first) = match claim.want {
        Want::Turn => (TURNS, int(shared.fences(most))),
        Want::RemoteTurn => (REMOTE, shared.stamps(most)),
        Want::Intake => (INTAKE, shared.stamps(most)),
    };
    let values: [Value<'_>; 7] = [&space, &queues, &names, &rows, &epoch, &first, &looks];
    let rows = db.change(sql, &values).await?;
    let (mut taken, mut found) = (Vec::new(), 0_i64);
    for row in &rows {
        found = row.try_get(3)?;
        if let Some(place) = row.try_get::<Option<i64>>(2)? {
            taken.push((place, blob::run_id(row, 0)?));
        }
    }
    if taken.len() < most && count(taken.len()) < found {
        shared.look_again(hints(claim));
    }
    taken.sort_unstable();
    Ok(taken.into_iter().map(|(_, run)| run).collect())
}

/// What whoever makes this claim listens to.
fn hints(claim: &ClaimRuns) -> Vec<Hint> {
    let queues = claim.queues.iter().cloned();
    match claim.want {
        Want::Turn => queues.map(|queue| Hint::Turn(claim.namespace, queue)).collect(),
        Want::RemoteTurn => queues.map(|queue| Hint::RemoteTurn(claim.namespace, queue)).collect(),
        Want::Intake => vec![Hint::Intake(claim.namespace)],
    }
}

/// What all three have in common: the first of those that were found and that nobody else is
/// writing to. `$7` is how many are looked at. Whoever writes to one that is passed over here may
/// leave it as it is, and has no reason to hint at it: it is looked for again.
macro_rules! taking {
    ($found:literal, $set:literal) => {
        concat!(
            "WITH found AS MATERIALIZED (",
            $found,
            "), picked AS MATERIALIZED (\
                SELECT r.namespace, r.run, f.since FROM found f \
                JOIN @runs r ON r.namespace = f.namespace AND r.run = f.run \
                WHERE r.",
            $set,
            "_at IS NOT NULL ORDER BY f.since LIMIT $4 FOR UPDATE OF r SKIP LOCKED), \
            alive AS MATERIALIZED (\
                SELECT 1 FROM @members m WHERE m.epoch = $5::int8 AND m.state = 0 \
                AND (SELECT count(*) FROM picked) >= 0 FOR KEY SHARE OF m), \
            placed AS (SELECT *, row_number() OVER (ORDER BY since) AS place FROM picked), \
            taken AS (",
        )
    };
}

/// Only for members that are alive when it is done: a member is not forgotten while its row is
/// locked. There is always a row, for the number of those that were found.
macro_rules! taken {
    () => {
        " FROM placed p WHERE r.namespace = p.namespace AND r.run = p.run \
         AND EXISTS (SELECT 1 FROM alive) \
         RETURNING r.namespace, r.run, p.place) \
         SELECT t.namespace, t.run, t.place, (SELECT count(*) FROM found) \
         FROM (VALUES (1)) AS one LEFT JOIN taken t ON true"
    };
}

pub(crate) const TURNS: &str = concat!(
    taking!(
        "SELECT c.namespace, c.run, c.turn_at AS since \
         FROM unnest($2::text[]) AS q (queue) CROSS JOIN unnest($3::text[]) AS n (name) \
         CROSS JOIN LATERAL (\
             SELECT o.namespace, o.run, o.turn_at FROM @runs o \
             WHERE o.namespace = $1 AND o.queue = q.queue AND o.name = n.name \
             AND o.turn_at IS NOT NULL ORDER BY o.turn_at LIMIT $7) AS c \
         ORDER BY c.turn_at LIMIT $7",
        "turn"
    ),
    "UPDATE @runs AS r SET rev = ",
    next_rev!(),
    ", turn_at = NULL, epoch = $5::int8, counter = $6::int8 + p.place",
    taken!()
);

pub(crate) const REMOTE: &str = concat!(
    taking!(
        "SELECT c.namespace, c.run, c.remote_at AS since FROM unnest($2::text[]) AS q (queue) \
         CROSS JOIN LATERAL (\
             SELECT o.namespace, o.run, o.remote_at FROM @runs o \
             WHERE o.namespace = $1 AND o.remote_queue = q.queue AND o.remote_at IS NOT NULL \
             AND (cardinality($3::text[]) = 0 OR o.name = ANY($3::text[])) \
             ORDER BY o.remote_at LIMIT $7) AS c \
         ORDER BY c.remote_at LIMIT $7",
        "remote"
    ),
    "UPDATE @runs AS r SET remote_at = $6::int8 + p.place",
    taken!()
);

pub(crate) const INTAKE: &str = concat!(
    taking!(
        "SELECT o.namespace, o.run, o.intake_at AS since FROM @runs o \
         WHERE o.namespace = $1 AND o.intake_at IS NOT NULL \
         AND (cardinality($2::text[]) = 0 OR o.queue = ANY($2::text[])) \
         AND (cardinality($3::text[]) = 0 OR o.name = ANY($3::text[])) \
         ORDER BY o.intake_at LIMIT $7",
        "intake"
    ),
    "UPDATE @runs AS r SET intake_at = $6::int8 + p.place",
    taken!()
);

/// Where something was taken already, an error must not say that nothing has happened.
fn unsure(fault: Fault, taken: bool) -> Fault {
    match taken {
        true => Fault::Unsure(format!("something was taken before {}", Error::from(fault))),
        false => fault,
    }
}
