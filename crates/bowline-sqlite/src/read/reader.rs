//! Threads that read, each with a connection of its own, so that nobody who reads holds up the
//! writer. A read begins after its call came in: it sees everything that was acknowledged before.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bowline_store::Error;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::{
    connection::{
        db::{Db, Outcome},
        hand::Slot,
    },
    fault::Fault,
    shared::Shared,
    stats::count,
};

/// Something to read, and somebody who waits for it.
pub(crate) type Question = Box<dyn FnOnce(Result<Db<'_>, Error>) + Send>;

/// Works until the store is closed.
pub(crate) fn work(slot: &Slot, questions: &Mutex<mpsc::Receiver<Question>>, shared: &Shared) {
    while let Some(question) = next(questions, shared) {
        count(&shared.counters.reads, 1);
        let connection = slot.lock();
        let Some(connection) = &*connection else {
            question(Err(Error::Busy("the file is being recovered".into())));
            continue;
        };
        let db = Db::new(connection, &shared.counters);
        // All statements of one question see the same moment.
        match run(connection, "BEGIN") {
            Ok(()) => question(Ok(db)),
            Err(error) => question(Err(Fault::from(error).into())),
        }
        if !connection.is_autocommit() {
            let _ = run(connection, "COMMIT");
        }
    }
}

/// A statement that is parsed once.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Whoever has the lock waits for the next question; the others wait for the lock.
fn next(questions: &Mutex<mpsc::Receiver<Question>>, shared: &Shared) -> Option<Question> {
    let mut questions = questions.lock();
    if shared.is_closing() {
        questions.close();
        // Whoever asked before the store was closed is answered by the channel's end.
        while questions.try_recv().is_ok() {}
        return None;
    }
    questions.blocking_recv()
}

/// A question that sends its answer.
pub(crate) fn question<T: Send + 'static>(
    read: impl FnOnce(Db<'_>) -> Outcome<T> + Send + 'static,
    reply: tokio::sync::oneshot::Sender<Result<T, Error>>,
) -> Question {
    Box::new(move |db| {
        let answer = db.and_then(|db| {
            let read = catch_unwind(AssertUnwindSafe(|| read(db)));
            let bug = |_| Err(Error::Backend("a bug in the store: it panicked, see above".into()));
            read.map_or_else(bug, |read| read.map_err(Error::from))
        });
        let _ = reply.send(answer);
    })
}
