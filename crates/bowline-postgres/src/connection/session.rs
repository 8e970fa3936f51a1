//! Sessions that were given up in the middle of something: a statement was sent, and its answer did
//! not come.
//!
//! Such a statement may still be on its way, and be carried out when whoever had asked has asked
//! again, or has looked and found that nothing was done: a claim would take what nobody knows of.
//! Or half of it has come, and the server keeps what it has locked until the rest comes. So it is
//! told to end such a session before it is asked anything else. What is read after that stays as it
//! is read.
//!
//! In:    who serves each connection; connections that are thrown away.
//! Out:   their sessions, ended.
//! Never: needed while all is answered. Nor done where a pooler may have given a session to others.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bowline_store::suspect::Session;
use deadpool_postgres::{ClientWrapper, StatementCache};
use parking_lot::Mutex;
use tokio_postgres::Config;

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    limits,
};

/// A session whose client is on a host that is gone ends soon.
pub(crate) const KEPT: &str = "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; \
    SET tcp_keepalives_count = 3";

/// The same, where something was sent that the host does not acknowledge. Only for the session that
/// listens: an answer that a process does not read because it stands still is worth waiting for.
pub(crate) const ACKNOWLEDGED: &str = "SET tcp_user_timeout = 11000";

/// A statement whose client is gone ends soon.
pub(crate) const CHECKED: &str = "SET client_connection_check_interval = 1000";

/// What is asked of the own system, unless the URL says otherwise: who is connected to a server
/// that is gone notices.
pub(crate) fn keep_alive(config: &mut Config) {
    if config.get_keepalives_interval().is_none() && config.get_keepalives_retries().is_none() {
        config.keepalives_idle(Duration::from_secs(5));
        config.keepalives_interval(Duration::from_secs(2));
        config.keepalives_retries(3);
    }
}

/// Which session this is: the process that serves it, and since when, in microseconds.
pub(crate) const SESSION: &str = "SELECT pid::int8, \
    (extract(epoch FROM backend_start) * 1000000)::int8 \
    FROM pg_stat_activity WHERE pid = pg_backend_pid()";

/// Tells those of some sessions to end that have not ended.
const END: &str = "SELECT pg_terminate_backend(a.pid) \
    FROM unnest($1::int8[], $2::int8[]) AS w (pid, since) \
    JOIN pg_stat_activity a ON a.pid = w.pid \
    AND (extract(epoch FROM a.backend_start) * 1000000)::int8 = w.since";

#[derive(Default)]
pub(crate) struct Sessions {
    /// By where the statements lie that a connection knows: nothing else of it stays in its place.
    known: Mutex<HashMap<usize, Known>>,
    left: Mutex<Vec<Session>>,
    are_left: AtomicBool,
}

struct Known {
    session: Session,
    /// While this is kept, no other connection has that place.
    connection: Weak<StatementCache>,
}

fn place(client: &ClientWrapper) -> usize {
    Arc::as_ptr(&client.statement_cache).addr()
}

impl Sessions {
    /// A new connection is served by this one.
    pub(crate) fn meet(&self, client: &ClientWrapper, session: Session) {
        let connection = Arc::downgrade(&client.statement_cache);
        let mut known = self.known.lock();
        known.retain(|_, own| own.connection.strong_count() > 0);
        known.insert(place(client), Known { session, connection });
    }

    /// A connection is thrown away, and something was asked on it that was not answered.
    pub(crate) fn give_up(&self, client: &ClientWrapper) {
        let Some(known) = self.known.lock().remove(&place(client)) else { return };
        let mut left = self.left.lock();
        if left.len() >= limits::SESSIONS_LEFT {
            left.remove(0);
        }
        left.push(known.session);
        self.are_left.store(true, Ordering::Release);
    }

    /// Whether any were given up, and not seen to have ended.
    pub(crate) fn are_left(&self) -> bool {
        self.are_left.load(Ordering::Acquire)
    }

    /// Has them ended, and waits until they have: what they had begun is done by then, or never
    /// will be.
    pub(crate) async fn end(&self, db: Db<'_>, patience: Duration) -> Outcome<()> {
        let left = self.left.lock().clone();
        let processes: Vec<i64> = left.iter().map(|session| session.process).collect();
        let since: Vec<i64> = left.iter().map(|session| session.since).collect();
        let begun = Instant::now();
        loop {
            match db.rows(END, &[&processes, &since]).await {
                Ok(rows) if rows.is_empty() => break,
                Ok(_) if begun.elapsed() < patience => {
                    tokio::time::sleep(limits::SESSION_ENDS).await;
                }
                Ok(_) => {
                    let why = "a session that was given up does not end";
                    return Err(Fault::Away(why.into()));
                }
                // Who may not tell them, or cannot, has to live with them.
                Err(fault) if is_refused(&fault) => break,
                Err(fault) => return Err(fault),
            }
        }
        let mut all = self.left.lock();
        all.retain(|session| !left.contains(session));
        self.are_left.store(!all.is_empty(), Ordering::Release);
        Ok(())
    }
}

/// Whether the server does not let us, or does not know what we mean.
pub(crate) fn is_refused(fault: &Fault) -> bool {
    let begins = |code: &str| code.starts_with("42");
    matches!(fault, Fault::Sql(error) if error.code().is_some_and(|code| begins(code.code())))
}
