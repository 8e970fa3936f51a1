//! The rows: what a durable store has in its tables.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bowline_core::{
    ActivityLive, ActivitySpec, Address, Alarm, Batch, Epoch, EventId, Message, Namespace, Number,
    ParentClose, Place, Ranges, ReceiptId, Received, RequestId, RunId, WorkflowId, codec,
};

use crate::{
    Error, Head, Item, ReceiptRow, Result, RunKey, Snapshot, left_by, ready::Mark, runs_on,
};

#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) epoch: Epoch,
    pub(super) runs: BTreeMap<RunId, Run>,
    /// The newest run of each workflow id.
    pub(super) current: BTreeMap<(Namespace, WorkflowId), RunId>,
    pub(super) children: BTreeMap<RunId, BTreeSet<RunId>>,
    /// The runs of each chain in the order in which they began, by its first run.
    pub(super) chains: BTreeMap<RunId, Vec<RunId>>,
    pub(super) receipts: BTreeMap<ReceiptId, ReceiptRow>,
    /// By catalog and name.
    pub(super) items: BTreeMap<(String, String), Item>,
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) head: Head,
    pub(super) request_id: RequestId,
    pub(super) close: ParentClose,
    pub(super) batches: Vec<Batch>,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) inbox: BTreeMap<Number, Received>,
    pub(super) activities: BTreeMap<EventId, Activity>,
    pub(super) alarms: BTreeSet<Alarm>,
    pub(super) marks: Vec<Mark>,
    pub(super) marks_made: u64,
    pub(super) never_started: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Activity {
    pub(super) spec: Arc<ActivitySpec>,
    pub(super) live: ActivityLive,
}

impl Rows {
    pub(super) fn run(&self, run: RunId) -> Result<&Run> {
        self.runs.get(&run).ok_or(Error::Missing("run"))
    }

    pub(super) fn known(&mut self, run: RunId) -> &mut Run {
        self.runs.get_mut(&run).expect("the run was found before")
    }

    pub(super) fn key(&self, key: &RunKey) -> Option<&Run> {
        match key {
            RunKey::Run(run) => self.runs.get(run),
            RunKey::Current(namespace, id) => self.current(*namespace, id),
            RunKey::Chain(run) => self.newest(*run),
        }
    }

    /// The newest run of the chain of a run, be that its first one or any that is still there.
    fn newest(&self, run: RunId) -> Option<&Run> {
        let first = self.runs.get(&run).map_or(run, |row| row.head.first_run);
        self.runs.get(self.chains.get(&first)?.last()?)
    }

    pub(super) fn current(&self, namespace: Namespace, id: &WorkflowId) -> Option<&Run> {
        self.runs.get(self.current.get(&(namespace, id.clone()))?)
    }

    pub(super) fn resolve(&self, address: &Address) -> Option<&Run> {
        match address {
            Address::Run(run) => self.runs.get(run),
            Address::Current(namespace, id) => self.current(*namespace, id),
            Address::Chain(run) => self.newest(*run),
        }
    }

    /// The parent of a run, and its number there. Where that was forked behind it, the fork has
    /// inherited it.
    pub(super) fn above(&self, row: &Run) -> Option<(RunId, EventId)> {
        let (mut parent, event) = row.head.parent?;
        let first = self.runs.get(&parent).map(|parent| parent.head.first_run);
        let chain = first.and_then(|first| self.chains.get(&first));
        for run in chain.into_iter().flatten() {
            let forked = self.runs.get(run).and_then(|row| row.head.forked);
            if forked.is_some_and(|(old, cut)| old == parent && event <= cut) {
                parent = *run;
            }
        }
        Some((parent, event))
    }

    /// What becomes of a run when its parent, or the fork that inherited it, closes; what a closed
    /// parent had let go of is left.
    pub(super) fn policy(&self, run: &Run, above: Option<(RunId, EventId)>) -> ParentClose {
        let parent = above.and_then(|(id, event)| Some((self.runs.get(&id)?, event)));
        match parent {
            Some((parent, event)) if parent.left().contains(event) => ParentClose::Abandon,
            _ => run.close,
        }
    }
}

impl Run {
    pub(super) fn marked(&self, activity: EventId) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.ranges.contains(activity))
    }

    /// The first unread message that carries out this request.
    pub(super) fn repeats(&self, message: &Message) -> bool {
        let wanted = message.request();
        wanted.is_some() && self.inbox.values().any(|r| r.message.request() == wanted)
    }

    /// Whether it may take a message.
    pub(super) fn admit(&self, message: &Message) -> Result<()> {
        let bytes = match self.head.must_weigh(message) {
            Some(_) => self.inbox.values().map(|r| codec::encode(&r.message).len() as u64).sum(),
            None => 0,
        };
        self.head.admit(message, bytes)
    }

    pub(super) fn unread(&self, most: usize) -> Vec<Received> {
        self.inbox.values().take(most).cloned().collect()
    }

    /// Closed, and nothing of it can run any more.
    pub(super) fn is_over(&self) -> bool {
        let over = |own: &Activity| own.live.ended().is_some() && !runs_on(&own.live);
        !self.head.status.is_open() && self.activities.values().all(over)
    }

    /// What it let go of, or left alone, when it closed.
    pub(super) fn left(&self) -> Ranges {
        let last = self.batches.last().filter(|_| !self.head.status.is_open());
        last.and_then(|batch| left_by(batch).ok()).unwrap_or_default()
    }

    /// Waiting activities and, of each, whether a mark covers it.
    pub(super) fn queued(&self) -> impl Iterator<Item = (EventId, bool)> {
        let waits = |activity: &Activity| matches!(activity.live.place, Place::Queued { .. });
        let queued = self.activities.iter().filter(move |(_, activity)| waits(activity));
        queued.map(|(id, _)| (*id, self.marked(*id).is_some()))
    }
}
