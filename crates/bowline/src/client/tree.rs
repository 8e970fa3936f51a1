//! A cancel, told run by run and activity by activity, with the time of every hop.

mod show;

use std::time::{Duration, SystemTime};

use bowline_engine::{
    core::{self, Cause, RunId, Rung, Sight, Status, Time},
    store::{AttemptLine, EndKind, Leftovers, Phase, RunLine},
};

use crate::moment;

/// How far a cancel has come in the tree of a run, as the store had it when you asked. `{}` prints
/// it as a tree.
#[derive(Clone, Debug)]
pub struct CancelTree {
    left: Leftovers,
    /// What the times are counted from.
    from: Option<Time>,
}

/// One run of the tree. Spans count from the request or, if code stopped something and nobody had
/// asked, from the first decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CancelledRun {
    /// Its workflow id.
    pub id: String,
    /// Its workflow.
    pub workflow: String,
    /// The id of the run.
    pub run: String,
    /// The run that started it, if that is part of the tree.
    pub parent: Option<String>,
    /// What state it is in.
    pub status: Status,
    /// Why it was asked to cancel; `None` if it was not.
    pub cause: Option<Cause>,
    /// When its history recorded the cancel.
    pub decided: Option<Duration>,
    /// When it was closed.
    pub closed: Option<Duration>,
}

/// One activity of the tree that had started. Spans count as for runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CancelledActivity {
    /// The run that called it.
    pub run: String,
    /// The activity's name.
    pub name: String,
    /// Its number.
    pub number: u64,
    /// The number of the attempt.
    pub attempt: u32,
    /// True if a worker is running it now.
    pub running: bool,
    /// Why it was cancelled; `None` if it was not.
    pub cause: Option<Cause>,
    /// When its cancel was decided.
    pub decided: Option<Duration>,
    /// When its worker was told.
    pub delivered: Option<Duration>,
    /// When its code looked.
    pub observed: Option<Duration>,
    /// When nothing of it was running any more.
    pub stopped: Option<Duration>,
    /// How far it had to be pushed.
    pub rung: Option<Rung>,
    /// How it ended; `None` if it has not.
    pub ended: Option<EndKind>,
    /// Attempts of it that are over for the run, but that nobody saw end.
    pub unseen: Vec<UnseenAttempt>,
    /// True if the code of such an attempt is known to run on.
    pub leaked: bool,
    /// True if the worker of such an attempt went silent, and nobody saw its code end.
    pub lost: bool,
    /// True if it succeeded, but too late.
    pub late: bool,
}

/// An attempt that is over for its run, but that nobody saw end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnseenAttempt {
    /// The number of the attempt.
    pub attempt: u32,
    /// The identity of the worker that had it.
    pub worker: String,
    /// Since when nothing more is known of it.
    pub since: SystemTime,
    /// What is known of it.
    pub sight: Sight,
}

impl CancelTree {
    pub(crate) fn new(left: Leftovers) -> Self {
        let receipt = left.receipt.as_ref().map(|receipt| receipt.requested_at);
        let asked = left.runs.iter().filter_map(|line| Some(line.cancel.as_ref()?.requested_at));
        let decided = left.attempts.iter().filter_map(|line| line.decided_at);
        let from = receipt.or_else(|| asked.min()).or_else(|| decided.min());
        Self { left, from }
    }

    /// Returns how far it has come; a later phase implies the earlier ones.
    pub fn phase(&self) -> Phase {
        self.left.phase()
    }

    /// True if every run of the tree is closed and nothing durable can change any more.
    pub fn is_settled(&self) -> bool {
        self.left.settled()
    }

    /// True if it is settled, and nothing leaked, was lost or was left.
    pub fn is_clean(&self) -> bool {
        self.left.clean()
    }

    /// True if there is nothing in it at all.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns why the cancel was requested, and by whom.
    pub fn cause(&self) -> Option<&Cause> {
        self.left.receipt.as_ref().map(|receipt| &receipt.cause)
    }

    /// Returns when it was requested or, if nobody asked, first decided.
    pub fn requested_at(&self) -> Option<SystemTime> {
        self.from.map(moment)
    }

    /// Lists the runs of the tree: the target, then parents before children. At most 1,000; open
    /// ones first.
    pub fn runs(&self) -> Vec<CancelledRun> {
        self.left.runs.iter().map(|line| self.run(line)).collect()
    }

    /// Lists the activities that a worker has, and the cancelled ones that had started.
    pub fn activities(&self) -> Vec<CancelledActivity> {
        self.left.attempts.iter().map(|line| self.activity(line)).collect()
    }

    /// Returns how many cancelled activities had never started.
    pub fn never_started(&self) -> u64 {
        self.left.never_started
    }

    /// Lists what keeps it from being clean, in words; empty if it is clean. Before it is settled,
    /// that includes what is open, running or waiting; afterwards only what leaked, was lost or was
    /// left.
    pub fn remainder(&self) -> Vec<String> {
        show::remainder(&self.left, self.from)
    }

    fn run(&self, line: &RunLine) -> CancelledRun {
        let known = |run: &RunId| self.left.runs.iter().any(|other| other.run == *run);
        CancelledRun {
            id: line.workflow_id.to_string(),
            workflow: line.name.to_string(),
            run: line.run.to_string(),
            parent: line.parent.map(|(run, ..)| run).filter(known).map(|run| run.to_string()),
            status: line.status,
            cause: line.cancel.as_ref().map(|cancel| cancel.cause.clone()),
            decided: self.since(line.cancel.as_ref().and_then(|cancel| cancel.decided_at)),
            closed: self.since(line.closed_at),
        }
    }

    fn activity(&self, line: &AttemptLine) -> CancelledActivity {
        CancelledActivity {
            run: line.run.to_string(),
            name: line.name.to_string(),
            number: line.activity.0,
            attempt: line.attempt,
            running: line.running,
            cause: line.cause.clone(),
            decided: self.since(line.decided_at),
            delivered: self.since(line.delivered_at),
            observed: self.since(line.observed_at),
            stopped: self.since(line.stopped_at),
            rung: line.rung,
            ended: line.ended,
            unseen: line.unseen.iter().map(unseen).collect(),
            leaked: line.leaked,
            lost: line.lost,
            late: line.late,
        }
    }

    fn since(&self, at: Option<Time>) -> Option<Duration> {
        Some(at?.since(self.from?))
    }
}

fn unseen(own: &core::UnseenAttempt) -> UnseenAttempt {
    UnseenAttempt {
        attempt: own.attempt,
        worker: own.worker.to_string(),
        since: moment(own.since),
        sight: own.sight.clone(),
    }
}
