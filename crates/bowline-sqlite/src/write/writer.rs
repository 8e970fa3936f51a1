//! The one that writes: calls come in over a bounded channel, and whatever has queued while the
//! last transaction was made durable goes into the next one.
//!
//! In:    calls.
//! Out:   rows; then the index, then hints, then answers, in that order.
//! Never: answers before the transaction is durable, or waits for company.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::AtomicU64},
};

use bowline_store::{Error, Hint};
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::{
    connection::{
        db::{Db, Outcome},
        hand::{self, FileHold, Hand, Slot},
    },
    fault::Fault,
    limits,
    queue::load,
    settings,
    shared::Shared,
    stats::count,
    write::{
        call::Call,
        loan::WriterLoan,
        tx::{Done, Membership, Tx, WriterMemory},
    },
};

/// What is sent to the writer.
pub(crate) enum Order {
    Call(Box<dyn Call>),
    /// A caller comes with a transaction of its own.
    Visit(Box<dyn FnOnce(&mut Writer) + Send>),
    /// The file may grow to so many bytes.
    Limit(Option<u64>, tokio::sync::oneshot::Sender<bowline_store::Result<()>>),
    /// Look whether the store is being closed.
    Wake,
}

pub(crate) struct Writer {
    /// None while the file has to be recovered.
    pub(crate) hand: Option<Hand>,
    pub(crate) memory: WriterMemory,
    pub(crate) shared: Arc<Shared>,
    pub(crate) readers: Vec<Slot>,
    pub(crate) held: FileHold,
    /// How many calls were in the last group.
    pub(crate) last_group: usize,
}

/// What the writer's own thread does: works until the store is closed. What was sent before that is
/// done.
pub(crate) fn work(loan: &WriterLoan, shared: &Shared, mut orders: mpsc::Receiver<Order>) {
    let mut left = None;
    while let Some(order) = left.take().or_else(|| next(shared, &mut orders)) {
        let done = loan.with(|writer| writer.take(order, &mut orders));
        let Some((carried_out, more)) = done else { return };
        loan.carried_out(carried_out);
        left = more;
    }
    if let Some(writer) = loan.take_away() {
        writer.close();
    }
}

/// A closing store takes what is there, and waits for nobody: a caller who was let in but is asleep
/// must not keep it open.
fn next(shared: &Shared, orders: &mut mpsc::Receiver<Order>) -> Option<Order> {
    match shared.is_closing() {
        true => {
            orders.close();
            orders.try_recv().ok()
        }
        false => orders.blocking_recv(),
    }
}

impl Writer {
    /// Carries out an order, and what may go with it. Answers how many that were, and with an order
    /// that comes next.
    fn take(&mut self, order: Order, orders: &mut mpsc::Receiver<Order>) -> (usize, Option<Order>) {
        match order {
            Order::Call(call) => return self.group(call, orders),
            other if !self.shared.ahead.is_empty() => {
                let mut calls = Vec::new();
                self.shared.ahead.join(&mut calls);
                self.carry_out(calls);
                return (0, Some(other));
            }
            Order::Visit(visit) => {
                // What the caller left may panic when it is dropped; the writer must live.
                let _ = catch_unwind(AssertUnwindSafe(|| visit(self)));
            }
            Order::Limit(size_max, reply) => {
                let limited = self.ready().map_err(Error::from);
                let limited = limited.and_then(|hand| settings::limit(&hand.connection, size_max));
                let _ = reply.send(limited);
            }
            Order::Wake => {}
        }
        (1, None)
    }

    fn close(mut self) {
        let last = self.shared.ahead.close();
        self.carry_out(last);
        self.shared.asks.shut();
        if let Some(hand) = self.hand.take() {
            hand.close(&self.shared);
        }
    }

    /// What to write with. After a failure of the disk the file is recovered first, and everything
    /// that is remembered is made anew from its rows: a commit of which nobody knew whether it was
    /// done may have been.
    pub(crate) fn ready(&mut self) -> Outcome<&mut Hand> {
        if self.shared.is_torn() || self.hand.as_ref().is_some_and(|hand| hand.log.is_gone()) {
            self.close_file();
        }
        if self.hand.is_none()
            && let Err(fault) = self.recover()
        {
            self.close_file();
            return Err(fault);
        }
        Ok(self.hand.as_mut().expect("it is open, or was opened above"))
    }

    /// Everybody lets go of the file.
    fn close_file(&mut self) {
        self.hand = None;
        self.readers.iter().for_each(|reader| *reader.lock() = None);
    }

    fn recover(&mut self) -> Outcome<()> {
        hand::recover(&self.shared)?;
        self.shared.mended();
        let hand = Hand::open(&self.shared, &self.held, &self.readers)?;
        let mut index = load::index(Db::new(&hand.connection, &self.shared.counters))?;
        index.carry_on(&self.memory.index);
        index.show(&self.shared.waiting);
        self.memory = WriterMemory { index, ..WriterMemory::default() };
        self.hand = Some(hand);
        self.shared.listeners.tell(&[Hint::Everything]);
        Ok(())
    }

