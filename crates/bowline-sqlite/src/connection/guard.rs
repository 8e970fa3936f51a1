//! What a caller's closure may do on the writer's own connection, and what it may not.
//!
//! In:    every statement that is prepared, every commit, every rollback of that connection.
//! Out:   a refusal while the closure speaks; what it was about, so that the caller can be told.
//! Never: in the way of the store's own statements.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bowline_store::Error;
use parking_lot::Mutex;
use rusqlite::{
    Connection,
    hooks::{AuthAction, AuthContext, Authorization},
};

/// The tables that are ours.
const TABLES: [&str; 15] = [
    "labels",
    "runs",
    "history",
    "inbox",
    "activities",
    "alarms",
    "marks",
    "owed",
    "snapshots",
    "receipts",
    "graves",
    "serials",
    "members",
    "versions",
    "bowline_shelves",
];

/// Settings that take an argument and change nothing.
const QUESTIONS: [&str; 9] = [
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
    "data_version",
];

thread_local! {
    /// Whether a closure of a caller runs on this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// True on the writer's thread while a caller's closure runs there: whoever waited for the writer
/// then would wait for ever.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Watches over one connection.
#[derive(Default)]
pub(crate) struct Guard {
    /// Whether the closure speaks, and not the store.
    theirs: AtomicBool,
    /// Whether anything was rolled back.
    rolled_back: AtomicBool,
    /// The first thing that the closure must not do, and did.
    misuse: Mutex<Option<String>>,
}

impl Guard {
    /// Begins to watch.
    pub(crate) fn install(connection: &mut Connection) -> rusqlite::Result<Arc<Self>> {
        let guard = Arc::new(Self::default());
        let watching = guard.clone();
        let authorize = move |context: AuthContext<'_>| watching.authorize(&context.action);
        connection.authorizer(Some(authorize)).applied()?;
        // Statements that were prepared earlier are not asked about again, and after some errors
        // SQLite rolls back by itself, so that the next statement would be a transaction alone.
        let watching = guard.clone();
        let commit = move || watching.found("write on after what it wrote was rolled back");
        connection.commit_hook(Some(commit)).applied()?;
        let watching = guard.clone();
        let rollback = move || watching.rolled_back.store(true, Ordering::Relaxed);
        connection.rollback_hook(Some(rollback)).applied()?;
        Ok(guard)
    }

    /// Forgets what was found in an earlier transaction.
    pub(crate) fn reset(&self) {
        self.rolled_back.store(false, Ordering::Relaxed);
        *self.misuse.lock() = None;
    }

    /// The closure speaks until the answer is dropped.
    pub(crate) fn theirs(&self) -> Speaking<'_> {
        self.speaks(true)
    }

    /// The store speaks until the answer is dropped.
    pub(crate) fn ours(&self) -> Speaking<'_> {
        self.speaks(false)
    }

    fn speaks(&self, theirs: bool) -> Speaking<'_> {
        let theirs = self.theirs.swap(theirs, Ordering::Relaxed);
        Speaking { guard: self, theirs, inside: INSIDE.replace(true) }
    }

    /// What the closure did that it must not do.
    pub(crate) fn misuse(&self) -> Option<Error> {
        self.misuse.lock().as_ref().map(|what| {
            Error::Invalid(format!(
                "the closure of a transaction must not {what}: nothing of it was kept"
            ))
        })
    }

    /// True if what the closure wrote is gone already.
    pub(crate) fn is_rolled_back(&self) -> bool {
        self.rolled_back.load(Ordering::Relaxed)
    }

    /// Remembers what the closure did, if it is the closure that speaks; answers whether it is.
    fn found(&self, what: &str) -> bool {
        let theirs = self.theirs.load(Ordering::Relaxed);
        if theirs {
            self.misuse.lock().get_or_insert_with(|| what.to_owned());
        }
        theirs
    }

    fn authorize(&self, action: &AuthAction<'_>) -> Authorization {
        match forbidden(action) {
            Some(what) if self.found(&what) => Authorization::Deny,
            _ => Authorization::Allow,
        }
    }
}

/// Who speaks; when it is dropped, whoever spoke before does so again.
pub(crate) struct Speaking<'a> {
    guard: &'a Guard,
    theirs: bool,
    inside: bool,
}

impl Drop for Speaking<'_> {
    fn drop(&mut self) {
        self.guard.theirs.store(self.theirs, Ordering::Relaxed);
        INSIDE.set(self.inside);
    }
}

/// What a closure would do with this that it must not do.
fn forbidden(action: &AuthAction<'_>) -> Option<String> {
    use AuthAction as A;
    match action {
        A::Transaction { .. } => Some("begin, commit or roll back a transaction itself".into()),
        A::Savepoint { .. } => Some("use savepoints".into()),
        A::Attach { .. } | A::Detach { .. } => Some("attach or detach a file".into()),
        A::Pragma { pragma_name, pragma_value: Some(_) } if !is_one_of(&QUESTIONS, pragma_name) => {
            Some(format!("change the setting {pragma_name}"))
        }
        A::CreateTempTable { .. }
        | A::CreateTempIndex { .. }
        | A::CreateTempTrigger { .. }
        | A::CreateTempView { .. } => {
            Some("create something temporary, which would outlive it and could hide a table".into())
        }
        A::Insert { table_name }
        | A::Update { table_name, .. }
        | A::Delete { table_name }
        | A::DropTable { table_name }
        | A::AlterTable { table_name, .. }
        | A::CreateIndex { table_name, .. }
        | A::DropIndex { table_name, .. }
        | A::CreateTrigger { table_name, .. }
        | A::DropTrigger { table_name, .. }
            if is_one_of(&TABLES, table_name) =>
        {
            Some(format!("change Bowline's table {table_name}"))
        }
        _ => None,
    }
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Older versions of rusqlite answer nothing when a hook is set, newer ones with a result.
trait Applied {
    fn applied(self) -> rusqlite::Result<()>;
}

impl Applied for () {
    fn applied(self) -> rusqlite::Result<()> {
        Ok(())
    }
}

impl Applied for rusqlite::Result<()> {
    fn applied(self) -> Self {
        self
    }
}
