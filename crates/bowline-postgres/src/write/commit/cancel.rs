//! Cancels of activities: records on their rows, or one mark on the run where they are many.
//!
//! A mark costs what its ranges and the started attempts cost, however many activities it covers:
//! rows that wait are not touched before they are swept.

use bowline_core::{Cause, EventId, Hit, Message, Ranges, RunId, cancel, limits::MARK_FROM};
use bowline_store::{AttemptHit, Commit, ready::Mark};

use crate::{connection::db::Outcome, write::tx::Tx};

/// Cancels everything that a commit wants cancelled. Answers with the attempts that must be told,
/// and the activities that had never started.
pub(super) async fn cancel_all(
    tx: &mut Tx<'_>,
    commit: &Commit,
) -> Outcome<(Vec<AttemptHit>, Ranges)> {
    let mut met = Met::default();
    for (ranges, cause) in &commit.cancels {
        match ranges.count() <= MARK_FROM {
            true => few(tx, commit, (ranges, cause), &mut met).await?,
            false => many(tx, commit, (ranges, cause), &mut met).await?,
        }
    }
    let few = met.skipped.into_iter();
    let skipped = match met.ranges.len() {
        0 => few.collect(),
        // One mark is the common case: its ranges are not taken apart.
        1 if few.len() == 0 => met.ranges.remove(0),
        _ => few.chain(met.ranges.iter().flat_map(Ranges::ids)).collect(),
    };
    Ok((met.hits, skipped))
}

/// What the cancels of a commit met.
#[derive(Default)]
struct Met {
    hits: Vec<AttemptHit>,
    /// Had never started: one by one, and by ranges.
    skipped: Vec<EventId>,
    ranges: Vec<Ranges>,
}

async fn few(
    tx: &mut Tx<'_>,
    commit: &Commit,
    (ranges, cause): (&Ranges, &Cause),
    met: &mut Met,
) -> Outcome<()> {
    let missing_rows = tx.missing_rows(commit.run).await?.to_vec();
    let marks = tx.marks(commit.run).await?.to_vec();
    let named: Vec<_> = ranges.ids().map(|id| (commit.run, id)).collect();
    tx.look_up(&named).await?;
    let mut rowless = Ranges::default();
    for number in ranges.ids() {
        let marked = marks.iter().any(|mark| mark.ranges.contains(number));
        let Some(mut activity) = tx.activity(commit.run, number).await? else {
            // Its row is missing, or went when it ended.
            if !marked && missing_rows.iter().any(|missing| missing.covers(number)) {
                rowless.push(number);
            }
            continue;
        };
        if marked && activity.live.started().is_none() {
            // It is over already, though its row is not swept.
            continue;
        }
        match cancel(&mut activity.live, cause, commit.now) {
            hit @ (Hit::NeverStarted | Hit::Waiting) => {
                met.skipped.push(number);
                tx.edit(commit.run).never_started += u64::from(hit == Hit::NeverStarted);
                tx.put(&activity, commit.now);
            }
            Hit::Started => {
                tx.tell_cancelled(&activity);
                met.hits.extend(activity.cancelled_hit());
            }
            _ => {}
        }
    }
    if !rowless.is_empty() {
        met.skipped.extend(rowless.ids());
        mark(tx, commit, &rowless, cause);
    }
    Ok(())
}

async fn many(
    tx: &mut Tx<'_>,
    commit: &Commit,
    (ranges, cause): (&Ranges, &Cause),
    met: &mut Met,
) -> Outcome<()> {
    // Looked up first, so that what is added here is added to what was there.
    tx.marks(commit.run).await?;
    let mut begun = Vec::new();
    let out = tx.attempts(commit.run).await?;
    for number in out.into_iter().filter(|number| ranges.contains(*number)) {
        begun.push(number);
        let Some(mut activity) = tx.activity(commit.run, number).await? else { continue };
        if cancel(&mut activity.live, cause, commit.now) == Hit::Started {
            tx.tell_cancelled(&activity);
            met.hits.extend(activity.cancelled_hit());
        }
    }
    mark(tx, commit, ranges, cause);
    if commit.close.is_some() {
        return Ok(());
    }
    let skipped = untold(tx, commit.run, ranges, begun).await?;
    met.ranges.extend(Some(skipped).filter(|skipped| !skipped.is_empty()));
    Ok(())
}

/// Of activities that nobody has: those whose end does not wait in the inbox already.
async fn untold(
    tx: &mut Tx<'_>,
    id: RunId,
    ranges: &Ranges,
    mut begun: Vec<EventId>,
) -> Outcome<Ranges> {
    let head = &tx.run(id).head;
    let mut skipped = Vec::new();
    if head.inbox > head.consumed {
        for received in tx.unread(id, head.consumed, usize::MAX).await? {
            match received.message {
                Message::EndActivity(end) => begun.push(end.activity),
                Message::SkipActivities(ranges) => skipped.push(ranges),
                _ => {}
            }
        }
    }
    let ranges = ranges.minus(&begun);
    Ok(match skipped.is_empty() {
        true => ranges,
        false => ranges.without(|id| skipped.iter().any(|skipped| skipped.contains(id))),
    })
}

fn mark(tx: &mut Tx<'_>, commit: &Commit, ranges: &Ranges, cause: &Cause) {
    let run = tx.edit(commit.run);
    run.marks += 1;
    let number = run.marks;
    let mark = Mark { number, ranges: ranges.clone(), cause: cause.clone(), at: commit.now };
    tx.add_mark(commit.run, mark);
}
