//! Lines are bounded: what is over is left out before what is not.

use std::collections::BTreeSet;

use bowline_core::RunId;
use bowline_store::{AttemptLine, Leftovers, RunLine};

use crate::limits::LINES_MAX;

/// Leaves out what is over before what is not, together with the parents of what is not.
pub(super) fn bound(left: &mut Leftovers) {
    let open = left.runs.iter().filter(|line| line.status.is_open());
    let parents: BTreeSet<RunId> =
        open.filter_map(|line| line.parent.as_ref().map(|(run, ..)| *run)).collect();
    let target = left.runs.first().map(|line| line.run);
    let rank = |line: &RunLine| match line.status.is_open() {
        _ if Some(line.run) == target => 0,
        true => 1,
        false if parents.contains(&line.run) => 2,
        false => 3,
    };
    let runs = cut(&mut left.runs, rank);
    let over = |line: &AttemptLine| !(line.running || line.leaked || line.lost);
    let attempts = cut(&mut left.attempts, |line| u8::from(over(line)));
    left.truncated = runs || attempts;
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
