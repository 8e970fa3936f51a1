//! Everything that a group writes, as one statement.
//!
//! In:    rows, each at most once.
//! Out:   one data-modifying statement. It locks the runs that the group looked at, in the order
//!        of their keys, compares what stands there with what was read, and writes everything; or,
//!        if anything has changed, nothing.
//! Never: several statements: one round trip, and no moment in which half of it stands.

mod part;
mod small;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bowline_core::{Alarm, Batch, Cause, Epoch, EventId, ReceiptId, RunId, Time};
use bowline_store::{Snapshot, ready::Mark, stored::MissingRows};

use crate::{
    connection::{
        db::{Db, Outcome, Value},
        row::Bind,
    },
    fault::Fault,
    limits,
    rows::{activity::Activity, inbox::Mail, run::Run},
};

#[derive(Default)]
pub(crate) struct Writes {
    /// Runs that were looked at, and what stood on them.
    pub(crate) fences: Vec<(RunId, i64)>,
    /// How long it waits for rows that somebody else has locked, in milliseconds; as long as the
    /// transaction says, if that is somebody else's.
    pub(crate) wait: Option<i64>,
    /// Members that were taken to be alive.
    pub(crate) epochs: Vec<Epoch>,
    /// Runs as they will stand, with the `rev` that they will have.
    pub(crate) born: Vec<Run>,
    pub(crate) runs: Vec<Run>,
    /// Runs whose rows go, and when they had begun.
    pub(crate) buried: Vec<(RunId, Time)>,
    pub(crate) labels: BTreeMap<RunId, LabelEdit>,
    pub(crate) history: Vec<(RunId, Batch)>,
    pub(crate) snapshots: HashMap<RunId, Snapshot>,
    pub(crate) mail: HashMap<RunId, Mail>,
    pub(crate) activities: Vec<Activity>,
    pub(crate) new_activities: Vec<Activity>,
    pub(crate) old_activities: Vec<(RunId, EventId)>,
    /// Whether these alarms are set in the end.
    pub(crate) alarms: BTreeMap<(RunId, Alarm), bool>,
    pub(crate) silenced: BTreeSet<RunId>,
    pub(crate) marks: Vec<(RunId, Mark)>,
    pub(crate) old_marks: Vec<(RunId, u64)>,
    pub(crate) missing_rows: Vec<(RunId, MissingRows)>,
    pub(crate) paid: Vec<(RunId, EventId, Option<EventId>)>,
    pub(crate) receipts: Vec<Receipt>,
    /// Closed runs of trees of which nothing is left, as far as is known here.
    pub(crate) rests: BTreeSet<RunId>,
}

/// What has changed of a label.
#[derive(Clone, Debug)]
pub(crate) struct LabelEdit {
    /// When its run began, which is part of its key.
    pub(crate) started_at: Time,
    pub(crate) deleted: bool,
    pub(crate) search: Option<Option<Vec<u8>>>,
    pub(crate) memo: Option<Option<Vec<u8>>>,
}

impl LabelEdit {
    /// Nothing has changed yet.
    pub(crate) fn of(started_at: Time) -> Self {
        Self { started_at, deleted: false, search: None, memo: None }
    }
}

/// A receipt that is stored, unless there is one of its id.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub(crate) id: ReceiptId,
    pub(crate) run: RunId,
    pub(crate) chain: RunId,
    pub(crate) cause: Cause,
    pub(crate) requested_at: Time,
    pub(crate) keep_until: Time,
}

impl Writes {
    pub(crate) fn statement(mut self) -> Statement {
        // What comes together in a large group is a matter of chance, and each text is a plan to
        // make, on each connection: where runs begin and others go on, all of a turn is there.
        let whole = !self.born.is_empty() && self.runs.len() >= limits::WHOLE_FROM;
        let mut to = Statement { whole, ..Statement::default() };
        to.fence(&self);
        to.born(&self.born, &self.rests, &mut self.labels);
        to.runs(&self);
        to.buried(&self.buried);
        to.labels(&self.labels);
        to.history(&self.history);
        to.snapshots(&self.snapshots);
        to.mail(&self.mail);
        to.activities(&self.activities);
        to.new_activities(&self.new_activities);
        to.old_activities(&self.old_activities);
        to.alarms(&self.alarms);
        to.silenced(&self.silenced);
        to.marks(&self.marks, &self.old_marks);
        to.missing_rows(&self.missing_rows, &self.paid);
        to.receipts(&self.receipts);
        to
    }
}

/// Parts of a statement, and their values.
#[derive(Default)]
pub(crate) struct Statement {
    parts: Vec<String>,
    values: Vec<Box<dyn Bind + Send>>,
    /// The parts of usual turns are there, whether or not they have rows.
    whole: bool,
}

impl Statement {
    /// Whether a part of usual turns is left out.
    fn omits(&self, empty: bool) -> bool {
        empty && !self.whole
    }

    /// Adds a value; answers how it is called in the text.
    fn value(&mut self, value: impl Bind + Send + 'static, kind: &str) -> String {
        self.values.push(Box::new(value));
        format!("${}::{kind}", self.values.len())
    }

    /// Adds a part that changes rows.
    fn change(&mut self, sql: String) {
        let name = format!("p{}", self.parts.len());
        self.parts.push(format!("{name} AS ({sql})"));
    }

    /// Inserts rows, given column by column.
    fn insert(&mut self, table: &str, columns: &str, values: &[String], unless: &str) {
        let values = values.join(", ");
        self.change(format!(
            "INSERT INTO @{table} ({columns}) SELECT * FROM unnest({values}) \
             WHERE (SELECT ok FROM fence) {unless}"
        ));
    }

    pub(crate) fn text(&self) -> String {
        format!("WITH {} SELECT ok FROM fence", self.parts.join(", "))
    }

    /// Sends it. `commits`: nobody else ends the transaction, so it is over with this.
    pub(crate) async fn send(&self, db: Db<'_>, commits: bool) -> Outcome<()> {
        let sql = self.text();
        let values: Vec<Value<'_>> =
            self.values.iter().map(|value| &**value as Value<'_>).collect();
        let rows = match commits {
            true => db.change(&sql, &values).await?,
            false => db.rows(&sql, &values).await?,
        };
        match rows.first().map(|row| row.try_get(0)).transpose()? {
            Some(true) => Ok(()),
            _ => Err(Fault::Lost),
        }
    }
}
