//! History page by page: each page is read by itself, and costs the same however long the history
//! is.

use std::sync::Arc;

use bowline_core::{Event, EventId, RunId};
use bowline_store::{Read, RunKey};

use crate::{
    Result,
    engine::{
        EngineInner,
        run::{events, state},
    },
};

/// Some of the history of a run.
#[derive(Clone, Debug)]
pub struct HistoryPage {
    /// Events that are written, from the one that was asked for on.
    pub events: Vec<Event>,
    /// The number that the next event to be written will have.
    pub end: EventId,
    /// Whether there will be more.
    pub is_open: bool,
    /// With the last page: the events of a turn that is out and not yet written.
    pub tail: Vec<Event>,
}

impl HistoryPage {
    /// Whether there are written events behind these.
    pub fn has_more(&self) -> bool {
        self.events.last().is_some_and(|last| last.id.plus(1) < self.end)
    }
}

impl EngineInner {
    /// At most so many events of a remote run's history, from one on. What was acknowledged is
    /// among them, whether or not anybody polls.
    pub(crate) async fn history_page(
        self: &Arc<Self>,
        run: RunId,
        from: EventId,
        most: usize,
    ) -> Result<HistoryPage> {
        let asked = self.queries.asked();
        // Each batch has an event at least.
        let part = Read {
            events_from: Some(from),
            batches_max: most,
            inbox: true,
            ..Read::head(RunKey::Run(run))
        };
        let mut read = self.read(part.clone()).await?;
        let is_owed = !read.head.rules.is_native() && !read.inbox.is_empty();
        if is_owed && self.take_in(&self.read(Read::state(run)).await?, asked).await? {
            read = self.read(part).await?;
        }
        let mut page = events(run, &read.batches)?;
        page.retain(|event| event.id >= from);
        page.truncate(most);
        let (end, is_open) = (read.head.next_event, read.head.status.is_open());
        let mut page = HistoryPage { events: page, end, is_open, tail: Vec::new() };
        let is_out = read.head.record.turn.as_ref().is_some_and(|turn| turn.provisional);
        if is_out && !page.has_more() {
            // As one read has it, so that both are of one moment.
            let whole = self.read(Read { inbox: false, ..Read::state(run) }).await?;
            if whole.head.next_event == page.end {
                page.tail = whole.head.record.tail(&state(&whole)?);
            }
        }
        Ok(page)
    }
}
