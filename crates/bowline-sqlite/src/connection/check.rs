//! Whether the file is whole: SQLite's own check, the envelopes of all blobs, and what must hold
//! between the tables.

use std::fmt;

use bowline_core::{Namespace, RunId, codec};
use bowline_store::{Error, Result};
use tokio::sync::oneshot;

use crate::{
    SqliteStore, begin_thread,
    connection::db::{Db, Outcome},
    limits,
    read::one::Whole,
    rows::blob::wide,
    settings,
    shared::Shared,
};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The run whose rows it is about, where that is known.
    pub run: Option<RunId>,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.run {
            Some(run) => write!(f, "run {run}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl SqliteStore {
    /// Reads the whole file, while the store goes on working, and lists what is wrong with it. The
    /// list is bounded; an empty one says that nothing is.
    ///
    /// # Errors
    /// If the file cannot be read at all, or the store is closed.
    pub async fn check(&self) -> Result<Vec<Finding>> {
        let alive = self.alive.upgrade().ok_or(Error::Shut)?;
        let shared = self.shared.clone();
        let (reply, answer) = oneshot::channel();
        begin_thread("bowline-check", move || {
            let _ = reply.send(check(&shared));
            drop(alive);
        })?;
        answer.await.unwrap_or(Err(Error::Shut))
    }
}

fn check(shared: &Shared) -> Result<Vec<Finding>> {
    let connection = settings::reader(&shared.path, &shared.settings)?;
    let db = Db::new(&connection, &shared.counters);
    let mut findings = Vec::new();
    let mut all = || -> Outcome<()> {
        connection.execute_batch("BEGIN")?;
        pages(db, &mut findings)?;
        // Where pages are damaged, the tables cannot be trusted to say anything.
        if findings.is_empty() {
            blobs(db, &mut findings)?;
            counts(db, &mut findings)?;
        }
        Ok(())
    };
    all()?;
    findings.truncate(limits::FINDINGS_MAX);
    Ok(findings)
}

fn pages(db: Db<'_>, findings: &mut Vec<Finding>) -> Outcome<()> {
    db.each("PRAGMA integrity_check", [], |row| {
        let text: String = row.get(0)?;
        if text != "ok" {
            findings.push(Finding { run: None, text });
        }
        Ok(findings.len() < limits::FINDINGS_MAX)
    })
}

/// Tables and columns that hold envelopes, by the column with the key of their run.
const ENVELOPES: &[(&str, &str, &str)] = &[
    ("labels", "key", "origin"),
    ("labels", "key", "search"),
    ("labels", "key", "memo"),
    ("runs", "key", "record"),
    ("runs", "key", "cancel"),
    ("runs", "key", "quarantine"),
    ("history", "run", "bytes"),
    ("inbox", "run", "bytes"),
    ("activities", "run", "live"),
    ("activities", "run", "spec"),
    ("alarms", "run", "what"),
    ("marks", "run", "bytes"),
    ("owed", "run", "bytes"),
];

fn blobs(db: Db<'_>, findings: &mut Vec<Finding>) -> Outcome<()> {
    for (table, key, column) in ENVELOPES {
        let sql = format!("SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL");
        let mut damaged = Vec::new();
        db.each(&sql, [], |row| {
            let whole = row.get_ref(1)?.as_blob().map_err(|error| error.to_string());
            let whole = whole.and_then(|bytes| {
                codec::decode::<Whole>(bytes).map(drop).map_err(|corrupt| corrupt.to_string())
            });
            if let Err(why) = whole {
                damaged.push((row.get(0)?, why));
            }
            Ok(findings.len() + damaged.len() < limits::FINDINGS_MAX)
        })?;
        for (key, why) in damaged {
            findings
                .push(Finding { run: name(db, key)?, text: format!("{table}.{column}: {why}") });
        }
    }
    Ok(())
}

/// What must not be found, and what it means. Each answers with the key of a run.
const RULES: &[(&str, &str)] = &[
    ("a label without its row", "SELECT key FROM labels WHERE key NOT IN (SELECT key FROM runs)"),
    ("a row without its label", "SELECT key FROM runs WHERE key NOT IN (SELECT key FROM labels)"),
    (
        "messages beyond the counter of the inbox, or consumed ones that are still there",
        "SELECT DISTINCT key FROM runs JOIN inbox ON run = key
         WHERE number > runs.inbox OR number <= consumed",
    ),
    (
        "the counters of the inbox disagree with its rows",
        "SELECT key FROM runs WHERE coalesce(
             (SELECT min(number) FROM inbox WHERE run = key), runs.inbox + 1) <> consumed + 1",
    ),
    (
        "history has a gap",
        "SELECT DISTINCT run FROM (
             SELECT run, first, lag(last, 1, 0) OVER (PARTITION BY run ORDER BY first) AS before
             FROM history)
         WHERE first <> before + 1 AND run IN (SELECT key FROM runs)",
    ),
    (
        "history does not end where its run says",
        "SELECT key FROM runs
         WHERE next_event <> 1 + (SELECT max(last) FROM history WHERE run = key)",
    ),
    (
        "an open run that its label calls closed, or the reverse",
        "SELECT key FROM runs JOIN labels USING (key)
         WHERE (status < 2) <> (closed_at IS NULL)",
    ),
    ("history of no run", "SELECT DISTINCT run FROM history WHERE run NOT IN known"),
    ("messages of no run", "SELECT DISTINCT run FROM inbox WHERE run NOT IN known"),
    ("activities of no run", "SELECT DISTINCT run FROM activities WHERE run NOT IN known"),
    ("alarms of no run", "SELECT DISTINCT run FROM alarms WHERE run NOT IN known"),
    ("marks of no run", "SELECT DISTINCT run FROM marks WHERE run NOT IN known"),
    ("owed rows of no run", "SELECT DISTINCT run FROM owed WHERE run NOT IN known"),
    ("a snapshot of no run", "SELECT run FROM snapshots WHERE run NOT IN known"),
];

fn counts(db: Db<'_>, findings: &mut Vec<Finding>) -> Outcome<()> {
    for (text, rule) in RULES {
        let sql =
            format!("WITH known AS (SELECT key FROM runs UNION ALL SELECT run FROM graves) {rule}");
        let mut keys: Vec<i64> = Vec::new();
        db.each(&sql, [], |row| {
            keys.push(row.get(0)?);
            Ok(findings.len() + keys.len() < limits::FINDINGS_MAX)
        })?;
        for key in keys {
            findings.push(Finding { run: name(db, key)?, text: (*text).to_owned() });
        }
    }
    Ok(())
}

/// The run behind a key, if it can be told.
fn name(db: Db<'_>, key: i64) -> Outcome<Option<RunId>> {
    let sql = "SELECT namespace, uuid FROM labels WHERE key = ?";
    Ok(db.first(sql, [key], |row| {
        Ok(RunId { namespace: Namespace(row.get(0)?), uuid: wide(row, 1)? })
    })?)
}
