//! Broadcasts: small, to everybody, and as good as a hint.

use std::sync::Arc;

use bowline_core::{
    AskId, Blob, Cause, Code, ControlQueue, Epoch, EventId, Namespace, Queue, RunId, StopAttempt,
    Time, UpdateId,
};
use bowline_store::Broadcast;
use minicbor::{Decode, Encode};

use super::PeerRequest;
use crate::engine::{EngineInner, remote::Poll};

/// What one member says to all others.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) enum PeerNews {
    /// A question waits at the member that its id names.
    #[n(0)]
    Question {
        /// Of whom it is asked.
        #[n(0)]
        run: RunId,
        /// Its id.
        #[n(1)]
        id: AskId,
        /// The queue that it stands in; unset while it waits for the run's next turn.
        #[n(2)]
        at: Option<Queue>,
    },
    /// Nobody waits for its answer any more.
    #[n(1)]
    Answered {
        /// Of whom it was asked.
        #[n(0)]
        run: RunId,
        /// Its id.
        #[n(1)]
        id: AskId,
    },
    /// An update was refused, and stands nowhere but in the memory of this member.
    #[n(2)]
    Refused {
        /// Who refused it.
        #[n(0)]
        run: RunId,
        /// Which update.
        #[n(1)]
        update: UpdateId,
        /// Who remembers.
        #[n(2)]
        by: Epoch,
    },
    /// An attempt is over, and its worker may not know. (Cancels stand on rows, and need no word.)
    #[n(3)]
    Stop {
        /// Where that worker listens.
        #[n(0)]
        control: ControlQueue,
        /// Its run.
        #[n(1)]
        run: RunId,
        /// Its activity.
        #[n(2)]
        activity: EventId,
        /// Which attempt.
        #[n(3)]
        attempt: u32,
        /// Since when.
        #[n(4)]
        at: Time,
        /// Why.
        #[n(5)]
        why: Code,
    },
    /// A worker has said where it listens.
    #[n(4)]
    Listens {
        /// The worker's own key.
        #[n(0)]
        worker: String,
        /// Where.
        #[n(1)]
        control: ControlQueue,
    },
    /// A worker polls.
    #[n(6)]
    Polls(#[n(0)] Poll),
    /// How a worker is.
    #[n(7)]
    Beats {
        /// Whose runs it works for.
        #[n(0)]
        namespace: Namespace,
        /// The worker's own key.
        #[n(1)]
        worker: String,
        /// In its own words.
        #[n(2)]
        said: Blob,
    },
    /// A worker leaves: what polls for it is answered.
    #[n(5)]
    Left {
        /// The worker's own key.
        #[n(0)]
        worker: String,
    },
}

impl EngineInner {
    /// Says something to all other members.
    pub(crate) fn say(&self, said: &PeerNews) {
        // What is too long is not said, and found later.
        if let Some(word) = Broadcast::new(bowline_core::codec::encode(said)) {
            self.store.say(word);
        }
    }

    /// Another member has said something. What does not read is a newer one's.
    pub(crate) fn hears(self: &Arc<Self>, word: &Broadcast) {
        let Ok(said) = bowline_core::codec::decode::<PeerNews>(word.bytes()) else { return };
        match said {
            PeerNews::Question { run, id, at } => {
                self.queries.hears(run, id, at.clone(), self.now());
                if let Some(queue) = at {
                    self.polls.turn_waits(run.namespace, &queue);
                }
            }
            PeerNews::Answered { run, id } => self.queries.over(run, id),
            PeerNews::Refused { run, update, by } => self.learn_refusal(run, update, by),
            PeerNews::Stop { control, run, activity, attempt, at, why } => {
                let cause = Cause::new(why);
                let notice =
                    StopAttempt { run, activity, attempt, cause, decided_at: at, is_cancel: false };
                self.control.pass_on(&control, notice);
            }
            PeerNews::Listens { worker, control } => self.control.learn(&worker, &control),
            PeerNews::Polls(poll) => self.workers.hears(&poll, self.now()),
            PeerNews::Beats { namespace, worker, said } => {
                self.workers.beats(namespace, worker, said, self.now());
            }
            PeerNews::Left { worker } => self.control.left(&worker),
        }
    }

    /// Somebody here may wait for an update that another member has seen refused.
    fn learn_refusal(self: &Arc<Self>, run: RunId, update: UpdateId, by: Epoch) {
        if !self.updates.is_awaited(run, &update) {
            return;
        }
        let inner = self.clone();
        self.spawn(async move {
            let request = PeerRequest::Refusal { run, update: update.clone() };
            if let Some(stage) =
                inner.ask_peer(by, request).await.and_then(|answer| answer.refusal())
            {
                inner.updates.tell(run, &update, &stage);
            }
        });
    }
}
