//! Attempts are handed out: what waits longest is looked for, and started if it may begin.

use bowline_core::{EventId, Holder, Number, Place, RunId, Token, cancel, start};
use bowline_store::{ClaimActivities, ClaimedActivity, Error, Hint, HolderKind, RunCancel};
use futures_util::future::BoxFuture;

use super::{is_alive, unsure};
use crate::{
    connection::db::{Db, Outcome, Value},
    fault::Fault,
    limits,
    rows::{
        activity,
        blob::{self, count, int, number},
        run,
    },
    shared::Shared,
    write::{
        tx::{Tx, Wants},
        work,
    },
};

pub(crate) async fn claim_activities(
    shared: &Shared,
    claim: &ClaimActivities,
) -> Outcome<Vec<ClaimedActivity>> {
    let mut claimed: Vec<ClaimedActivity> = Vec::new();
    for _ in 0..limits::LOOKS_MAX {
        let wanted = claim.count - claimed.len();
        let begun = !claimed.is_empty();
        let found = candidates(shared, claim, wanted).await;
        let found = found.map_err(|fault| unsure(fault, begun))?;
        if found.is_empty() {
            break;
        }
        let started = start_all(shared, claim, &found).await;
        let (taken, all) = started.map_err(|fault| unsure(fault, begun))?;
        claimed.extend(taken);
        // Others have taken some of what was found: there may be more behind it.
        if all || claimed.len() == claim.count {
            break;
        }
    }
    if !claimed.is_empty() {
        let read = read_again(shared, &mut claimed).await;
        read.map_err(|fault| unsure(fault, true))?;
    }
    Ok(claimed)
}

/// A cancel may have been decided between the statement that has started an activity and this
/// moment, and whoever decided it may have been told that it is. So what is started is read once
/// more, after that statement: whoever gets it knows of every cancel that came before.
async fn read_again(shared: &Shared, claimed: &mut [ClaimedActivity]) -> Outcome<()> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let (spaces, uuids) = run::keys(&claimed.iter().map(|own| own.run).collect::<Vec<_>>());
    let numbers: Vec<i64> = claimed.iter().map(|own| int(own.activity.0)).collect();
    for row in db.rows(&touched(), &[&spaces, &uuids, &numbers]).await? {
        let now = match activity::read(&row) {
            Ok(now) => now,
            // It read a moment ago; whoever settles it will say what has become of it.
            Err(Fault::Said(Error::Corrupt { .. })) => continue,
            Err(fault) => return Err(fault),
        };
        let is_its = |own: &&mut ClaimedActivity| {
            (own.run, own.activity, own.live.attempt) == (now.run, now.number, now.live.attempt)
        };
        let Some(own) = claimed.iter_mut().find(is_its) else { continue };
        own.live = now.live;
        if own.live.cancel.is_none() {
            let marks = crate::write::tx::marks(db, own.run).await?;
            let mark = marks.iter().find(|mark| mark.ranges.contains(own.activity));
            // Whoever renews writes it onto the row.
            mark.map(|mark| cancel(&mut own.live, &mark.cause, mark.at));
        }
    }
    Ok(())
}

/// Those of some activities that are cancelled, or may be under a mark.
pub(crate) fn touched() -> String {
    format!(
        "SELECT {} FROM unnest($1::int8[], $2::uuid[], $3::int8[]) AS w (namespace, run, n) \
         JOIN @activities a ON a.namespace = w.namespace AND a.run = w.run AND a.number = w.n \
         JOIN @runs r ON r.namespace = a.namespace AND r.run = a.run \
         WHERE a.place = 1 AND (a.cancelled OR r.marked > 0)",
        activity::COLUMNS
    )
}

/// A place in a queue.
type QueuePosition = (i64, i64, i64);

