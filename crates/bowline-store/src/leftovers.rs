//! What is left of a subtree: the one query behind `settled`, `clean` and `orphans`.
//!
//! The store reports rows; what follows from them is decided here, once for all stores.

mod line;
mod phase;
pub mod tree;
pub mod word;

use bowline_core::{
    Batch, Cause, Corrupt, EventId, Name, Note, ParentClose, Ranges, ReceiptId, RunId, Rung,
    Status, Time, UnseenAttempt, WorkflowId,
};

use crate::RunCancel;

/// An outline does not look into runs with more events than this while much may wait there.
pub const OUTLINE_FROM: u64 = 4_096;

/// Which rows to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subtree {
    /// This run, the runs that it continued as, and everything that they started; and of the rest
    /// of its chain whatever is not over.
    Run(RunId),
    /// The subtree that a cancel request was about.
    Receipt(ReceiptId),
    /// The same, in time that does not grow with how much waits: activities of a run with a long
    /// history may be left out, while it is open or sweeping is not done with it. The answer is
    /// truncated then, and counts one that waits.
    Outline(ReceiptId),
    /// Whatever should not be there at all: work of closed runs that nobody has told to stop,
    /// children that outlived a parent which wanted them told.
    Orphans,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Leftovers {
    /// The receipt that was asked for.
    pub receipt: Option<ReceiptRow>,
    /// Runs of the subtree: the target, then parents before children. Bounded; where there is
    /// not room for all, closed ones are left out before open ones. An open run that was left
    /// alone when its parent closed is listed, and nothing below it is. Runs of the chain before
    /// the target, and of a very large tree, are listed if they are not over.
    pub runs: Vec<RunLine>,
    /// Activities that a worker has, and cancelled ones that one had, begun or not. Bounded; what
    /// runs, leaked or was lost comes first.
    pub attempts: Vec<AttemptLine>,
    /// Activities that wait in queues and are not cancelled.
    pub queued: u64,
    /// Cancelled activities that no worker ever had.
    pub never_started: u64,
    /// Rows that sweeping has not reached yet.
    pub unswept: u64,
    /// Messages of closed or open runs of the subtree that nobody has consumed.
    pub unread: u64,
    /// Something was left out, because there was too much of it. Unless it was not even looked at,
    /// that is over, or stands no better than what is listed.
    pub truncated: bool,
    /// Not everything was looked at, so that nothing can be said of the whole.
    pub unknown: bool,
}

/// The receipt of a cancel.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptRow {
    /// Its id.
    pub id: ReceiptId,
    /// The run that was to be cancelled.
    pub run: RunId,
    /// The first run of its chain.
    pub chain: RunId,
    /// Why, and by whom.
    pub cause: Cause,
    /// When it was asked for.
    pub requested_at: Time,
    /// Until when it is kept.
    pub keep_until: Time,
}

/// One run of the subtree.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    /// Its id.
    pub run: RunId,
    /// The user's name for its chain.
    pub workflow_id: WorkflowId,
    /// The workflow.
    pub name: Name,
    /// Where it stands.
    pub status: Status,
    /// Its parent, the parent's `ChildInitiated`, and what becomes of it when the parent closes.
    /// A child that its closed parent had let go of counts as abandoned, whatever its policy.
    pub parent: Option<(RunId, EventId, ParentClose)>,
    /// That parent is part of the subtree, and closed.
    pub parent_closed: bool,
    /// The run that goes on in its place.
    pub successor: Option<RunId>,
    /// How far its cancel has come.
    pub cancel: Option<RunCancel>,
    /// When it closed.
    pub closed_at: Option<Time>,
}

/// One activity of the subtree that had started.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptLine {
    /// Its run.
    pub run: RunId,
    /// Its number.
    pub activity: EventId,
    /// The activity.
    pub name: Name,
    /// Which attempt.
    pub attempt: u32,
    /// A worker has it now.
    pub running: bool,
    /// That worker has no control channel: word of a cancel waits for its next heartbeat.
    pub deaf: bool,
    /// Why it was cancelled; unset if it was not.
    pub cause: Option<Cause>,
    /// When that was decided.
    pub decided_at: Option<Time>,
    /// When the worker had it.
    pub delivered_at: Option<Time>,
    /// When the running code looked.
    pub observed_at: Option<Time>,
    /// When nothing of it was running any more.
    pub stopped_at: Option<Time>,
    /// How far it had to be pushed.
    pub rung: Option<Rung>,
    /// How it ended; unset if it has not.
    pub ended: Option<EndKind>,
    /// Every attempt of it that is over for its run, and whose end nobody has seen. Where somebody
    /// said that its process is gone, it stands here too, and neither leaks nor is lost.
    pub unseen: Vec<UnseenAttempt>,
    /// The code of such an attempt is known to run on.
    pub leaked: bool,
    /// The worker of such an attempt went silent, and nobody saw its code end.
    pub lost: bool,
    /// What came too late was a success.
    pub late: bool,
}

/// How an activity ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndKind {
    /// With a result.
    Completed,
    /// With a failure.
    Failed,
    /// A limit was passed.
    TimedOut,
    /// By its cancel.
    Cancelled,
}

/// How far a cancel has come; a later phase implies the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// The request is durable.
    Requested,
    /// Every target's history or row says that it is cancelled.
    Decided,
    /// Every worker that runs something of it has been told.
    Delivered,
    /// All running code has looked, or has stopped.
    Observed,
    /// No worker runs anything of it, as far as can be known.
    Stopped,
    /// Every run of the subtree is closed, and nothing durable can change.
    Settled,
    /// Settled, and nothing leaked, was lost or was left.
    Clean,
}

/// What keeps a subtree from being clean. Once it is settled only what leaked, was lost or was left
/// is in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remainder {
    /// Runs that have yet to close.
    pub open: Vec<RunLine>,
    /// Workers have these.
    pub running: Vec<AttemptLine>,
    /// So many wait in queues.
    pub queued: u64,
    /// So many rows are to be swept.
    pub unswept: u64,
    /// Known to run on.
    pub leaked: Vec<AttemptLine>,
    /// Their workers are silent: those that are presumed dead are among them.
    pub lost: Vec<AttemptLine>,
    /// Left alone, by policy or by `detach`.
    pub left: Vec<RunLine>,
}

/// What a closed run had let go of, or left alone by policy: activities and children, by number.
/// Told by the note on its closing event, which is in the last batch of its history.
///
/// # Errors
/// If the batch does not read.
pub fn left_by(last: &Batch) -> Result<Ranges, Corrupt> {
    let events = last.events()?;
    let notes = events.last().into_iter().flat_map(|event| &event.notes);
    let mut left = notes.filter_map(|note| match note {
        Note::Outstanding(outstanding) => Some(outstanding.left.clone()),
        _ => None,
    });
    Ok(left.next().unwrap_or_default())
}
