//! Questions outside history: a row each, so that any process can answer; who waits for the answer
//! is known in memory, where the question was asked.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering},
};

use bowline_core::{AskId, Epoch, RunId, Time};
use bowline_store::{Ask, AskTarget, Error, Hint, Pending, Reply, Result};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

use crate::{
    connection::db::{Db, Outcome, Value},
    limits,
    rows::blob::{self, int},
    shared::Shared,
};

pub(crate) struct Asks {
    table: Mutex<Table>,
    /// How many were asked, and how many of them have their row.
    begun: AtomicU64,
    written: watch::Sender<u64>,
}

impl Default for Asks {
    fn default() -> Self {
        Self { table: Mutex::default(), begun: AtomicU64::new(0), written: watch::Sender::new(0) }
    }
}

#[derive(Default)]
struct Table {
    open: BTreeMap<AskId, Open>,
    shut: bool,
}

struct Open {
    deadline: Time,
    reply: oneshot::Sender<Result<Reply>>,
}

impl Asks {
    pub(crate) fn ask(&self, ask: &Ask) -> Result<oneshot::Receiver<Result<Reply>>> {
        let mut table = self.table.lock();
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
        table.open.insert(ask.id, Open { deadline: ask.deadline, reply });
        self.begun.fetch_add(1, Ordering::SeqCst);
        Ok(answer)
    }

    fn is_open(&self, id: AskId) -> bool {
        self.table.lock().open.contains_key(&id)
    }

    fn open(&self) -> Vec<AskId> {
        self.table.lock().open.keys().copied().collect()
    }

    fn reply(&self, id: AskId, reply: Result<Reply>) {
        if let Some(open) = self.table.lock().open.remove(&id) {
            let _ = open.reply.send(reply);
        }
    }

    /// Nobody waits for an answer after its deadline.
    pub(crate) fn expire(&self, now: Time) {
        let mut table = self.table.lock();
        let late = table.open.iter().filter(|(_, open)| open.deadline <= now);
        let late: Vec<AskId> = late.map(|(id, _)| *id).collect();
        for open in late.iter().filter_map(|id| table.open.remove(id)) {
            let _ = open.reply.send(Err(Error::Missing("answer: nobody replied in time")));
        }
    }

    pub(crate) fn shut(&self) {
        let mut table = self.table.lock();
        table.shut = true;
        for (_, open) in std::mem::take(&mut table.open) {
            let _ = open.reply.send(Err(Error::Shut));
        }
    }

    /// Waits until what was asked here before has its row.
    async fn settle(&self) {
        let begun = self.begun.load(Ordering::SeqCst);
        let _ = self.written.subscribe().wait_for(|written| *written >= begun).await;
    }
}

/// Writes the row of a question, and has it answered.
pub(crate) async fn put(shared: &Shared, ask: Ask) {
    let written = insert(shared, &ask).await;
    shared.asks.written.send_modify(|written| *written += 1);
    match written {
        Ok(()) => shared.tell(BTreeSet::from([Hint::Asked])),
        Err(fault) => shared.asks.reply(ask.id, Err(fault.into())),
    }
}

