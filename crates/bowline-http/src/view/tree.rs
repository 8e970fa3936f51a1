//! Cancel trees: what was hit, how far each part of it has come, and what is still awaited.

use std::collections::BTreeSet;

use bowline_core::{RunId, Rung, Time};
use bowline_engine::store::{AttemptLine, EndKind, Leftovers, Phase, RunLine, word};

use super::{cause::why, millis, moment};
use crate::model::{
    Awaited, Hops, OrphanList, Receipt, RunTree, TreeActivity, TreeRun, UnseenLine,
};

/// A receipt; none if the answer is not about one.
pub(crate) fn receipt(left: &Leftovers, now: Time) -> Option<Receipt> {
    let row = left.receipt.as_ref()?;
    let from = Some(row.requested_at);
    let ends = left.runs.iter().filter_map(|line| line.closed_at);
    let last = ends.chain(left.attempts.iter().filter_map(|line| line.stopped_at)).max();
    Some(Receipt {
        id: row.id.to_string(),
        run: row.run.to_string(),
        phase: phase(left.phase()).to_owned(),
        settled: left.settled(),
        clean: left.clean(),
        why: why(&row.cause),
        requested_at: moment(row.requested_at),
        age_ms: millis(now.since(row.requested_at)),
        keep_until: moment(row.keep_until),
        took_ms: last.filter(|_| left.settled()).map(|last| millis(last.since(row.requested_at))),
        tree: forest(left, from),
        runs: left.runs.len() as u64,
        activities: left.attempts.len() as u64,
        running: left.attempts.iter().filter(|line| line.running).count() as u64,
        never_started: left.never_started,
        queued: left.queued,
        awaited: awaited(left),
        truncated: left.truncated || left.unknown,
    })
}

/// A run and everything below it.
pub(crate) fn tree(left: &Leftovers) -> RunTree {
    let asked = left.runs.iter().filter_map(|line| Some(line.cancel.as_ref()?.requested_at));
    let decided = left.attempts.iter().filter_map(|line| line.decided_at);
    let from = asked.min().or_else(|| decided.min());
    RunTree {
        runs: forest(left, from),
        queued: left.queued,
        truncated: left.truncated || left.unknown,
    }
}

/// Whatever should not be there at all.
pub(crate) fn orphans(left: &Leftovers) -> OrphanList {
    let runs: Vec<TreeRun> = left.runs.iter().map(|line| run(line, None)).collect();
    let activities: Vec<TreeActivity> =
        left.attempts.iter().map(|line| activity(line, None)).collect();
    let count = (runs.len() + activities.len()) as u64 + left.queued;
    OrphanList { runs, activities, count, truncated: left.truncated || left.unknown }
}

/// The stable word for a phase.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Requested => "requested",
        Phase::Decided => "decided",
        Phase::Delivered => "delivered",
        Phase::Observed => "observed",
        Phase::Stopped => "stopped",
        Phase::Settled => "settled",
        _ => "clean",
    }
}

/// Runs, each below the one that started it or that it goes on from.
fn forest(left: &Leftovers, from: Option<Time>) -> Vec<TreeRun> {
    let mut shown = BTreeSet::new();
    let mut top = Vec::new();
    for line in &left.runs {
        if !shown.contains(&line.run) {
            top.push(branch(left, line, from, &mut shown));
        }
    }
    top
}

fn branch(
    left: &Leftovers,
    line: &RunLine,
    from: Option<Time>,
    shown: &mut BTreeSet<RunId>,
) -> TreeRun {
    shown.insert(line.run);
    let mut tree = run(line, from);
    let own = left.attempts.iter().filter(|attempt| attempt.run == line.run);
    tree.activities = own.map(|attempt| activity(attempt, from)).collect();
    let below = |other: &&RunLine| {
        other.parent.is_some_and(|(run, ..)| run == line.run) || line.successor == Some(other.run)
    };
    for other in left.runs.iter().filter(below) {
        if !shown.contains(&other.run) {
            tree.children.push(branch(left, other, from, shown));
        }
    }
    tree
}

/// How long after the request; what was taken before it counts as at once.
fn since(at: Option<Time>, from: Option<Time>) -> Option<f64> {
    Some(at?.since(from?).as_secs_f64() * 1_000.0)
}

