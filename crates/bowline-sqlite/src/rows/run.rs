//! The two rows of a run: its label, which hardly changes, and what every commit changes.

use std::sync::Arc;

use bowline_core::{
    CommitId, Epoch, EventId, Fence, Namespace, Number, RunId, Status, Time, TurnRecord, Version,
    WorkflowStarted, codec,
};
use bowline_store::{
    Error, Head,
    stored::{self, Origin},
};
use rusqlite::{Row, params};

use crate::{
    connection::db::{Db, Outcome},
    limits,
    rows::blob::{self, int, number, wide},
};

/// How many bits of a key are the serial number.
pub(crate) const SERIAL_BITS: u32 = 40;

/// The keys of a namespace.
pub(crate) fn keys(namespace: Namespace) -> std::ops::RangeInclusive<i64> {
    let first = i64::from(namespace.0) << SERIAL_BITS;
    first..=first | ((1 << SERIAL_BITS) - 1)
}

/// What names a run, and never changes.
#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) key: i64,
    pub(crate) run: RunId,
    /// The rest of the label, as a head that nothing has happened to yet.
    head: Head,
    pub(crate) origin: Origin,
}

/// A run as its rows stand. `search`, `memo`, `closed_at` and `deleted` of the head are only there
/// once [`complete`] has read them: commits have no use for them.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) label: Arc<Label>,
    pub(crate) head: Head,
    /// How many of its activities were cancelled before they ever started.
    pub(crate) never_started: u64,
    /// The number of its newest mark.
    pub(crate) marks: u64,
}

impl Run {
    pub(crate) fn key(&self) -> i64 {
        self.label.key
    }

    pub(crate) fn is_open(&self) -> bool {
        self.head.status.is_open()
    }
}

const LABEL: &str = "key, namespace, uuid, workflow_id, name, queue, started_at, origin";

/// The label of a run, if there is such a run.
pub(crate) fn label(db: Db<'_>, run: RunId) -> Outcome<Option<Label>> {
    let uuid = run.uuid.to_be_bytes();
    let keys = keys(run.namespace);
    let sql = format!(
        "SELECT {LABEL} FROM labels INDEXED BY labels_uuid WHERE uuid = ? AND key BETWEEN ? AND ?"
    );
    db.first(&sql, params![uuid, keys.start(), keys.end()], |row| Ok(read_label(row)))?.transpose()
}

/// The label behind a key.
pub(crate) fn label_at(db: Db<'_>, key: i64) -> Outcome<Option<Label>> {
    let sql = format!("SELECT {LABEL} FROM labels WHERE key = ?");
    db.first(&sql, [key], |row| Ok(read_label(row)))?.transpose()
}

/// The key of the newest run of a workflow id.
pub(crate) fn current(db: Db<'_>, namespace: Namespace, id: &str) -> Outcome<Option<i64>> {
    let sql = "SELECT max(key) FROM labels INDEXED BY labels_workflow \
               WHERE namespace = ? AND workflow_id = ?";
    Ok(db.first(sql, params![namespace.0, id], |row| row.get(0))?.flatten())
}

/// The key of the newest run of a chain; none if it has no other run than its first.
pub(crate) fn newest(db: Db<'_>, first: RunId) -> Outcome<Option<i64>> {
    let sql = "SELECT key FROM labels INDEXED BY labels_chain \
               WHERE chain = ? AND namespace = ? ORDER BY key DESC LIMIT 1";
    Ok(db.first(sql, params![first.uuid.to_be_bytes(), first.namespace.0], |row| row.get(0))?)
}

