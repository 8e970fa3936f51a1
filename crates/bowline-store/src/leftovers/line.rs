//! Lines: what a row says, and which lines are left out where there are too many.

use std::collections::BTreeSet;

use bowline_core::{
    ActivityLive, Epoch, EventId, Gone, Holder, Name, Outcome, RunId, Sight, process_gone,
};

use super::{AttemptLine, EndKind, Leftovers, RunLine};

/// How many lines of each kind are told.
const LINES_MAX: usize = 1_000;

impl AttemptLine {
    /// What the row of an activity says, or will say once sweeping has reached it: `gone` tells
    /// what is known of the process in which an attempt was begun.
    pub fn of(
        run: RunId,
        activity: EventId,
        name: Name,
        live: &ActivityLive,
        gone: impl Fn(Epoch) -> Option<Gone>,
    ) -> Self {
        let mut live = std::borrow::Cow::Borrowed(live);
        let epochs: BTreeSet<Epoch> = live.unseen.iter().filter_map(|own| own.epoch).collect();
        for (epoch, gone) in epochs.into_iter().filter_map(|epoch| Some((epoch, gone(epoch)?))) {
            process_gone(live.to_mut(), epoch, &gone, None);
        }
        let (cancel, end) = (live.cancel.as_ref(), live.ended());
        let may_run = || live.unseen.iter().filter(|own| own.may_run());
        Self {
            run,
            activity,
            name,
            attempt: live.attempt,
            running: live.started().is_some(),
            deaf: live.started().is_some_and(|start| is_deaf(&start.holder)),
            cause: cancel.map(|record| record.cause.clone()),
            decided_at: cancel.map(|record| record.decided_at),
            delivered_at: cancel.and_then(|record| record.delivered_at),
            observed_at: cancel.and_then(|record| record.observed_at),
            stopped_at: cancel.and_then(|record| record.stopped_at),
            rung: cancel.and_then(|record| record.rung),
            ended: end.map(|end| kind(&end.outcome)),
            unseen: live.unseen.iter().cloned().collect(),
            leaked: may_run().any(|own| own.sight == Sight::RunsOn),
            lost: may_run().any(|own| own.sight != Sight::RunsOn),
            late: end.is_some_and(|end| matches!(end.late, Some(Outcome::Completed(_)))),
        }
    }
}

fn kind(outcome: &Outcome) -> EndKind {
    match outcome {
        Outcome::Completed(_) => EndKind::Completed,
        Outcome::TimedOut(_) => EndKind::TimedOut,
        Outcome::Cancelled(..) => EndKind::Cancelled,
        _ => EndKind::Failed,
    }
}

fn is_deaf(holder: &Holder) -> bool {
    matches!(holder, Holder::Remote { control, .. } if control.is_empty())
}

impl Leftovers {
    /// Leaves out what is over before what is not, together with the parents of what is not; and of
    /// what is not over, first what holds the phase back the least.
    pub fn bound(&mut self) {
        let open = self.runs.iter().filter(|line| line.status.is_open());
        let parents: BTreeSet<RunId> =
            open.filter_map(|line| line.parent.as_ref().map(|(run, ..)| *run)).collect();
        let target = self.runs.first().map(|line| line.run);
        let decided = |line: &RunLine| {
            line.cancel.as_ref().map_or(!line.parent_closed, |cancel| cancel.decided_at.is_some())
        };
        let rank = |line: &RunLine| match line.status.is_open() {
            _ if Some(line.run) == target => 0,
            true if line.left_alone() => 3,
            true => 1 + u8::from(decided(line)),
            false if parents.contains(&line.run) => 4,
            false => 5,
        };
        let runs = cut(&mut self.runs, rank);
        let rank = |line: &AttemptLine| match line.running {
            true if line.cause.is_none() => 2,
            true => u8::from(line.delivered()) + u8::from(line.observed()),
            false if line.leaked || line.lost => 3,
            false => 4,
        };
        let attempts = cut(&mut self.attempts, rank);
        self.truncated |= runs || attempts;
    }
}

/// Keeps the lines of the lowest ranks, in their order. True if some had to go.
fn cut<T>(lines: &mut Vec<T>, rank: impl Fn(&T) -> u8) -> bool {
    if lines.len() <= LINES_MAX {
        return false;
    }
    let mut ranks: Vec<(u8, usize)> =
        lines.iter().enumerate().map(|(at, line)| (rank(line), at)).collect();
    ranks.sort_unstable();
    let kept: BTreeSet<usize> = ranks.into_iter().take(LINES_MAX).map(|(_, at)| at).collect();
    let mut at = 0;
    lines.retain(|_| {
        at += 1;
        kept.contains(&(at - 1))
    });
    true
}
