//! Questions outside history, and who waits for their answers. In memory: a store of one process
//! needs no rows for them.

use std::collections::BTreeMap;

use bowline_core::{AskId, Epoch, Time};
use bowline_store::{Ask, AskTarget, Error, Pending, Reply, Result};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::limits;

#[derive(Default)]
pub(crate) struct Asks(Mutex<Table>);

#[derive(Default)]
struct Table {
    open: BTreeMap<AskId, Open>,
    member: Option<Epoch>,
    shut: bool,
}

struct Open {
    ask: Ask,
    taken_by: Option<Epoch>,
    reply: oneshot::Sender<Result<Reply>>,
}

impl Asks {
    pub(crate) fn ask(&self, ask: Ask) -> Result<oneshot::Receiver<Result<Reply>>> {
        let mut table = self.0.lock();
        if table.shut {
            return Err(Error::Shut);
        }
        // Nobody is left to hear the answers to these.
        table.open.retain(|_, open| !open.reply.is_closed());
        if table.open.len() >= limits::ASKS_MAX {
            return Err(Error::Busy("too many questions are open".into()));
        }
        if table.open.contains_key(&ask.id) {
            return Err(Error::Invalid(format!("the question {} is open already", ask.id)));
        }
        let (reply, answer) = oneshot::channel();
        table.open.insert(ask.id, Open { ask, taken_by: None, reply });
        Ok(answer)
    }

    /// Gives replies, and takes the questions that wait for a member. Answers with both: which
    /// questions were answered, and which wait.
    pub(crate) fn answer(
        &self,
        epoch: Epoch,
        replies: Vec<Reply>,
    ) -> Result<(Vec<AskId>, Vec<Pending>)> {
        let mut table = self.0.lock();
        if table.member != Some(epoch) {
            return Err(if table.shut { Error::Shut } else { Error::Fenced });
        }
        let mut answered = Vec::new();
        for reply in replies {
            if let Some(open) = table.open.remove(&reply.id) {
                answered.push(reply.id);
                let _ = open.reply.send(Ok(reply));
            }
        }
        // Whoever holds the run is this member, or dead.
        let meant = |to: AskTarget| match to {
            AskTarget::Member(member) => member == epoch,
            AskTarget::Run(_) => true,
        };
        let waiting = table.open.values_mut();
        let waiting = waiting.filter(|open| open.taken_by != Some(epoch) && meant(open.ask.to));
        let pending = waiting.map(|open| {
            open.taken_by = Some(epoch);
            Pending { ask: open.ask.clone() }
        });
        Ok((answered, pending.collect()))
    }

    /// Nobody waits for an answer after its deadline.
    pub(crate) fn expire(&self, now: Time) {
        let mut table = self.0.lock();
        let late = table.open.values().filter(|open| open.ask.deadline <= now);
        let late: Vec<AskId> = late.map(|open| open.ask.id).collect();
        for open in late.iter().filter_map(|id| table.open.remove(id)) {
            let _ = open.reply.send(Err(Error::Missing("answer: nobody replied in time")));
        }
    }

    /// Who may answer.
    pub(crate) fn member(&self, epoch: Option<Epoch>) {
        self.0.lock().member = epoch;
    }

    /// No more questions, and no answers to those that are open.
    pub(crate) fn shut(&self) {
        let mut table = self.0.lock();
        table.shut = true;
        table.member = None;
        for (_, open) in std::mem::take(&mut table.open) {
            let _ = open.reply.send(Err(Error::Shut));
        }
    }
}