fn read_label(row: &Row<'_>) -> Outcome<Label> {
    let key: i64 = row.get(0)?;
    let run = RunId { namespace: Namespace(row.get(1)?), uuid: wide(row, 2)? };
    let origin: Origin = blob::open(run, row, 7)?;
    let text = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let (workflow_id, name, queue) = (text(3)?.into(), text(4)?.into(), text(5)?.into());
    let head = Head {
        run,
        workflow_id,
        name,
        queue,
        rules: origin.rules,
        status: Status::Running,
        version: Version(0),
        last_commit: CommitId::default(),
        inbox: Number(0),
        consumed: Number(0),
        cut_in: Number(0),
        next_event: EventId(1),
        record: TurnRecord::default(),
        started_at: Time(row.get(6)?),
        closed_at: None,
        parent: origin.parent.map(|above| (above.run, above.initiated)),
        root: origin.root,
        first_run: origin.first_run,
        ladder: origin.ladder,
        link: origin.link(),
        tree: origin.tree(),
        forked: origin.forked,
        successor: None,
        cancel: None,
        search: Default::default(),
        memo: Default::default(),
        parked: None,
        holder: None,
        history_bytes: 0,
        deleted: false,
    };
    Ok(Label { key, run, head, origin })
}

/// What every commit changes.
pub(crate) fn run(db: Db<'_>, label: Arc<Label>) -> Outcome<Run> {
    let sql = "SELECT status, version, last_commit, inbox, consumed, next_event, history_bytes, \
               never_started, marks, epoch, counter, record, cancel, quarantine, successor, cut_in \
               FROM runs WHERE key = ?";
    let key = label.key;
    let id = label.run;
    match db.first(sql, [key], |row| Ok(read_run(row, label)))? {
        Some(run) => run,
        None => {
            let why = bowline_core::Corrupt::Value("its row is missing".into());
            Err(crate::fault::Fault::corrupt(id, why))
        }
    }
}

fn read_run(row: &Row<'_>, label: Arc<Label>) -> Outcome<Run> {
    let mut head = label.head.clone();
    let run = head.run;
    head.status = status(run, row, 0)?;
    head.version = Version(number(row, 1)?);
    head.last_commit = CommitId(wide(row, 2)?);
    head.inbox = Number(number(row, 3)?);
    head.consumed = Number(number(row, 4)?);
    head.next_event = EventId(number(row, 5)?);
    head.history_bytes = number(row, 6)?;
    let epoch: Option<i64> = row.get(9)?;
    if epoch.is_some() {
        head.holder = Some(Fence { epoch: Epoch(number(row, 9)?), counter: number(row, 10)? });
    }
    head.record = blob::open_some(run, row, 11)?.unwrap_or_default();
    head.cancel = blob::open_some(run, row, 12)?;
    head.parked = blob::open_some(run, row, 13)?;
    let successor: Option<[u8; 16]> = row.get(14)?;
    let namespace = run.namespace;
    head.successor = successor.map(|uuid| RunId { namespace, uuid: u128::from_be_bytes(uuid) });
    head.cut_in = Number(number(row, 15)?);
    Ok(Run { label, head, never_started: number(row, 7)?, marks: number(row, 8)? })
}

fn status(run: RunId, row: &Row<'_>, column: usize) -> Outcome<Status> {
    let stored = number(row, column)?;
    let known = Status::ALL.into_iter().find(|status| status_number(*status) == stored);
    known.ok_or_else(|| {
        let why = format!("no status has the number {stored}");
        crate::fault::Fault::corrupt(run, bowline_core::Corrupt::Value(why))
    })
}

/// The stored number of a status: its place among all.
pub(crate) fn status_number(status: Status) -> u64 {
    let place = Status::ALL.into_iter().position(|known| known == status);
    place.expect("every status is among all") as u64
}

/// Reads what commits have no use for: search attributes, memo, and when it closed.
pub(crate) fn complete(db: Db<'_>, run: &mut Run) -> Outcome<()> {
    let sql = "SELECT search, memo, closed_at, deleted FROM labels WHERE key = ?";
    let id = run.head.run;
    let found = db.first(sql, [run.key()], |row| {
        let closed_at: Option<i64> = row.get(2)?;
        let deleted: Option<i64> = row.get(3)?;
        let (search, memo) = (blob::open_some(id, row, 0), blob::open_some(id, row, 1));
        Ok((search, memo, closed_at.map(Time), deleted.is_some()))
    })?;
    if let Some((search, memo, closed_at, deleted)) = found {
        run.head.search = search?.unwrap_or_default();
        run.head.memo = memo?.unwrap_or_default();
        run.head.closed_at = closed_at;
        run.head.deleted = deleted;
    }
    Ok(())
}