/// Activities that may be started: due, in order, none of them under a mark or withheld.
async fn candidates(
    shared: &Shared,
    claim: &ClaimActivities,
    wanted: usize,
) -> Outcome<Vec<(RunId, EventId)>> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    if !is_alive(db, claim.epoch).await? {
        return Err(Error::Fenced.into());
    }
    let names = match claim.names.is_empty() {
        true => names(db, claim).await?,
        false => claim.names.iter().map(|name| name.as_str().to_owned()).collect(),
    };
    let (mut free, mut from): (Vec<(RunId, EventId)>, QueuePosition) =
        (Vec::new(), (i64::MIN, i64::MIN, i64::MIN));
    let mut passed = false;
    let mut most = wanted.saturating_add(1).clamp(16, limits::LOOK_MAX);
    let (mut marks, locked) = (std::collections::HashMap::new(), shared.room.lately());
    while free.len() < wanted {
        let rows = look(db, claim, &names, from, most).await?;
        for row in &rows {
            let (run, activity) = (blob::run_id(row, 0)?, EventId(number(row, 2)?));
            from = (row.try_get(3)?, row.try_get(4)?, row.try_get(2)?);
            let marked: i32 = row.try_get(5)?;
            if locked.contains(&run) {
                passed = true;
                continue;
            }
            if marked > 0 && !marks.contains_key(&run) {
                marks.insert(run, crate::write::tx::marks(db, run).await?);
            }
            let covered = marks
                .get(&run)
                .is_some_and(|marks| marks.iter().any(|mark| mark.ranges.contains(activity)));
            if !covered && !withholds(run, row)? && free.len() < wanted {
                free.push((run, activity));
            }
        }
        if rows.len() < most {
            break;
        }
        most = most.saturating_mul(4).min(limits::LOOK_MAX);
    }
    if passed {
        shared.look_again([Hint::Activity(claim.namespace, claim.queue.clone())]);
    }
    Ok(free)
}

/// Whether the run of an activity that waits lets nothing begin, as far as the columns after its
/// place tell. Whoever starts it looks at the run again.
fn withholds(run: RunId, row: &crate::connection::row::Row) -> Outcome<bool> {
    let (consumed, cut_in): (i64, i64) = (row.try_get(6)?, row.try_get(7)?);
    let is_open: bool = row.try_get(8)?;
    // What does not read is found out by whoever starts it.
    let cancel: Option<RunCancel> = blob::open_some(run, row, 9).unwrap_or_default();
    let consumed = Number(u64::try_from(consumed).unwrap_or_default());
    let cuts_in = u64::try_from(cut_in).unwrap_or_default() > consumed.0;
    Ok(is_open && (cuts_in || cancel.is_some_and(|cancel| cancel.is_undecided(consumed))))
}