fn run(line: &RunLine, from: Option<Time>) -> TreeRun {
    let decided = line.cancel.as_ref().and_then(|cancel| cancel.decided_at);
    TreeRun {
        id: line.workflow_id.to_string(),
        run: line.run.to_string(),
        workflow: line.name.to_string(),
        status: line.status.to_string(),
        parent: line.parent.map(|(run, ..)| run.to_string()),
        why: line.cancel.as_ref().map(|cancel| why(&cancel.cause)),
        hops: Hops {
            decided_ms: since(decided, from),
            closed_ms: since(line.closed_at, from),
            ..Hops::default()
        },
        left_alone: line.left_alone(),
        words: run_words(line),
        activities: Vec::new(),
        children: Vec::new(),
    }
}

/// What became of a run.
fn run_words(line: &RunLine) -> String {
    let cancel = line.cancel.as_ref();
    match line.status {
        _ if line.left_alone() => "was left alone when its parent closed".to_owned(),
        status if !status.is_open() => format!("is closed: {status}"),
        _ if cancel.is_some_and(|cancel| cancel.decided_at.is_some()) => "cleans up".to_owned(),
        _ if cancel.is_some() => "is asked, and has not looked yet".to_owned(),
        _ => "is open, and is not asked to cancel".to_owned(),
    }
}

fn activity(line: &AttemptLine, from: Option<Time>) -> TreeActivity {
    let unseen = line.unseen.iter().map(|own| {
        let (state, words) = word::unseen(own);
        UnseenLine {
            attempt: own.attempt,
            worker: own.worker.to_string(),
            since: moment(own.since),
            state: state.to_owned(),
            words,
        }
    });
    TreeActivity {
        run: line.run.to_string(),
        number: line.activity.0,
        name: line.name.to_string(),
        attempt: line.attempt,
        running: line.running,
        why: line.cause.as_ref().map(why),
        hops: Hops {
            decided_ms: since(line.decided_at, from),
            delivered_ms: since(line.delivered_at, from),
            observed_ms: since(line.observed_at, from),
            stopped_ms: since(line.stopped_at, from),
            closed_ms: None,
        },
        rung: line.rung.map(|rung| self::rung(rung).to_owned()),
        ended: line.ended.map(|ended| self::ended(ended).to_owned()),
        words: word::fate(line),
        deaf: line.deaf,
        leaked: line.leaked,
        lost: line.lost,
        late: line.late,
        unseen: unseen.collect(),
    }
}

fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::NeverStarted => "never_started",
        Rung::Waiting => "waiting",
        Rung::Signal => "signal",
        Rung::Reap => "reap",
        Rung::Abort => "abort",
        Rung::Kill => "kill",
        Rung::Cut => "cut",
        Rung::Died => "died",
        Rung::Abandon => "abandon",
        _ => "unknown",
    }
}

fn ended(ended: EndKind) -> &'static str {
    match ended {
        EndKind::Completed => "completed",
        EndKind::Failed => "failed",
        EndKind::TimedOut => "timed_out",
        _ => "cancelled",
    }
}

/// What keeps a tree from being clean.
fn awaited(left: &Leftovers) -> Vec<Awaited> {
    let rest = left.remainder();
    let run = |kind: &str, line: &RunLine| Awaited {
        kind: kind.to_owned(),
        run: Some(line.run.to_string()),
        id: Some(line.workflow_id.to_string()),
        number: None,
        name: Some(line.name.to_string()),
        count: 1,
        words: format!("{} ({}) {}", line.workflow_id, line.name, run_words(line)),
    };
    let attempt = |kind: &str, line: &AttemptLine| Awaited {
        kind: kind.to_owned(),
        run: Some(line.run.to_string()),
        id: None,
        number: Some(line.activity.0),
        name: Some(line.name.to_string()),
        count: 1,
        words: format!("{} #{} {}", line.name, line.activity, word::fate(line)),
    };
    let count = |kind: &str, count: u64, words: String| Awaited {
        kind: kind.to_owned(),
        run: None,
        id: None,
        number: None,
        name: None,
        count,
        words,
    };
    let mut all: Vec<Awaited> = rest.open.iter().map(|line| run("open", line)).collect();
    all.extend(rest.running.iter().map(|line| attempt("running", line)));
    if rest.queued > 0 {
        all.push(count("queued", rest.queued, format!("{} wait in queues", rest.queued)));
    }
    if rest.unswept > 0 {
        all.push(count("unswept", rest.unswept, format!("{} rows to sweep", rest.unswept)));
    }
    all.extend(rest.leaked.iter().map(|line| attempt("leaked", line)));
    all.extend(rest.lost.iter().filter(|line| !line.leaked).map(|line| attempt("lost", line)));
    all.extend(rest.left.iter().map(|line| run("left", line)));
    all
}
