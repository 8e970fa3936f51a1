//! Inboxes, read for many at once: whoever holds a run looks into its inbox for each outcome, and
//! asks while others do. Whatever was asked while a statement was on its way goes into the next.
//!
//! In:    runs whose inbox somebody wants to see.
//! Out:   their rows and their unread messages, all as of one moment.
//! Never: waits for company.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use bowline_core::{Number, Received, RunId, Time};
use bowline_store::{Error, Result, RunRead};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::{
    connection::{
        db::{Db, Outcome},
        row::Row,
    },
    limits,
    rows::{
        blob::{self, number},
        run::{self, COLUMNS, MORE, WANTED, WIDTH},
    },
    shared::{Busy, Shared},
};

/// Somebody who wants to see an inbox.
pub(crate) struct Look {
    pub(crate) run: RunId,
    pub(crate) reply: oneshot::Sender<Result<Option<RunRead>>>,
    pub(crate) _busy: Busy,
}

pub(crate) type Looks = Arc<Mutex<mpsc::Receiver<Look>>>;

/// Reads until the store is closed.
pub(crate) async fn work(shared: Arc<Shared>, looks: Looks) {
    loop {
        let Some(group) = next(&looks).await else { return };
        let runs: BTreeSet<RunId> = group.iter().map(|look| look.run).collect();
        let runs: Vec<RunId> = runs.into_iter().collect();
        let found = read(&shared, &runs).await.map_err(Error::from);
        for Look { run, reply, .. } in group {
            // Whoever does not wait any more does not want to know.
            let _ = reply.send(match &found {
                Ok(found) => found.get(&run).cloned().transpose(),
                Err(error) => Err(error.clone()),
            });
        }
    }
}

async fn next(looks: &Looks) -> Option<Vec<Look>> {
    let mut looks = looks.lock().await;
    let mut group = vec![looks.recv().await?];
    while group.len() < limits::READS_AT_ONCE
        && let Ok(look) = looks.try_recv()
    {
        group.push(look);
    }
    Some(group)
}

/// One statement, and so one moment. What does not read is an error of its own run.
async fn read(shared: &Shared, runs: &[RunId]) -> Outcome<HashMap<RunId, Result<RunRead>>> {
    let lent = shared.lend().await?;
    let (spaces, uuids) = run::keys(runs);
    let rows = Db::own(&lent, shared).rows(&inboxes(), &[&spaces, &uuids]).await?;
    drop(lent);
    let mut found: HashMap<RunId, Result<RunRead>> = HashMap::new();
    for row in &rows {
        let id = blob::run_id(row, 0)?;
        let own = found.entry(id).or_insert_with(|| head(row).map_err(Error::from));
        if let Ok(read) = own
            && let Err(fault) = message(id, row).map(|message| read.inbox.extend(message))
        {
            *own = Err(fault.into());
        }
    }
    Ok(found)
}

/// The rows of some runs, each once for every message that waits.
pub(crate) fn inboxes() -> String {
    format!(
        "SELECT {COLUMNS}, {MORE}, i.number, i.at, i.bytes FROM {WANTED} \
         LEFT JOIN @inbox i ON i.namespace = r.namespace AND i.run = r.run \
         AND r.inbox > r.consumed ORDER BY r.namespace, r.run, i.number"
    )
}

fn head(row: &Row) -> Outcome<RunRead> {
    let mut run = run::read(row)?;
    run::complete(&mut run, row)?;
    let (inbox, activities) = (Vec::new(), Vec::new());
    Ok(RunRead { head: run.head, snapshot: None, batches: Vec::new(), inbox, activities })
}

/// Where the message begins, behind the two rows of the run.
const MESSAGE: usize = WIDTH + 3;

fn message(id: RunId, row: &Row) -> Outcome<Option<Received>> {
    let waits: Option<i64> = row.try_get(MESSAGE)?;
    if waits.is_none() {
        return Ok(None);
    }
    let at = Time(row.try_get(MESSAGE + 1)?);
    let message = blob::open(id, row, MESSAGE + 2)?;
    Ok(Some(Received { number: Number(number(row, MESSAGE)?), at, message }))
}