async fn insert(shared: &Shared, ask: &Ask) -> Outcome<()> {
    let body = blob::ask_bytes(&ask.body)?;
    let (member, run): (Option<i64>, Option<RunId>) = match ask.to {
        AskTarget::Member(epoch) => (Some(int(epoch.0)), None),
        AskTarget::Run(run) => (None, Some(run)),
    };
    let (space, uuid) = (run.map(blob::space), run.map(blob::uuid));
    let sql = "INSERT INTO @asks (id, member, namespace, run, body, deadline) \
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let id = Uuid::from_u128(ask.id.0);
    let values: [Value<'_>; 6] = [&id, &member, &space, &uuid, &body, &ask.deadline.0];
    let lent = shared.lend().await?;
    Db::own(&lent, shared).change(sql, &values).await?;
    Ok(())
}

/// Gives replies, and takes the questions that wait for a member.
pub(crate) async fn answer(
    shared: &Shared,
    epoch: Epoch,
    replies: Vec<Reply>,
) -> Outcome<Vec<Pending>> {
    shared.asks.settle().await;
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let alive = "SELECT 1 FROM @members WHERE epoch = $1 AND state = 0";
    if db.first(alive, &[&int(epoch.0)]).await?.is_none() {
        return Err(Error::Fenced.into());
    }
    let mut answered = BTreeSet::new();
    for reply in replies {
        let sql = "UPDATE @asks SET answer = $2 WHERE id = $1 AND answer IS NULL RETURNING 1";
        let values: [Value<'_>; 2] = [&Uuid::from_u128(reply.id.0), &blob::reply_bytes(&reply)];
        if db.change(sql, &values).await?.is_empty() {
            continue;
        }
        answered.insert(Hint::Answered(reply.id));
        if shared.asks.is_open(reply.id) {
            remove(db, &[reply.id]).await?;
            shared.asks.reply(reply.id, Ok(reply));
        }
    }
    shared.tell(answered);
    let values: [Value<'_>; 2] = [&int(epoch.0), &shared.now().0];
    let rows = db.change(TAKE, &values).await?;
    rows.iter().map(pending).collect()
}

/// Questions for a member; for a run that it holds, or nobody who is alive; and those that a dead
/// member had taken.
const TAKE: &str = "UPDATE @asks SET taken_by = $1 WHERE id IN (\
        SELECT a.id FROM @asks a \
        LEFT JOIN @runs r ON r.namespace = a.namespace AND r.run = a.run \
        LEFT JOIN @members h ON h.epoch = r.epoch AND h.state = 0 \
        LEFT JOIN @members t ON t.epoch = a.taken_by AND t.state = 0 \
        WHERE a.answer IS NULL AND t.epoch IS NULL AND a.deadline > $2 \
        AND (a.member = $1 OR (a.member IS NULL AND (h.epoch IS NULL OR h.epoch = $1))) \
        FOR UPDATE OF a SKIP LOCKED) \
    RETURNING id, member, namespace, run, body, deadline";

fn pending(row: &crate::connection::row::Row) -> Outcome<Pending> {
    let id: Uuid = row.try_get(0)?;
    let member: Option<i64> = row.try_get(1)?;
    let to = match member {
        Some(_) => AskTarget::Member(Epoch(blob::number(row, 1)?)),
        None => AskTarget::Run(blob::run_id(row, 2)?),
    };
    let (body, deadline) = (blob::ask_body(row, 4)?, Time(row.try_get(5)?));
    Ok(Pending { ask: Ask { id: AskId(id.as_u128()), to, body, deadline } })
}

async fn remove(db: Db<'_>, ids: &[AskId]) -> Outcome<()> {
    let ids: Vec<Uuid> = ids.iter().map(|id| Uuid::from_u128(id.0)).collect();
    db.change("DELETE FROM @asks WHERE id = ANY($1)", &[&ids]).await?;
    Ok(())
}

/// Looks for answers that others have given to what was asked here; all of it, or only what is
/// named.
pub(crate) async fn collect(shared: &Shared, named: Option<&[AskId]>) -> Outcome<()> {
    let open = shared.asks.open();
    let wanted: Vec<AskId> = match named {
        Some(named) => open.into_iter().filter(|id| named.contains(id)).collect(),
        None => open,
    };
    if wanted.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = wanted.iter().map(|id| Uuid::from_u128(id.0)).collect();
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let sql = "SELECT id, answer FROM @asks WHERE id = ANY($1) AND answer IS NOT NULL";
    let mut done = Vec::new();
    for row in db.rows(sql, &[&ids]).await? {
        let id: Uuid = row.try_get(0)?;
        let id = AskId(id.as_u128());
        let reply = blob::reply(id, &row, 1).map_err(Error::from);
        shared.asks.reply(id, reply);
        done.push(id);
    }
    match done.is_empty() {
        true => Ok(()),
        false => remove(db, &done).await,
    }
}
