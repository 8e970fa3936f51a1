//! The end of an attempt, offered to the thread that holds its run: one commit writes that end and
//! the turn that follows from it, and no message goes through the store in between.
//!
//! In:    an end that the worker foresees to reach the run as it is.
//! Out:   whether a turn has written it.
//! Never: keeps an end from the store for long. What no turn has taken in time is settled alone.
//!        Nor is it heard before what was acknowledged before it: a turn that knows of mail on its
//!        way leaves ends alone, and a commit that carries one compares the inbox.

use std::sync::Arc;

use bowline_core::{Number, Received, Time};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Threads, Work};
use crate::{engine::exchange::OfferedEnd, limits};

/// An end that waits for a turn.
pub(in crate::worker) struct Offer {
    waiting: Arc<Mutex<Option<OfferedEnd>>>,
    written: oneshot::Sender<bool>,
}

/// Ends that a turn has taken. Dropping them says that they were not written.
#[derive(Default)]
pub(super) struct TakenEnds {
    pub(super) ended: Vec<OfferedEnd>,
    answers: Vec<oneshot::Sender<bool>>,
}

impl TakenEnds {
    /// Takes what was not taken back.
    pub(super) fn of(offers: Vec<Offer>) -> Self {
        let mut taken = Self::default();
        for Offer { waiting, written } in offers {
            if let Some(offered) = waiting.lock().take() {
                taken.ended.push(offered);
                taken.answers.push(written);
            }
        }
        taken
    }

    /// As messages. They were never in the inbox, so they come after what was, and have no number
    /// of their own. Whether something has come that nobody here knows of, their commit finds out.
    pub(super) fn received(&self, last: Number, at: Time) -> impl Iterator<Item = Received> {
        let messages = self.ended.iter().map(|offered| offered.message.clone());
        messages.map(move |message| Received { number: last, at, message })
    }

    /// Says whether they are written.
    pub(super) fn answer(answers: Vec<oneshot::Sender<bool>>, is_written: bool) {
        for answer in answers {
            // Whoever gave up waiting has settled them.
            let _ = answer.send(is_written);
        }
    }

    pub(super) fn apart(self) -> (Vec<OfferedEnd>, Vec<oneshot::Sender<bool>>) {
        (self.ended, self.answers)
    }
}

impl Threads {
    /// Offers an end to the thread that holds its run. True if a turn has written it; otherwise
    /// whoever offered it must.
    pub(in crate::worker) async fn offer(&self, offered: OfferedEnd) -> bool {
        let run = offered.settle.run;
        let handle = self.handle_of(run);
        if !handle.shared.holds(run) || handle.shared.is_contended(run, self.inner.now()) {
            return false;
        }
        let waiting = Arc::new(Mutex::new(Some(offered)));
        let (written, mut answer) = oneshot::channel();
        let offer = Offer { waiting: waiting.clone(), written };
        if handle.mailbox.try_send(Work::Ended(run, offer)).is_err() {
            return false;
        }
        tokio::select! {
            biased;
            written = &mut answer => return written.unwrap_or(false),
            () = handle.shared.gone.cancelled() => return false,
            () = tokio::time::sleep(limits::OFFER) => {}
        }
        if waiting.lock().take().is_some() {
            return false;
        }
        tokio::select! {
            biased;
            written = answer => written.unwrap_or(false),
            () = handle.shared.gone.cancelled() => false,
        }
    }
}
