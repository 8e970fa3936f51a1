//! About how many rows and bytes an item writes: what the size of a group is measured by.

use bowline_core::{Message, Payload};
use bowline_store::{Commit, Posting, Renewal, Settle, Shelve};

use crate::call::Weight;

/// One small row.
pub(crate) const ROW: Weight = Weight { rows: 1, bytes: 100 };

pub(crate) fn rows(count: usize) -> Weight {
    Weight { rows: count, bytes: count.saturating_mul(ROW.bytes) }
}

/// Of what may be taken, rung or swept there is mostly little.
pub(crate) fn at_most(count: usize) -> Weight {
    rows(count.min(200))
}

pub(crate) fn commit(commit: &Commit) -> Weight {
    let (posts, births) = (commit.posts.len(), commit.births.len());
    let alarms = commit.arm.len() + commit.disarm.len();
    let few = 4 + commit.ended.len() + commit.activities.len() + alarms + 2 * posts + 5 * births;
    let mut bytes = commit.batch.as_ref().map_or(0, |batch| batch.bytes.len());
    bytes += commit.snapshot.as_ref().map_or(0, |snapshot| snapshot.bytes.len());
    bytes += commit.activities.iter().map(|new| payload(&new.spec.input)).sum::<usize>();
    bytes += commit.posts.iter().map(|post| message(&post.message)).sum::<usize>();
    plus(rows(few), bytes)
}

pub(crate) fn posting(posting: &Posting) -> Weight {
    match posting {
        Posting::Message { message: sent, .. } => plus(rows(3), message(sent)),
        Posting::Start(start) => {
            let weigh = |event: &bowline_core::Event| event.weight();
            let bytes: u64 = start.birth.events.iter().map(weigh).sum();
            plus(rows(5), usize::try_from(bytes).unwrap_or(usize::MAX))
        }
        Posting::Delete { .. } => ROW,
    }
}

pub(crate) fn settle(settle: &Settle) -> Weight {
    let bytes = match &settle.ending {
        bowline_core::Ending::Completed(result) => payload(result),
        _ => 0,
    };
    plus(rows(3), bytes)
}

pub(crate) fn renewal(renewal: &Renewal) -> Weight {
    let bytes: usize = renewal.heartbeats.iter().map(|beat| payload(&beat.details)).sum();
    plus(rows(renewal.heartbeats.len() + renewal.sightings.len()), bytes)
}

pub(crate) fn shelve(put: &Shelve) -> Weight {
    plus(ROW, put.bytes.as_ref().map_or(0, bowline_core::Blob::len))
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

fn plus(weight: Weight, bytes: usize) -> Weight {
    Weight { bytes: weight.bytes.saturating_add(bytes), ..weight }
}
