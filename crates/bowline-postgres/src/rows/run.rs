//! The two rows of a run: its label, which hardly changes, and what every commit changes.

use bowline_core::{
    CommitId, Epoch, EventId, Fence, Number, RunId, Status, Time, TurnRecord, Version,
    WorkflowStarted,
};
use bowline_store::{Head, ready::Standing, stored::Origin};
use uuid::Uuid;

use crate::{
    connection::{
        db::{Db, Outcome},
        row::Row,
    },
    fault::Fault,
    rows::blob::{self, number},
};

/// A run as its rows stand. `search`, `memo` and `deleted` of the head are only there where
/// [`complete`] has read them: commits have no use for them.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) head: Head,
    pub(crate) origin: Origin,
    /// What must still stand on the row when it is written.
    pub(crate) rev: i64,
    /// How many of its activities were cancelled before they ever started.
    pub(crate) never_started: u64,
    /// The number of its newest mark.
    pub(crate) marks: u64,
    /// How many of its marks are not folded yet.
    pub(crate) marked: i32,
    /// How many of its commits owe rows to activities.
    pub(crate) owing: i32,
    /// Since when it waits for a turn, for intake, for a remote worker.
    pub(crate) waits: Waits,
    /// Its place among the runs of its workflow id; only known of one that begins.
    pub(crate) serial: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) turn: Option<i64>,
    pub(crate) intake: Option<i64>,
    pub(crate) remote: Option<i64>,
}

impl Run {
    pub(crate) fn is_open(&self) -> bool {
        self.head.status.is_open()
    }

    pub(crate) fn is_held_by(&self, epoch: Epoch) -> bool {
        self.head.holder.is_some_and(|fence| fence.epoch == epoch)
    }

    /// The row of a run that begins.
    pub(crate) fn born(head: Head, started: &WorkflowStarted, serial: i64) -> Self {
        let origin = Origin::of(&head, started);
        Self {
            head,
            origin,
            rev: 0,
            never_started: 0,
            marks: 0,
            marked: 0,
            owing: 0,
            waits: Waits::default(),
            serial,
        }
    }

    /// Where it waits now, and since when: whoever waited already keeps the place.
    pub(crate) fn wait(
        &mut self,
        before: Option<&Standing>,
        now: &Standing,
        stamp: impl Fn() -> i64,
    ) {
        let keep = |waits: bool, since: Option<i64>| waits.then(|| since.unwrap_or_else(&stamp));
        let moved = before.is_some_and(|before| before.remote_turn != now.remote_turn);
        self.waits = Waits {
            turn: keep(now.turn, self.waits.turn),
            intake: keep(now.intake, self.waits.intake),
            remote: keep(now.remote_turn.is_some(), self.waits.remote.filter(|_| !moved)),
        };
    }
}

/// The columns that [`read`] reads, of `r` and `l`.
pub(crate) const COLUMNS: &str = "r.namespace, r.run, r.rev, l.workflow_id, r.name, r.queue, \
    r.started_at, l.origin, r.status, r.version, r.last_commit, r.inbox, r.consumed, r.cut_in, \
    r.next_event, r.history_bytes, r.never_started, r.marks, r.marked, r.owing, r.epoch, \
    r.counter, r.turn_at, r.intake_at, r.remote_at, r.record, r.cancel, r.quarantine, r.successor, \
    r.closed_at";

/// Where runs are read from; `w` names those that are wanted.
pub(crate) const WANTED: &str = "unnest($1::int8[], $2::uuid[]) AS w (namespace, run) \
    JOIN @runs r ON r.namespace = w.namespace AND r.run = w.run \
    JOIN @labels l ON l.namespace = r.namespace AND l.started_at = r.started_at AND l.run = r.run";

/// How many columns [`COLUMNS`] has: more may follow.
pub(crate) const WIDTH: usize = 30;

