//! What every store does alike with a commit, between reading its rows and writing them: for what
//! it is refused, and in which order; what its cancels and its messages for others come to.
//!
//! The order: [`Commit::check_head`], the member of its lease, [`Commit::check_hold`], its births
//! ([`Commit::check_id`]), the ends that it was offered.

use bowline_core::{
    Birth, EventId, ExternalRefusal, Message, Post, Ranges, Received, RunId, Status,
};

use super::{AttemptHit, Commit};
use crate::{Error, Head, Result, may_reuse};

impl Commit {
    /// Whether it can be written at all, to a run that stands so.
    ///
    /// # Errors
    /// If the run is closed, or has changed.
    pub fn check_head(&self, head: &Head) -> Result<()> {
        head.check_open()?;
        match head.version == self.expected && self.consumed <= head.inbox {
            true => Ok(()),
            false => Err(Error::Conflict),
        }
    }

    /// Whether the member may write it; whether that is alive was asked before. `has_newcomer` says
    /// that a message waits which the commit knows nothing of, and must.
    ///
    /// # Errors
    /// If another one holds the run, or a message came first, or history does not go on so.
    pub fn check_hold(&self, head: &Head, has_newcomer: bool) -> Result<()> {
        if self.fence.is_some() && head.holder != self.fence {
            return Err(Error::Fenced);
        }
        if has_newcomer {
            return Err(Error::Conflict);
        }
        match &self.batch {
            Some(batch) if batch.first != head.next_event => {
                let last = head.next_event.0.saturating_sub(1);
                Err(Error::Invalid(format!("history goes on after event {last}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a birth that is nobody's child may have its workflow id, which these runs have.
    ///
    /// # Errors
    /// If one of them is open, and does not close with this very commit.
    pub fn check_id(&self, taken: Option<(RunId, Status)>) -> Result<()> {
        match taken {
            Some((run, _)) if run == self.run && self.close.is_some() => Ok(()),
            Some((run, status)) if status.is_open() => Err(Error::IdTaken { run, status }),
            _ => Ok(()),
        }
    }
}

/// The newest run of a workflow id, if a birth cannot have the id because of it.
pub fn taken_by(birth: &Birth, newest: Option<(RunId, Status)>) -> Option<(RunId, Status)> {
    newest.filter(|(_, status)| status.is_open() || !may_reuse(birth.reuse, *status))
}

/// The run that a message of a commit goes to, of the one that its address names; none if nobody
/// needs to be told, because what has ended needs no stopping.
///
/// # Errors
/// If there is no such run.
pub fn receiver(
    post: &Post,
    named: Option<&Head>,
) -> std::result::Result<Option<RunId>, ExternalRefusal> {
    let is_meant = |head: &&Head| {
        post.child_of.is_none() || post.child_of == head.parent.map(|(parent, _)| parent)
    };
    match named.filter(is_meant) {
        Some(head) if head.status.is_open() => Ok(Some(head.run)),
        Some(_) if matches!(post.message, Message::Cancel(_) | Message::Terminate(_)) => Ok(None),
        _ => Err(ExternalRefusal::NotFound),
    }
}

/// What the sender of such a message hears, if it wants to.
pub fn answer(post: &Post, sent: std::result::Result<(), ExternalRefusal>) -> Option<Message> {
    let event = post.answer?;
    Some(match sent {
        Ok(()) => Message::ExternalDone(event),
        Err(refusal) => Message::RefuseExternal(event, refusal),
    })
}

/// What the cancels of a commit met.
#[derive(Debug, Default)]
pub struct Met {
    /// Attempts that must be told.
    pub hits: Vec<AttemptHit>,
    /// Had never started: one by one, and by ranges.
    pub skipped: Vec<EventId>,
    ranges: Vec<Ranges>,
}

impl Met {
    /// A mark covers these. Of those that nobody has, all are over whose end does not wait in the
    /// inbox already.
    pub fn mark(&mut self, ranges: &Ranges, mut begun: Vec<EventId>, unread: &[Received]) {
        let mut skipped = Vec::new();
        for received in unread {
            match &received.message {
                Message::EndActivity(end) => begun.push(end.activity),
                Message::SkipActivities(ranges) => skipped.push(ranges),
                _ => {}
            }
        }
        let ranges = ranges.minus(&begun);
        self.ranges.push(match skipped.is_empty() {
            true => ranges,
            false => ranges.without(|id| skipped.iter().any(|skipped| skipped.contains(id))),
        });
    }

    /// The attempts that must be told, and everything that had never started.
    pub fn finish(mut self) -> (Vec<AttemptHit>, Ranges) {
        self.ranges.retain(|ranges| !ranges.is_empty());
        let few = self.skipped.into_iter();
        let skipped = match self.ranges.len() {
            0 => few.collect(),
            // One mark is the common case: its ranges are not taken apart.
            1 if few.len() == 0 => self.ranges.remove(0),
            _ => few.chain(self.ranges.iter().flat_map(Ranges::ids)).collect(),
        };
        (self.hits, skipped)
    }
}
