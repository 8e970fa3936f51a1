//! What can be seen of runs: their rows, their histories, their ends, and what is left of them.

use bowline_core::{Event, EventId, ReceiptId, RunEnding, RunId, State, WorkflowId};
use bowline_store::{Filter, Head, Hints, Leftovers, Page, Phase, Read, RunKey, RunRead, Subtree};

use super::Engine;
use crate::{History, HistoryPage, Result, RunEnd, engine::run::WhenParked};

impl Engine {
    /// Waits until a run is closed; follows the runs that go on in its place.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn outcome(&self, run: RunId) -> Result<(RunId, RunEnding)> {
        self.inner.outcome(run, WhenParked::Wait).await
    }

    /// As [`outcome`](Self::outcome), but does not wait for a run that is parked.
    ///
    /// # Errors
    /// If there is no such run, or it is parked because its code keeps failing.
    pub async fn result(&self, run: RunId) -> Result<(RunId, RunEnding)> {
        self.inner.outcome(run, WhenParked::Tell).await
    }

    /// As [`result`](Self::result), of a run that was followed from before its beginning.
    ///
    /// # Errors
    /// If the run is parked because its code keeps failing, or was deleted.
    pub async fn ended(&self, end: RunEnd) -> Result<(RunId, RunEnding)> {
        self.inner.outcome_of_new(end, WhenParked::Tell).await
    }

    /// The row of a run.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn head(&self, run: RunId) -> Result<Head> {
        self.inner.head(RunKey::Run(run)).await
    }

    /// The newest run of the chain of a run. The first run of a chain names it for as long as any
    /// of its runs is there, any other run for as long as it is there itself.
    ///
    /// # Errors
    /// If there is none.
    pub async fn newest(&self, run: RunId) -> Result<Head> {
        self.inner.head(RunKey::Chain(run)).await
    }

    /// The newest run of a workflow id.
    ///
    /// # Errors
    /// If there is none.
    pub async fn current(&self, workflow_id: impl Into<WorkflowId>) -> Result<Head> {
        self.inner.head(RunKey::Current(self.namespace, workflow_id.into())).await
    }

    /// Where a run stands: its row, and its state folded from its events.
    ///
    /// # Errors
    /// If there is no such run, or its history does not read.
    pub async fn state(&self, run: RunId) -> Result<(Head, State)> {
        let (head, draft, _) = self.inner.draft(run).await?;
        Ok((head, draft.state().clone()))
    }

    /// Whatever is wanted of a run.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn read(&self, read: Read) -> Result<RunRead> {
        self.inner.read(read).await
    }

    /// The history of a run. A turn that is out and not yet written shows as its tail.
    ///
    /// # Errors
    /// If there is no such run, or its history does not read.
    pub async fn history(&self, run: RunId) -> Result<Vec<Event>> {
        let History { mut written, tail } = self.written(run).await?;
        written.extend(tail);
        Ok(written)
    }

    /// The same, where it matters which events are written.
    ///
    /// # Errors
    /// If there is no such run, or its history does not read.
    pub async fn written(&self, run: RunId) -> Result<History> {
        Box::pin(self.inner.remote_history(run)).await
    }

    /// Some of the history of a run: at most so many events, from one on. It costs the same however
    /// long the history is.
    ///
    /// # Errors
    /// If there is no such run, or these events do not read.
    pub async fn history_page(
        &self,
        run: RunId,
        from: EventId,
        most: usize,
    ) -> Result<HistoryPage> {
        Box::pin(self.inner.history_page(run, from, most)).await
    }

    /// Waits until a run's history has an event of this id, or the run is closed.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn grown(&self, run: RunId, id: EventId) -> Result<Head> {
        self.inner.grown(run, id).await
    }

    /// Waits until a run is closed. What closes it, if that was sent already, is taken in here and
    /// now.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn closed(&self, run: RunId) -> Result<Head> {
        Box::pin(self.inner.closed(run)).await
    }

    /// Lists runs.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn find(&self, filter: Filter) -> Result<Page> {
        self.inner.find(Filter { namespace: self.namespace, ..filter }).await
    }

    /// Hears of runs that change, at this process and, where many have the store open, at others.
    /// Hints, as all are: they may be late, doubled or lost, and say to look.
    pub fn changes(&self) -> Hints {
        self.inner.changes()
    }

    /// How far a cancel has come, as the store has it now.
    ///
    /// # Errors
    /// If there is no such receipt.
    pub async fn receipt(&self, receipt: ReceiptId) -> Result<Leftovers> {
        self.inner.leftovers(Subtree::Receipt(receipt)).await
    }

    /// Waits until a cancel has come so far.
    ///
    /// # Errors
    /// If there is no such receipt.
    pub async fn wait(&self, receipt: ReceiptId, phase: Phase) -> Result<Leftovers> {
        self.inner.wait(receipt, phase).await
    }

    /// What is left of a run's subtree.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn leftovers(&self, run: RunId) -> Result<Leftovers> {
        self.inner.leftovers(Subtree::Run(run)).await
    }

    /// Whatever should not be there at all; empty after any fault.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn orphans(&self) -> Result<Leftovers> {
        self.inner.leftovers(Subtree::Orphans).await
    }
}
