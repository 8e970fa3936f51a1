//! What stores write of a run beside its columns, and how much they write: the same bytes and the
//! same measure in every store that keeps rows.

mod migration;
mod missing_rows;
mod weight;

use bowline_core::{
    EventId, Fields, ParentClose, RequestId, Rules, RunId, RunLadder, SearchAttributes,
    WorkflowStarted, codec,
};
use minicbor::{Decode, Encode};

pub use migration::{Migration, Migrations};
pub use missing_rows::{MissingRows, Planned, PlannedRows};
pub use weight::Weight;

use crate::Head;

/// What of a run never changes, beside the columns that lists need.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Origin {
    /// The rules that it runs under.
    #[n(0)]
    pub rules: Rules,
    /// The run that began it.
    #[n(1)]
    pub parent: Option<Above>,
    /// The run at the top of its tree.
    #[n(2)]
    pub root: RunId,
    /// The first run of its chain.
    #[n(3)]
    pub first_run: RunId,
    /// The request that began it.
    #[n(4)]
    pub request_id: RequestId,
    /// The run before it in its chain.
    #[n(5)]
    pub previous_run: Option<RunId>,
    /// The run that it was forked from, and where.
    #[n(6)]
    pub forked: Option<(RunId, EventId)>,
    /// What is done to it if it stays open after it was asked to cancel.
    #[n(7)]
    pub ladder: Option<RunLadder>,
    /// Which run of its chain it is, from 2 on.
    #[n(8)]
    pub link: Option<u32>,
    /// The first run of the chain at the top of its tree, if that is not its own chain.
    #[n(9)]
    pub tree: Option<RunId>,
}

/// The parent of a run.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub struct Above {
    /// Which run that is.
    #[n(0)]
    pub run: RunId,
    /// The event that began the child.
    #[n(1)]
    pub initiated: EventId,
    /// What becomes of the child when the parent closes.
    #[n(2)]
    pub close: ParentClose,
}

impl Origin {
    /// Of a run that begins.
    pub fn of(head: &Head, started: &WorkflowStarted) -> Self {
        let parent = started.parent.as_ref();
        Self {
            rules: head.rules,
            parent: parent.map(|parent| Above {
                run: parent.run,
                initiated: parent.initiated,
                close: parent.close,
            }),
            root: head.root,
            first_run: head.first_run,
            request_id: started.request_id.clone(),
            previous_run: started.previous_run,
            forked: head.forked,
            ladder: head.ladder,
            link: started.link,
            tree: started.tree,
        }
    }

    /// Which run of its chain it is, from 1.
    pub fn link(&self) -> u32 {
        self.link.unwrap_or(1)
    }

    /// The first run of the chain at the top of its tree.
    pub fn tree(&self) -> RunId {
        self.tree.unwrap_or(self.first_run)
    }
}

/// Search attributes, if there are any.
pub fn search_bytes(search: &SearchAttributes) -> Option<Vec<u8>> {
    (!search.is_empty()).then(|| codec::encode(search))
}

/// A memo, if there is one.
pub fn memo_bytes(memo: &Fields) -> Option<Vec<u8>> {
    (!memo.is_empty()).then(|| codec::encode(memo))
}
