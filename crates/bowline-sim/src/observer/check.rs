//! What must hold after every step.

use std::task::{Context, Poll, Waker};

use bowline_core::{ReceiptId, RunId};
use bowline_store::{Answer, Head, Leftovers, Read, RunKey, Store, Subtree};

use super::Observer;

/// Answers of the memory store are ready at once.
pub(super) fn at_once<T>(mut answer: Answer<T>) -> T {
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store never waits"),
    }
}

impl Observer {
    pub(super) fn head(&self, run: RunKey) -> Option<Head> {
        at_once(self.rows.read(Read::head(run))).ok().flatten().map(|read| read.head)
    }

    pub(super) fn left(&self, receipt: ReceiptId) -> Option<Leftovers> {
        at_once(self.rows.leftovers(Subtree::Receipt(receipt))).ok()
    }

    pub(super) fn receipt_run(&self, receipt: ReceiptId) -> Option<RunId> {
        self.left(receipt)?.receipt.map(|row| row.run)
    }

    /// Something has changed: whatever a receipt says now is true.
    pub(crate) fn look(&self) {
        let receipts = self.known.lock().receipts.clone();
        for (receipt, run) in receipts {
            if let Some((rule, what)) = self.read_out(receipt, run) {
                self.broke(rule, what);
            }
        }
    }
}

impl super::Known {
    /// How many activities of a run have never begun.
    pub(super) fn never_begun(&self, run: RunId) -> u64 {
        let Some(story) = self.runs.get(&run) else { return 0 };
        let scheduled = story
            .events
            .iter()
            .filter(|event| matches!(event.kind, bowline_core::EventKind::ActivityScheduled(_)));
        let begun = |activity| {
            let bounds = (run, activity, 0)..=(run, activity, u32::MAX);
            self.begun.range(bounds).next().is_some()
        };
        scheduled.filter(|event| !begun(event.id)).count() as u64
    }
}