pub(crate) fn read(row: &Row) -> Outcome<Run> {
    let run = blob::run_id(row, 0)?;
    let origin: Origin = blob::open(run, row, 7)?;
    let text = |column: usize| row.try_get::<&str>(column);
    let last_commit: Uuid = row.try_get(10)?;
    let epoch: Option<i64> = row.try_get(20)?;
    let holder = match epoch {
        Some(_) => Some(Fence { epoch: Epoch(number(row, 20)?), counter: number(row, 21)? }),
        None => None,
    };
    let successor: Option<Uuid> = row.try_get(28)?;
    let closed_at: Option<i64> = row.try_get(29)?;
    let namespace = run.namespace;
    let head = Head {
        run,
        workflow_id: text(3)?.into(),
        name: text(4)?.into(),
        queue: text(5)?.into(),
        rules: origin.rules,
        status: status(run, row.try_get(8)?)?,
        version: Version(number(row, 9)?),
        last_commit: CommitId(last_commit.as_u128()),
        inbox: Number(number(row, 11)?),
        consumed: Number(number(row, 12)?),
        cut_in: Number(number(row, 13)?),
        next_event: EventId(number(row, 14)?),
        record: blob::open_some(run, row, 25)?.unwrap_or_default(),
        started_at: Time(row.try_get(6)?),
        closed_at: closed_at.map(Time),
        parent: origin.parent.map(|above| (above.run, above.initiated)),
        root: origin.root,
        first_run: origin.first_run,
        ladder: origin.ladder,
        link: origin.link(),
        tree: origin.tree(),
        forked: origin.forked,
        successor: successor.map(|uuid| RunId { namespace, uuid: uuid.as_u128() }),
        cancel: blob::open_some(run, row, 26)?,
        search: Default::default(),
        memo: Default::default(),
        parked: blob::open_some(run, row, 27)?,
        holder,
        history_bytes: number(row, 15)?,
        deleted: false,
    };
    Ok(Run {
        head,
        origin,
        rev: row.try_get(2)?,
        never_started: number(row, 16)?,
        marks: number(row, 17)?,
        marked: row.try_get(18)?,
        owing: row.try_get(19)?,
        waits: Waits { turn: row.try_get(22)?, intake: row.try_get(23)?, remote: row.try_get(24)? },
        serial: 0,
    })
}

fn status(run: RunId, stored: i16) -> Outcome<Status> {
    let known = Status::ALL.into_iter().find(|status| status_number(*status) == stored);
    known.ok_or_else(|| {
        let why = format!("no status has the number {stored}");
        Fault::corrupt(run, bowline_core::Corrupt::Value(why))
    })
}

/// The stored number of a status: its place among all.
pub(crate) fn status_number(status: Status) -> i16 {
    let place = Status::ALL.into_iter().position(|known| known == status);
    let place = place.expect("every status is among all");
    i16::try_from(place).expect("there are few")
}

pub(crate) fn record_bytes(record: &TurnRecord) -> Option<Vec<u8>> {
    (*record != TurnRecord::default()).then(|| bowline_core::codec::encode(record))
}

/// Reads what commits have no use for from the columns after [`COLUMNS`]: search attributes, memo,
/// and whether it is deleted.
pub(crate) const MORE: &str = "l.search, l.memo, l.deleted";

pub(crate) fn complete(run: &mut Run, row: &Row) -> Outcome<()> {
    let id = run.head.run;
    run.head.search = blob::open_some(id, row, WIDTH)?.unwrap_or_default();
    run.head.memo = blob::open_some(id, row, WIDTH + 1)?.unwrap_or_default();
    run.head.deleted = row.try_get(WIDTH + 2)?;
    Ok(())
}

/// Runs with everything that stands on their rows, in no order; those that do not read are given
/// as errors.
pub(crate) async fn whole(db: Db<'_>, ids: &[RunId]) -> Outcome<Vec<(RunId, Outcome<Run>)>> {
    let (spaces, uuids) = keys(ids);
    let sql = format!("SELECT {COLUMNS}, {MORE} FROM {WANTED}");
    let rows = db.rows(&sql, &[&spaces, &uuids]).await?;
    let read = |row: &Row| {
        let mut run = read(row)?;
        complete(&mut run, row)?;
        Ok(run)
    };
    rows.iter().map(|row| Ok((blob::run_id(row, 0)?, read(row)))).collect()
}

/// One run, with everything that stands on its rows.
pub(crate) async fn one(db: Db<'_>, id: RunId) -> Outcome<Option<Run>> {
    whole(db, &[id]).await?.into_iter().next().map(|(_, run)| run).transpose()
}

/// The newest run of a workflow id.
pub(crate) async fn current(
    db: Db<'_>,
    namespace: bowline_core::Namespace,
    id: &str,
) -> Outcome<Option<RunId>> {
    let sql = "SELECT run FROM @labels WHERE namespace = $1 AND workflow_id = $2 \
               ORDER BY serial DESC LIMIT 1";
    let found = db.first(sql, &[&i64::from(namespace.0), &id]).await?;
    let Some(row) = found else { return Ok(None) };
    let uuid: Uuid = row.try_get(0)?;
    Ok(Some(RunId { namespace, uuid: uuid.as_u128() }))
}

/// The newest run of a chain; none if it has no other run than its first.
pub(crate) async fn newest(db: Db<'_>, first: RunId) -> Outcome<Option<RunId>> {
    let found = db.first(NEWEST, &[&blob::space(first), &blob::uuid(first)]).await?;
    found.map(|row| blob::run_id(&row, 0)).transpose()
}

pub(crate) const NEWEST: &str = "SELECT namespace, run FROM @labels \
    WHERE namespace = $1 AND chain = $2 ORDER BY serial DESC LIMIT 1";

/// The two columns of many ids.
pub(crate) fn keys(ids: &[RunId]) -> (Vec<i64>, Vec<Uuid>) {
    ids.iter().map(|run| (blob::space(*run), blob::uuid(*run))).unzip()
}
