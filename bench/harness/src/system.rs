//! What a system must be able to do so that the workloads can be run on it.
//!
//! In:    [`Work`], the one description of what a workflow does; peers interpret it.
//! Out:   answers, or [`Trouble`]: it failed, or this system has no such thing.

use serde::{Deserialize, Serialize};

/// What a workflow does. It is the input of the one workflow that every peer has.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub enum Work {
    /// One activity.
    Hello,
    /// Activities one after the other.
    Chain {
        /// How many.
        steps: u32,
    },
    /// Activities at once.
    Fanout {
        /// How many.
        width: u32,
    },
    /// Child runs at once; each of them only returns.
    Children {
        /// How many.
        width: u32,
    },
    /// Returns at once: what a child does.
    Nothing,
    /// Ends when this many signals have come.
    Signals {
        /// How many.
        count: u32,
    },
    /// One activity that runs until it is told to stop.
    Hold,
    /// A timer of an hour.
    Sleep,
    /// An activity that runs until it is told to stop, beside one that ends as soon as the other
    /// runs: the loser is to be told.
    Race,
    /// Activities at once that run until told, in a queue where only one at a time may run.
    Crowd {
        /// How many.
        width: u32,
    },
    /// Children at once, each with activities at once that run until told.
    Tree {
        /// How many children.
        children: u32,
        /// How many activities each of them has.
        activities: u32,
    },
    /// One child of a tree.
    Branch {
        /// How many activities it has.
        activities: u32,
    },
    /// Activities one after the other, then one signal.
    Long {
        /// How many.
        steps: u32,
    },
}

/// Why there is no number.
#[derive(Debug)]
pub enum Trouble {
    /// The system has no such thing; the reason is reported beside its name.
    Cannot(String),
    /// It has, and it did not work.
    Failed(anyhow::Error),
}

impl Trouble {
    /// The system has no such thing.
    pub fn cannot(reason: impl Into<String>) -> Self {
        Self::Cannot(reason.into())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A system under measurement. Its activities report to [`crate::probe`].
pub trait System: Send + Sync + 'static {
    /// A run that was started.
    type Run: Clone + Send + Sync + 'static;
    /// What a request to cancel leaves in hand.
    type Ticket: Send + Sync + 'static;

    /// Starts a run and returns when the start is durable.
    fn start(
        &self,
        id: String,
        work: Work,
    ) -> impl Future<Output = Result<Self::Run, Trouble>> + Send;

    /// Finds a run that another process started.
    fn find(&self, id: String) -> impl Future<Output = Result<Self::Run, Trouble>> + Send;

    /// Waits until the run has ended, in whatever way.
    fn ended(&self, run: &Self::Run) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// Starts a run and waits for its end, in the cheapest way that the system has.
    fn whole(&self, id: String, work: Work) -> impl Future<Output = Result<(), Trouble>> + Send {
        async {
            let run = self.start(id, work).await?;
            self.ended(&run).await
        }
    }

    /// Sends the run one signal and returns when it is durable.
    fn signal(&self, run: &Self::Run) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// Asks the run to cancel and returns when the request is durable.
    fn cancel(&self, run: &Self::Run)
    -> impl Future<Output = Result<Self::Ticket, Trouble>> + Send;

    /// Waits until it is recorded what the cancel stops.
    fn decided(&self, ticket: &Self::Ticket) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// Waits until the system says that nothing of the run is left running.
    fn clean(&self, ticket: &Self::Ticket) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// How many events the history of the run has, where the system counts them.
    fn events(
        &self,
        _run: &Self::Run,
    ) -> impl Future<Output = Result<Option<u64>, Trouble>> + Send {
        async { Ok(None) }
    }

    /// Ends in good order.
    fn close(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}