/// Writes the label of a run that begins; the other row is written by [`save`].
pub(crate) fn insert(db: Db<'_>, key: i64, head: Head, started: &WorkflowStarted) -> Outcome<Run> {
    let origin = Origin::of(&head, started);
    let values = params![
        key,
        head.run.namespace.0,
        head.run.uuid.to_be_bytes(),
        head.workflow_id.as_str(),
        head.name.as_str(),
        head.queue.as_str(),
        head.started_at.0,
        origin.parent.map(|above| above.run.uuid.to_be_bytes()),
        head.chain().map(|first| first.uuid.to_be_bytes()),
        head.kin().map(|tree| tree.uuid.to_be_bytes()),
        head.forked.map(|(old, _)| old.uuid.to_be_bytes()),
        codec::encode(&origin),
        stored::search_bytes(&head.search),
        stored::memo_bytes(&head.memo),
    ];
    db.run(
        "INSERT INTO labels (key, namespace, uuid, workflow_id, name, queue, started_at, parent, \
         chain, kin, forked, origin, search, memo) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )?;
    let head = Head { search: Default::default(), memo: Default::default(), ..head };
    let label = Label { key, run: head.run, head: head.clone(), origin };
    Ok(Run { label: Arc::new(label), head, never_started: 0, marks: 0 })
}

/// Writes what a commit changes, for the first time or again.
pub(crate) fn save(db: Db<'_>, run: &Run, new: bool) -> Outcome<()> {
    let head = &run.head;
    let record = (head.record != TurnRecord::default()).then(|| codec::encode(&head.record));
    let values = params![
        int(status_number(head.status)),
        int(head.version.0),
        head.last_commit.0.to_be_bytes(),
        int(head.inbox.0),
        int(head.consumed.0),
        int(head.next_event.0),
        int(head.history_bytes),
        int(run.never_started),
        int(run.marks),
        head.holder.map(|fence| int(fence.epoch.0)),
        head.holder.map(|fence| int(fence.counter)),
        record,
        head.cancel.as_ref().map(codec::encode),
        head.parked.as_ref().map(codec::encode),
        head.successor.map(|run| run.uuid.to_be_bytes()),
        int(head.cut_in.0),
        run.key(),
    ];
    let sql = match new {
        true => {
            "INSERT INTO runs (status, version, last_commit, inbox, consumed, next_event, \
             history_bytes, never_started, marks, epoch, counter, record, cancel, quarantine, \
             successor, cut_in, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        }
        false => {
            "UPDATE runs SET status = ?, version = ?, last_commit = ?, inbox = ?, consumed = ?, \
             next_event = ?, history_bytes = ?, never_started = ?, marks = ?, epoch = ?, \
             counter = ?, record = ?, cancel = ?, quarantine = ?, successor = ?, cut_in = ? \
             WHERE key = ?"
        }
    };
    db.run(sql, values)?;
    Ok(())
}

/// The largest serial number that a namespace has used, in rows or before.
pub(crate) fn last_key(db: Db<'_>, namespace: Namespace) -> Outcome<i64> {
    if namespace.0 >= limits::NAMESPACES_MAX {
        let max = limits::NAMESPACES_MAX;
        return Err(Error::Invalid(format!(
            "namespace {namespace} has too large a number: this store takes numbers below {max}"
        ))
        .into());
    }
    let keys = keys(namespace);
    let sql = "SELECT max(key) FROM labels WHERE key BETWEEN ? AND ?";
    let rows: Option<i64> =
        db.first(sql, params![keys.start(), keys.end()], |row| row.get(0))?.flatten();
    let gone: Option<i64> =
        db.first("SELECT used FROM serials WHERE namespace = ?", [namespace.0], |row| row.get(0))?;
    Ok(rows.max(gone).unwrap_or(*keys.start()))
}
