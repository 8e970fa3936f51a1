//! A workflow thread that keeps step with the runtime: while it works, the runtime waits.
//!
//! In:    the thread's mailbox.
//! Out:   the same work, one piece at a time; the next when the one before is done.
//! Never: waits for ever. Code that does not return is left behind after a while, for the
//!        watchdog to find.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::Duration,
};

use tokio::sync::mpsc;

use super::{Work, thread::Next};
use crate::engine::EngineInner;

/// Hands the mailbox's work over piece by piece, for as long as the engine lives.
pub(super) fn in_step(
    inner: &Arc<EngineInner>,
    mut mailbox: mpsc::Receiver<Work>,
    patience: Duration,
) -> Next {
    let (hand_over, work) = sync_channel(1);
    let (say_done, done) = sync_channel(1);
    let mut leader = Leader { hand_over: Some(hand_over), done, patience };
    inner.spawn(async move {
        while let Some(work) = mailbox.recv().await {
            if !leader.lead(work) {
                return;
            }
        }
    });
    let mut is_first = true;
    Box::new(move || {
        // Asking for more is how the thread says that it is done.
        if !std::mem::take(&mut is_first) && say_done.send(()).is_err() {
            return None;
        }
        work.recv().ok()
    })
}

/// The runtime's side.
struct Leader {
    hand_over: Option<SyncSender<Work>>,
    done: Receiver<()>,
    patience: Duration,
}

impl Leader {
    /// Gives the thread a piece of work and waits for it; false if it does not come back.
    fn lead(&mut self, work: Work) -> bool {
        let given = self.hand_over.as_ref().is_some_and(|thread| thread.send(work).is_ok());
        let is_done = given && self.done.recv_timeout(self.patience).is_ok();
        if !is_done {
            // Nobody waits for it a second time.
            self.patience = Duration::ZERO;
        }
        is_done
    }
}

impl Drop for Leader {
    /// Waits for the thread's end too: what it drops is dropped before anything else happens.
    fn drop(&mut self) {
        self.hand_over = None;
        while self.done.recv_timeout(self.patience).is_ok() {}
    }
}
