//! What the harness asks, as calls of the public API.

use std::time::Duration;

use bowline::{Bowline, Phase, Receipt, Run};
use harness::{System, Trouble, Work};

use crate::work::{CROWD, HOLD, POKE, hold, perform, touch, win};

const DRAIN: Duration = Duration::from_secs(5);

/// Bowline in this process.
pub(crate) struct Embedded(Bowline);

impl Embedded {
    /// At this place, with defaults. A client has nothing to run.
    pub(crate) async fn open(place: &str, is_client: bool) -> anyhow::Result<Self> {
        if is_client {
            return Ok(Self(Bowline::open(place).start().await?));
        }
        let app = Bowline::open(place).workflow(perform);
        let app = app.activity(touch).activity(hold).activity(win);
        Ok(Self(app.queue(HOLD, 6_000).queue(CROWD, 1).start().await?))
    }
}

impl System for Embedded {
    type Run = Run<u32>;
    type Ticket = Receipt;

    async fn start(&self, id: String, work: Work) -> Result<Run<u32>, Trouble> {
        Ok(self.0.start(perform, id, work).await?)
    }

    async fn find(&self, id: String) -> Result<Run<u32>, Trouble> {
        Ok(self.0.attach(perform, id))
    }

    async fn ended(&self, run: &Run<u32>) -> Result<(), Trouble> {
        // However it ended: that is for the workload to know.
        let _ = run.outcome().await?;
        Ok(())
    }

    async fn signal(&self, run: &Run<u32>) -> Result<(), Trouble> {
        Ok(run.signal(POKE, ()).await?)
    }

    async fn cancel(&self, run: &Run<u32>) -> Result<Receipt, Trouble> {
        Ok(run.cancel("measured").by("bench").await?)
    }

    async fn decided(&self, ticket: &Receipt) -> Result<(), Trouble> {
        ticket.wait(Phase::Decided).await?;
        Ok(())
    }

    async fn clean(&self, ticket: &Receipt) -> Result<(), Trouble> {
        ticket.wait(Phase::Clean).await?;
        Ok(())
    }

    async fn events(&self, run: &Run<u32>) -> Result<Option<u64>, Trouble> {
        Ok(Some(run.describe().await?.events))
    }

    async fn close(&self) {
        // What does not end in time is left to the next process, as after any end.
        let _ = self.0.close(DRAIN).await;
    }
}
