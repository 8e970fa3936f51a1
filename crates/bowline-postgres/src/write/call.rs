//! A call on its way through a lane: its items, what to do with each, and who waits.
//!
//! The items of all calls of a group become one statement. If that fails they are tried again, each
//! by itself; so a call can always be begun anew, and answers only at the end.

use bowline_store::{Error, Result, stored::Weight};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{
    connection::db::Outcome,
    fault::Fault,
    shared::Busy,
    write::{
        tx::{Tx, Wants},
        work::Step,
    },
};

/// A call, whatever it asks for.
pub(crate) trait Call: Send {
    fn weight(&self) -> Weight;

    /// How many items it has.
    fn items(&self) -> usize;

    /// What an item will look at, as far as can be told.
    fn wants(&self, item: usize, wants: &mut Wants);

    /// Runs an item. An answer is kept, a refusal that has changed nothing too; anything else is
    /// given back, and nothing of the group is written. So is whatever changes nothing because of
    /// rows that may be old: only what is written is compared.
    fn run<'t>(&'t mut self, item: usize, tx: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>>;

    /// Keeps an error as the answer to an item.
    fn fail(&mut self, item: usize, error: Error);

    /// Gives the answers to whoever waits.
    fn answer(self: Box<Self>);
}

/// A call that asks for nothing: a lane looks what else there is.
pub(crate) struct Wake;

impl Call for Wake {
    fn weight(&self) -> Weight {
        Weight::default()
    }

    fn items(&self) -> usize {
        0
    }

    fn wants(&self, _: usize, _: &mut Wants) {}

    fn run<'t>(&'t mut self, _: usize, _: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>> {
        Box::pin(async { Ok(()) })
    }

    fn fail(&mut self, _: usize, _: Error) {}

    fn answer(self: Box<Self>) {}
}

/// A call with items that are answered one by one.
pub(crate) struct Many<I, O> {
    pub(crate) items: Vec<I>,
    pub(crate) answers: Vec<Option<Result<O>>>,
    pub(crate) step: Step<I, O>,
    pub(crate) wants: fn(&I, &mut Wants),
    pub(crate) weigh: fn(&I) -> Weight,
    pub(crate) reply: oneshot::Sender<Vec<Result<O>>>,
    pub(crate) _busy: Busy,
}

impl<I: Send + Sync, O: Send> Call for Many<I, O> {
    fn weight(&self) -> Weight {
        self.items.iter().map(self.weigh).fold(Weight::default(), Weight::plus)
    }

    fn items(&self) -> usize {
        self.items.len()
    }

    fn wants(&self, item: usize, wants: &mut Wants) {
        (self.wants)(&self.items[item], wants);
    }

    fn run<'t>(&'t mut self, item: usize, tx: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>> {
        Box::pin(async move {
            let before = tx.touched();
            let answer = match (self.step)(tx, &self.items[item]).await {
                Ok(answer) => Ok(answer),
                Err(fault) if fault.is_refusal() && tx.touched() == before => Err(fault.into()),
                Err(fault) => return Err(fault),
            };
            if tx.assumes() && tx.touched() == before {
                return Err(Fault::Recalled);
            }
            self.answers[item] = Some(answer);
            Ok(())
        })
    }

    fn fail(&mut self, item: usize, error: Error) {
        self.answers[item] = Some(Err(error));
    }

    fn answer(self: Box<Self>) {
        let answers = self.answers.into_iter().map(|answer| answer.unwrap_or(Err(Error::Shut)));
        // Whoever does not wait any more does not want to know.
        let _ = self.reply.send(answers.collect());
    }
}
