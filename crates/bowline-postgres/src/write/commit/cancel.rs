//! Cancels of activities: records on their rows, or one mark on the run where they are many.
//!
//! A mark costs what its ranges and the started attempts cost, however many activities it covers:
//! rows that wait are not touched before they are swept.

use bowline_core::{Cause, Hit, Ranges, cancel, limits::MARK_FROM};
use bowline_store::{AttemptHit, Commit, commit::rule::Met, ready::Mark};

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
    Ok(met.finish())
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
    let head = &tx.run(commit.run).head;
    let unread = match head.inbox > head.consumed {
        true => tx.unread(commit.run, head.consumed, usize::MAX).await?,
        false => Vec::new(),
    };
    met.mark(ranges, begun, &unread);
    Ok(())
}

fn mark(tx: &mut Tx<'_>, commit: &Commit, ranges: &Ranges, cause: &Cause) {
    let run = tx.edit(commit.run);
    run.marks += 1;
    let number = run.marks;
    let mark = Mark { number, ranges: ranges.clone(), cause: cause.clone(), at: commit.now };
    tx.add_mark(commit.run, mark);
}
