//! Requests: what one member asks of another by name, as a question in the store. The answer comes
//! soon, or the other one is gone.

use std::sync::Arc;

use bowline_core::{AskId, Epoch, Failure, Payload, RunId, UpdateId, UpdateStage, codec};
use bowline_store::{Ask, AskBody, AskTarget, Reply};
use minicbor::{Decode, Encode};

use crate::{
    engine::{
        EngineInner,
        remote::{QueryAnswer, Question},
    },
    limits,
};

/// What a member is asked to do.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) enum PeerRequest {
    /// A worker has come for a question that stands alone.
    #[n(0)]
    Take {
        /// Of whom it is asked.
        #[n(0)]
        run: RunId,
        /// Its id.
        #[n(1)]
        id: AskId,
    },
    /// A turn has been handed out, and takes questions along.
    #[n(1)]
    Board {
        /// Whose turn.
        #[n(0)]
        run: RunId,
        /// The questions.
        #[n(1)]
        ids: Vec<AskId>,
        /// Which turn.
        #[n(2)]
        serial: u64,
    },
    /// A worker has answered a question.
    #[n(2)]
    Answer {
        /// Of whom it was asked.
        #[n(0)]
        run: RunId,
        /// Its id.
        #[n(1)]
        id: AskId,
        /// What it said.
        #[n(2)]
        answer: QueryAnswer,
    },
    /// Why an update was refused.
    #[n(3)]
    Refusal {
        /// By whom.
        #[n(0)]
        run: RunId,
        /// Which.
        #[n(1)]
        update: UpdateId,
    },
}

/// How a request went.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) enum Went {
    /// There is no such thing any more.
    #[n(0)]
    Nowhere,
    /// It is done.
    #[n(1)]
    Done,
    /// The questions.
    #[n(2)]
    Questions(#[n(0)] Vec<(AskId, Question)>),
    /// Why it was refused.
    #[n(3)]
    Refused(#[n(0)] Failure),
}

impl Went {
    pub(crate) fn questions(self) -> Vec<(AskId, Question)> {
        match self {
            Self::Questions(questions) => questions,
            _ => Vec::new(),
        }
    }

    pub(crate) fn refusal(self) -> Option<UpdateStage> {
        match self {
            Self::Refused(why) => Some(UpdateStage::Rejected(why)),
            _ => None,
        }
    }
}

/// Does requests of other members, until the engine stops.
pub(crate) async fn run(inner: Arc<EngineInner>) {
    let mut replies = Vec::new();
    loop {
        if replies.is_empty() {
            inner.bells.asked.notified().await;
        }
        let given = std::mem::take(&mut replies);
        let epoch = inner.epoch();
        let answered = inner.retrying(|| inner.store.answer(epoch, given.clone())).await;
        match inner.heed(epoch, answered) {
            Ok(pending) => {
                replies = pending.into_iter().map(|pending| inner.carry_out(pending.ask)).collect();
            }
            // Whoever waits for these gives up, and tries again.
            Err(error) => tracing::warn!(%error, "questions of other members were not answered"),
        }
    }
}

impl EngineInner {
    /// Sends a request; none if nobody has done it in time.
    pub(crate) async fn ask_peer(&self, to: Epoch, request: PeerRequest) -> Option<Went> {
        let ask = Ask {
            id: AskId(self.draw()),
            to: AskTarget::Member(to),
            body: AskBody::Control(Payload::wire(codec::encode(&request))),
            deadline: self.now().after(limits::PEER_REQUEST),
        };
        let deadline = ask.deadline;
        let reply = tokio::select! {
            biased;
            reply = self.store.ask(ask) => reply,
            () = self.clock.sleep_until(deadline) => return None,
        };
        match reply {
            Ok(Reply { answer: Ok(Some(answer)), .. }) => {
                codec::decode(answer.bytes.as_slice()).ok()
            }
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(%error, member = to.0, "an request did not get through");
                None
            }
        }
    }

    fn carry_out(self: &Arc<Self>, ask: Ask) -> Reply {
        let request = match &ask.body {
            AskBody::Control(body) => codec::decode::<PeerRequest>(body.bytes.as_slice()).ok(),
            _ => None,
        };
        let went = match request {
            Some(PeerRequest::Take { run, id }) => self.queries.give(run, id, self.now()),
            Some(PeerRequest::Board { run, ids, serial }) => {
                self.queries.give_along(run, &ids, serial)
            }
            Some(PeerRequest::Answer { run, id, answer }) => {
                match self.queries.answer(run, id, answer) {
                    true => Went::Done,
                    false => Went::Nowhere,
                }
            }
            Some(PeerRequest::Refusal { run, update }) => {
                match self.updates.refused(run, &update) {
                    Some(why) => Went::Refused(why),
                    None => Went::Nowhere,
                }
            }
            None => {
                let why = Failure::new("this member does not know such requests");
                return Reply { id: ask.id, answer: Err(why) };
            }
        };
        Reply { id: ask.id, answer: Ok(Some(Payload::wire(codec::encode(&went)))) }
    }
}
