//! Questions, and who waits for their answers.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    sync::Arc,
    task::{Poll, Waker},
};

use bowline_core::{AskId, Epoch, Time};
use parking_lot::Mutex;

use super::Data;
use crate::{Ask, AskTarget, Error, Hint, Pending, Reply, Result};

/// How many questions may be open.
const ASKS_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Asks(BTreeMap<AskId, Open>);

struct Open {
    ask: Ask,
    taken_by: Option<Epoch>,
    slot: Arc<Mutex<Slot>>,
}

#[derive(Default)]
struct Slot {
    result: Option<Result<Reply>>,
    waker: Option<Waker>,
}

impl Open {
    fn fill(self, result: Result<Reply>) {
        let waker = {
            let mut slot = self.slot.lock();
            slot.result = Some(result);
            slot.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Asks {
    /// Nobody waits for an answer after its deadline.
    pub(super) fn expire(&mut self, now: Time) {
        let late: Vec<AskId> = self
            .0
            .values()
            .filter(|open| open.ask.deadline <= now)
            .map(|open| open.ask.id)
            .collect();
        for open in late.iter().filter_map(|id| self.0.remove(id)).collect::<Vec<_>>() {
            open.fill(Err(Error::Missing("answer: nobody replied in time")));
        }
    }

    pub(super) fn shut(&mut self) {
        for (_, open) in std::mem::take(&mut self.0) {
            open.fill(Err(Error::Shut));
        }
    }
}

impl Data {
    pub(super) fn ask(
        &mut self,
        ask: Ask,
    ) -> Result<impl Future<Output = Result<Reply>> + Send + use<>> {
        if self.asks.0.len() >= ASKS_MAX {
            return Err(Error::Busy("too many questions are open".into()));
        }
        if self.asks.0.contains_key(&ask.id) {
            return Err(Error::Invalid(format!("the question {} is open already", ask.id)));
        }
        let slot = Arc::new(Mutex::new(Slot::default()));
        let open = Open { slot: slot.clone(), taken_by: None, ask };
        self.asks.0.insert(open.ask.id, open);
        self.hints.insert(Hint::Asked);
        Ok(poll_fn(move |cx| {
            let mut slot = slot.lock();
            match slot.result.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    slot.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }

    pub(super) fn answer(&mut self, epoch: Epoch, replies: Vec<Reply>) -> Result<Vec<Pending>> {
        self.alive(epoch)?;
        for reply in replies {
            if let Some(open) = self.asks.0.remove(&reply.id) {
                self.hints.insert(Hint::Answered(reply.id));
                open.fill(Ok(reply));
            }
        }
        let (index, roll) = (&self.index, &self.roll);
        let meant = |to: AskTarget| match to {
            AskTarget::Member(member) => member == epoch,
            AskTarget::Run(run) => index
                .holder(run)
                .is_none_or(|holder| holder.epoch == epoch || !roll.is_alive(holder.epoch)),
        };
        let waiting = self
            .asks
            .0
            .values_mut()
            .filter(|open| open.taken_by != Some(epoch) && meant(open.ask.to));
        Ok(waiting
            .map(|open| {
                open.taken_by = Some(epoch);
                Pending { ask: open.ask.clone() }
            })
            .collect())
    }
}
