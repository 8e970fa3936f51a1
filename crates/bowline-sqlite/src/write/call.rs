//! A call on its way through the writer: its items, what to do with each, and who waits.
//!
//! The items of all calls of a group run in one transaction. If that fails they run again, each in
//! a transaction of its own; so a call can always be begun anew, and answers only at the end.

use bowline_store::{Error, Result, stored::Weight};
use tokio::sync::oneshot;

use crate::{
    connection::db::Outcome,
    write::tx::{Tx, WriterMemory},
};

/// What the writer does with one item.
pub(crate) type Step<I, O> = fn(&mut Tx<'_>, &I) -> Outcome<O>;

/// A call, whatever it asks for.
pub(crate) trait Call: Send {
    fn weight(&self) -> Weight;

    /// How many items it has.
    fn items(&self) -> usize;

    /// Runs an item. An answer is kept, a refusal that has written nothing too; anything else is
    /// given back, and the transaction is lost.
    fn run(&mut self, item: usize, tx: &mut Tx<'_>) -> Outcome<()>;

    /// Keeps an error as the answer to an item.
    fn fail(&mut self, item: usize, error: Error);

    /// Looks at the index again, once it knows what was committed.
    fn after(&mut self, _mind: &WriterMemory) {}

    /// Gives the answers to whoever waits.
    fn answer(self: Box<Self>);
}

/// A call with items that are answered one by one.
pub(crate) struct Many<I, O> {
    items: Vec<I>,
    answers: Vec<Option<Result<O>>>,
    step: Step<I, O>,
    weigh: fn(&I) -> Weight,
    after: Option<fn(&WriterMemory, &mut O)>,
    reply: Reply<O>,
}

enum Reply<O> {
    All(oneshot::Sender<Vec<Result<O>>>),
    One(oneshot::Sender<Result<O>>),
}

impl<I: Send, O: Send> Many<I, O> {
    pub(crate) fn all(
        items: Vec<I>,
        step: Step<I, O>,
        weigh: fn(&I) -> Weight,
        reply: oneshot::Sender<Vec<Result<O>>>,
    ) -> Self {
        Self::new(items, step, weigh, Reply::All(reply))
    }

    pub(crate) fn one(
        item: I,
        step: Step<I, O>,
        weigh: fn(&I) -> Weight,
        reply: oneshot::Sender<Result<O>>,
    ) -> Self {
        Self::new(vec![item], step, weigh, Reply::One(reply))
    }

    fn new(items: Vec<I>, step: Step<I, O>, weigh: fn(&I) -> Weight, reply: Reply<O>) -> Self {
        let answers = items.iter().map(|_| None).collect();
        Self { items, answers, step, weigh, after: None, reply }
    }

    /// Has every answer looked over once the index knows what was committed.
    pub(crate) fn and_after(mut self, after: fn(&WriterMemory, &mut O)) -> Self {
        self.after = Some(after);
        self
    }
}

impl<I: Send, O: Send> Call for Many<I, O> {
    fn weight(&self) -> Weight {
        self.items.iter().map(self.weigh).fold(Weight::default(), Weight::plus)
    }

    fn items(&self) -> usize {
        self.items.len()
    }

    fn run(&mut self, item: usize, tx: &mut Tx<'_>) -> Outcome<()> {
        let before = tx.touched();
        self.answers[item] = Some(match (self.step)(tx, &self.items[item]) {
            Ok(answer) => Ok(answer),
            Err(fault) if fault.is_refusal() && tx.touched() == before => Err(fault.into()),
            Err(fault) => return Err(fault),
        });
        Ok(())
    }

    fn fail(&mut self, item: usize, error: Error) {
        self.answers[item] = Some(Err(error));
    }

    fn after(&mut self, memory: &WriterMemory) {
        let Some(after) = self.after else { return };
        self.answers.iter_mut().flatten().flatten().for_each(|answer| after(memory, answer));
    }

    fn answer(self: Box<Self>) {
        let mut answers = self.answers.into_iter().map(|answer| answer.unwrap_or(Err(Error::Shut)));
        // Whoever does not wait any more does not want to know.
        match self.reply {
            Reply::All(reply) => drop(reply.send(answers.collect())),
            Reply::One(reply) => drop(reply.send(answers.next().unwrap_or(Err(Error::Shut)))),
        }
    }
}