    /// Gathers what is there already, up to a bound, and runs it.
    fn group(
        &mut self,
        first: Box<dyn Call>,
        orders: &mut mpsc::Receiver<Order>,
    ) -> (usize, Option<Order>) {
        let (mut weight, mut taken) = (first.weight(), 1);
        let mut calls = Vec::new();
        // Whatever waited for a call goes before it, also where that one came a moment ago.
        self.shared.ahead.join(&mut calls);
        calls.push(first);
        let mut left = None;
        while let Ok(order) = orders.try_recv() {
            let Order::Call(call) = order else {
                left = Some(order);
                break;
            };
            let more = call.weight();
            weight = weight.plus(more);
            if weight.rows > limits::GROUP_ROWS || weight.bytes > limits::GROUP_BYTES {
                left = Some(Order::Call(call));
                break;
            }
            self.shared.ahead.join(&mut calls);
            calls.push(call);
            taken += 1;
        }
        self.carry_out(calls);
        (taken, left)
    }

    /// Carries out calls of a thread that has the writer, and whatever waited for them.
    pub(crate) fn carry_out_own(&mut self, own: Vec<Box<dyn Call>>) {
        if own.is_empty() {
            return;
        }
        let mut calls = Vec::new();
        self.shared.ahead.join(&mut calls);
        calls.extend(own);
        self.carry_out(calls);
    }

    fn carry_out(&mut self, mut calls: Vec<Box<dyn Call>>) {
        if calls.is_empty() {
            return;
        }
        count(&self.shared.counters.calls, calls.len());
        self.last_group = calls.len();
        self.run(&mut calls);
        for mut call in calls {
            call.after(&self.memory);
            call.answer();
        }
    }

    fn run(&mut self, calls: &mut [Box<dyn Call>]) {
        let items: usize = calls.iter().map(|call| call.items()).sum();
        let together = self.transaction(|tx| {
            for call in calls.iter_mut() {
                for item in 0..call.items() {
                    call.run(item, tx)?;
                }
            }
            Ok(())
        });
        let Err(fault) = together else { return };
        // Alone it would go wrong in the same way, or wait just as long.
        if items == 1 || fault.is_busy() {
            let error = Error::from(fault);
            for call in calls.iter_mut() {
                (0..call.items()).for_each(|item| call.fail(item, error.clone()));
            }
            return;
        }
        for call in calls.iter_mut() {
            for item in 0..call.items() {
                if let Err(fault) = self.transaction(|tx| call.run(item, tx)) {
                    call.fail(item, fault.into());
                }
            }
        }
    }

    /// Does some work in one transaction; afterwards the index and the listeners know of it, or
    /// nothing has happened.
    pub(crate) fn transaction(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        self.ready()?;
        let Self { hand: Some(hand), memory, shared, .. } = self else {
            unreachable!("it is ready");
        };
        let Hand { connection, log, .. } = hand;
        let db = Db::new(connection, &shared.counters);
        begin_transaction(connection, &shared.counters.busy)?;
        log.keep_ahead();
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let mut tx = Tx::new(db, memory);
            work(&mut tx)?;
            tx.finish()
        }));
        let done = worked.unwrap_or_else(|_| {
            Err(Fault::Said(Error::Backend("a bug in the store: it panicked, see above".into())))
        });
        let done = done.and_then(|done| {
            let committed = connection.prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
            committed.map_err(Fault::of_commit).map(|_| done)
        });
        let done = done.and_then(|done| match log.is_gone() {
            true => Err(Fault::Said(Error::Unknown("the log of the file was removed".into()))),
            false => Ok(done),
        });
        match done {
            Ok(done) => {
                count(&shared.counters.transactions, 1);
                publish(memory, shared, done);
                hand.copy(shared);
                Ok(())
            }
            Err(fault) => {
                count(&shared.counters.rollbacks, 1);
                memory.roll_back();
                // After some errors SQLite has rolled back by itself.
                if !connection.is_autocommit() {
                    connection.execute_batch("ROLLBACK")?;
                }
                Err(fault)
            }
        }
    }
}

/// Another connection may have the file for a while: a backup, a shell.
fn begin_transaction(connection: &Connection, busy: &AtomicU64) -> Outcome<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        let begun = connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map_err(Fault::from);
        let Err(fault) = begun else { return Ok(()) };
        count(busy, usize::from(fault.is_busy()));
        if !fault.is_busy() || tries >= limits::BUSY_TRIES {
            return Err(fault);
        }
    }
}

/// Lets everybody know what was committed: the index first, so that whoever follows a hint finds
/// what it is about.
fn publish(memory: &mut WriterMemory, shared: &Shared, done: Done) {
    let Done { changes, mut hints, member } = done;
    memory.index.apply(changes);
    match member {
        Some(Membership::Joined(epoch)) => memory.index.joined(epoch),
        Some(Membership::Left) => memory.index.left(),
        None => {}
    }
    shared.set_member(memory.index.epoch());
    hints.extend(memory.index.take_hints());
    let hints: Vec<_> = hints.into_iter().collect();
    shared.listeners.tell(&hints);
}