/// The names of activities that wait in a queue, by going from one to the next.
pub(super) async fn names(db: Db<'_>, claim: &ClaimActivities) -> Outcome<Vec<String>> {
    let values: [Value<'_>; 2] = [&i64::from(claim.namespace.0), &claim.queue.as_str()];
    let rows = db.rows(NAMES, &values).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

pub(crate) const NAMES: &str = "WITH RECURSIVE names (name) AS (\
        (SELECT name FROM @activities WHERE place = 0 AND namespace = $1 AND queue = $2 \
         ORDER BY namespace, queue, name LIMIT 1) \
        UNION ALL SELECT (SELECT a.name FROM @activities a \
            WHERE a.place = 0 AND a.namespace = $1 AND a.queue = $2 AND a.name > names.name \
            ORDER BY a.namespace, a.queue, a.name LIMIT 1) \
        FROM names WHERE names.name IS NOT NULL) \
    SELECT name FROM names WHERE name IS NOT NULL";

async fn look(
    db: Db<'_>,
    claim: &ClaimActivities,
    names: &[String],
    from: QueuePosition,
    most: usize,
) -> Outcome<Vec<crate::connection::row::Row>> {
    let values: [Value<'_>; 8] = [
        &i64::from(claim.namespace.0),
        &claim.queue.as_str(),
        &names,
        &claim.now.0,
        &from.0,
        &from.1,
        &from.2,
        &count(most),
    ];
    db.rows(WAITING, &values).await
}

pub(crate) const WAITING: &str = "SELECT a.namespace, a.run, a.number, a.due, a.arrival, r.marked, \
        r.consumed, r.cut_in, r.closed_at IS NULL, CASE WHEN r.closed_at IS NULL THEN r.cancel END \
    FROM unnest($3::text[]) AS n (name) CROSS JOIN LATERAL (\
        SELECT o.namespace, o.run, o.number, o.due, o.arrival FROM @activities o \
        WHERE o.place = 0 AND o.namespace = $1 AND o.queue = $2 AND o.name = n.name \
        AND o.due <= $4 AND (o.due, o.arrival, o.number) > ($5, $6, $7) \
        ORDER BY o.due, o.arrival, o.number LIMIT $8) AS a \
    JOIN @runs r ON r.namespace = a.namespace AND r.run = a.run \
    ORDER BY a.due, a.arrival, a.number LIMIT $8";

/// Starts what is still there; says whether that was all.
async fn start_all(
    shared: &Shared,
    claim: &ClaimActivities,
    found: &[(RunId, EventId)],
) -> Outcome<(Vec<ClaimedActivity>, bool)> {
    let starting = Starting { claim, found, fence: shared.fences(found.len()) };
    let started = work::attempt(shared, &starting, start_each).await;
    match started {
        // One row that does not read must not keep the others waiting.
        Err(Fault::Said(Error::Corrupt { run, .. })) if found.len() > 1 => {
            let others: Vec<_> = found.iter().copied().filter(|(own, _)| *own != run).collect();
            let (claimed, _) = Box::pin(start_all(shared, claim, &others)).await?;
            Ok((claimed, true))
        }
        Err(Fault::Said(Error::Corrupt { .. })) => Ok((Vec::new(), true)),
        // Nor must one that somebody has locked: it is looked at again in a moment.
        Err(Fault::Locked(locked)) if !locked.is_empty() => {
            shared.look_again([Hint::Activity(claim.namespace, claim.queue.clone())]);
            let others = found.iter().copied().filter(|(own, _)| !locked.contains(own));
            let others: Vec<_> = others.collect();
            match others.is_empty() {
                true => Ok((Vec::new(), false)),
                false => Box::pin(start_all(shared, claim, &others)).await,
            }
        }
        started => {
            let claimed = started?;
            let all = claimed.len() == found.len();
            Ok((claimed, all))
        }
    }
}

/// Activities that were found, and the last fence that was used before.
struct Starting<'c> {
    claim: &'c ClaimActivities,
    found: &'c [(RunId, EventId)],
    fence: u64,
}

fn start_each<'t>(
    tx: &'t mut Tx<'_>,
    starting: &'t Starting<'_>,
) -> BoxFuture<'t, Outcome<Vec<ClaimedActivity>>> {
    Box::pin(async move {
        let Starting { claim, found, fence } = starting;
        let mut wants = Wants::default();
        wants.runs.extend(found.iter().map(|(run, _)| *run));
        wants.activities.extend(found.iter().copied());
        wants.epochs.insert(claim.epoch);
        tx.prefetch(wants).await?;
        tx.alive(claim.epoch).await?;
        let mut claimed = Vec::new();
        for (at, (run, activity)) in found.iter().enumerate() {
            let counter = fence + 1 + at as u64;
            claimed.extend(start_one(tx, claim, *run, *activity, counter).await?);
        }
        Ok(claimed)
    })
}

fn start_one<'t>(
    tx: &'t mut Tx<'_>,
    claim: &'t ClaimActivities,
    run: RunId,
    number: EventId,
    counter: u64,
) -> BoxFuture<'t, Outcome<Option<ClaimedActivity>>> {
    Box::pin(async move {
        let withheld = tx.find(run).await?.is_none_or(|run| run.head.withholds());
        if withheld || tx.mark(run, number).await?.is_some() {
            return Ok(None);
        }
        let Some(mut activity) = tx.activity(run, number).await? else { return Ok(None) };
        let due = matches!(activity.live.place, Place::Queued { due } if due <= claim.now);
        if !due || activity.live.cancel.is_some() {
            return Ok(None);
        }
        let holder = match &claim.holder {
            HolderKind::Native => {
                Holder::Native(bowline_core::Fence { epoch: claim.epoch, counter })
            }
            HolderKind::Remote(control) => {
                let token = Token::activity(run, number, activity.live.attempt + 1).to_blob();
                Holder::Remote { token, control: control.clone() }
            }
        };
        start(&mut activity.live, holder, claim.worker.clone(), claim.now);
        tx.put(&activity, claim.now);
        let head = &tx.run(run).head;
        Ok(Some(ClaimedActivity {
            run,
            activity: number,
            spec: activity.spec,
            live: activity.live,
            workflow_id: head.workflow_id.clone(),
            workflow: head.name.clone(),
        }))
    })
}
