//! About how many rows and bytes an item writes: what the size of a group is measured by.

use bowline_core::{Message, Payload};

use crate::{CatalogPut, Commit, Posting, Renewal, Settle};

/// About how much is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    /// Rows.
    pub rows: usize,
    /// Bytes.
    pub bytes: usize,
}

impl Weight {
    /// One small row.
    pub const ROW: Self = Self { rows: 1, bytes: 100 };

    /// Small rows.
    pub fn rows(count: usize) -> Self {
        Self { rows: count, bytes: count.saturating_mul(Self::ROW.bytes) }
    }

    /// Of what may be taken, rung or swept there is mostly little.
    pub fn at_most(count: usize) -> Self {
        Self::rows(count.min(200))
    }

    /// Both.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(more.rows),
            bytes: self.bytes.saturating_add(more.bytes),
        }
    }

    /// Of a decision.
    pub fn commit(commit: &Commit) -> Self {
        let (posts, births) = (commit.posts.len(), commit.births.len());
        let alarms = commit.arm.len() + commit.disarm.len();
        let few =
            4 + commit.ended.len() + commit.activities.len() + alarms + 2 * posts + 5 * births;
        let mut bytes = commit.batch.as_ref().map_or(0, |batch| batch.bytes.len());
        bytes += commit.snapshot.as_ref().map_or(0, |snapshot| snapshot.bytes.len());
        bytes += commit.activities.iter().map(|new| payload(&new.spec.input)).sum::<usize>();
        bytes += commit.posts.iter().map(|post| message(&post.message)).sum::<usize>();
        Self::rows(few).and(bytes)
    }

    /// Of what is posted.
    pub fn posting(posting: &Posting) -> Self {
        match posting {
            Posting::Message { message: sent, .. } => Self::rows(3).and(message(sent)),
            Posting::Start(start) => {
                let weigh = |event: &bowline_core::Event| event.weight();
                let bytes: u64 = start.birth.events.iter().map(weigh).sum();
                Self::rows(5).and(usize::try_from(bytes).unwrap_or(usize::MAX))
            }
            Posting::Delete { .. } => Self::ROW,
        }
    }

    /// Of the end of an attempt.
    pub fn settle(settle: &Settle) -> Self {
        let bytes = match &settle.ending {
            bowline_core::Ending::Completed(result) => payload(result),
            _ => 0,
        };
        Self::rows(3).and(bytes)
    }

    /// Of a renewal.
    pub fn renewal(renewal: &Renewal) -> Self {
        let bytes: usize = renewal.heartbeats.iter().map(|beat| payload(&beat.details)).sum();
        Self::rows(renewal.heartbeats.len() + renewal.sightings.len()).and(bytes)
    }

    /// Of a value on a catalog.
    pub fn write_catalog(put: &CatalogPut) -> Self {
        Self::ROW.and(put.bytes.as_ref().map_or(0, bowline_core::Blob::len))
    }

    fn and(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_add(bytes), ..self }
    }
}

fn message(message: &Message) -> usize {
    match message {
        Message::Signal(signal) => payload(&signal.input),
        Message::Update(update) => payload(&update.input),
        Message::EndChild(_) => 1_000,
        _ => 100,
    }
}

fn payload(payload: &Option<Payload>) -> usize {
    payload.as_ref().map_or(0, Payload::len)
}
