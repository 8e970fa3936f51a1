//! The parts of the one statement, table by table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bowline_core::{Batch, RunId, Time, codec};
use bowline_store::{Snapshot, stored};
use uuid::Uuid;

use super::{LabelEdit, Statement, Writes};
use crate::rows::{
    blob::{int, space, uuid},
    run::{self, Run},
};

/// The columns of `runs` that a commit may change, in the order in which they are given.
const CHANGING: &str = "status, version, last_commit, inbox, consumed, cut_in, next_event, \
    history_bytes, never_started, marks, marked, owing, epoch, counter, turn_at, intake_at, \
    remote_at, remote_queue, record, cancel, quarantine, successor, closed_at";

impl Statement {
    /// What must be as it was, or nothing is written. The rows stay locked until the end.
    pub(super) fn fence(&mut self, writes: &Writes) {
        let keys = self.keys(writes.fences.iter().map(|(run, _)| *run));
        let revs: Vec<i64> = writes.fences.iter().map(|(_, rev)| *rev).collect();
        let revs = self.value(revs, "int8[]");
        let wait = self.value(writes.wait.map(|wait| wait.to_string()), "text");
        // How long it waits is said once, before the first row, and ends with the transaction.
        self.parts.push(format!(
            "seen AS MATERIALIZED (SELECT r.rev = w.rev AS same \
             FROM unnest({keys}, {revs}) AS w (namespace, run, rev) \
             JOIN @runs r ON r.namespace = w.namespace AND r.run = w.run \
             WHERE (SELECT set_config('lock_timeout', \
                 coalesce({wait}, current_setting('lock_timeout')), true)) IS NOT NULL \
             ORDER BY r.namespace, r.run FOR UPDATE OF r)"
        ));
        let epochs: Vec<i64> = writes.epochs.iter().map(|epoch| int(epoch.0)).collect();
        let epochs = self.value(epochs, "int8[]");
        // Counted by the server: a number in the text would make a statement of each group's size.
        self.parts.push(format!(
            "fence AS MATERIALIZED (SELECT \
             (SELECT count(*) FILTER (WHERE same) FROM seen) = cardinality({revs}) \
             AND (SELECT count(*) FROM @members WHERE epoch = ANY({epochs}) AND state = 0) \
             = cardinality({epochs}) AS ok)"
        ));
    }

    /// The two columns of many ids.
    pub(super) fn keys(&mut self, runs: impl Iterator<Item = RunId>) -> String {
        let (spaces, uuids): (Vec<i64>, Vec<Uuid>) =
            runs.map(|run| (space(run), uuid(run))).unzip();
        format!("{}, {}", self.value(spaces, "int8[]"), self.value(uuids, "uuid[]"))
    }

    pub(super) fn born(
        &mut self,
        born: &[Run],
        rests: &BTreeSet<RunId>,
        labels: &mut BTreeMap<RunId, LabelEdit>,
    ) {
        if born.is_empty() {
            return;
        }
        let ids = || born.iter().map(|run| run.head.run);
        let keys = self.keys(ids());
        let (queues, names) = self.places(born);
        let changing = self.changing(born);
        let revs = self.value(born.iter().map(|run| run.rev).collect::<Vec<i64>>(), "int8[]");
        let started: Vec<i64> = born.iter().map(|run| run.head.started_at.0).collect();
        let started = self.value(started, "int8[]");
        let kin: Vec<Option<Uuid>> = born
            .iter()
            .map(|run| run.head.kin().filter(|_| !rests.contains(&run.head.run)))
            .map(|tree| tree.map(uuid))
            .collect();
        let kin = self.value(kin, "uuid[]");
        let columns = format!("namespace, run, started_at, queue, name, rev, kin, {CHANGING}");
        let values =
            [keys.clone(), started.clone(), queues.clone(), names.clone(), revs, kin, changing];
        self.insert("runs", &columns, &values, "");

        let edits: Vec<Option<LabelEdit>> = ids().map(|id| labels.remove(&id)).collect();
        let texts: Vec<String> =
            born.iter().map(|run| run.head.workflow_id.as_str().to_owned()).collect();
        let serials: Vec<i64> = born.iter().map(|run| run.serial).collect();
        let deleted: Vec<bool> =
            edits.iter().map(|edit| edit.as_ref().is_some_and(|edit| edit.deleted)).collect();
        let parents: Vec<Option<Uuid>> =
            born.iter().map(|run| run.head.parent.map(|(run, _)| uuid(run))).collect();
        let chains: Vec<Option<Uuid>> = born.iter().map(|run| run.head.chain().map(uuid)).collect();
        let forked: Vec<Option<Uuid>> =
            born.iter().map(|run| run.head.forked.map(|(old, _)| uuid(old))).collect();
        let origins: Vec<Vec<u8>> = born.iter().map(|run| codec::encode(&run.origin)).collect();
        // Whatever was changed since it began stands in its head.
        let search: Vec<Option<Vec<u8>>> =
            born.iter().map(|run| stored::search_bytes(&run.head.search)).collect();
        let memos: Vec<Option<Vec<u8>>> =
            born.iter().map(|run| stored::memo_bytes(&run.head.memo)).collect();
        let values = [
            keys,
            started,
            queues,
            names,
            self.value(texts, "text[]"),
            self.value(serials, "int8[]"),
            self.value(deleted, "bool[]"),
            self.value(parents, "uuid[]"),
            self.value(chains, "uuid[]"),
            self.value(forked, "uuid[]"),
            self.value(origins, "bytea[]"),
            self.value(search, "bytea[]"),
            self.value(memos, "bytea[]"),
        ];
        let columns = "namespace, run, started_at, queue, name, workflow_id, serial, deleted, \
                       parent, chain, forked, origin, search, memo";
        self.insert("labels", columns, &values, "");
    }

    fn places(&mut self, runs: &[Run]) -> (String, String) {
        let queues: Vec<String> =
            runs.iter().map(|run| run.head.queue.as_str().to_owned()).collect();
        let names: Vec<String> = runs.iter().map(|run| run.head.name.as_str().to_owned()).collect();
        (self.value(queues, "text[]"), self.value(names, "text[]"))
    }

    pub(super) fn runs(&mut self, writes: &Writes) {
        let runs = &writes.runs;
        if runs.is_empty() {
            return;
        }
        let mut keys = self.keys(runs.iter().map(|run| run.head.run));
        let revs = self.value(runs.iter().map(|run| run.rev).collect::<Vec<i64>>(), "int8[]");
        let changing = self.changing(runs);
        let mut sets: Vec<String> =
            CHANGING.split(", ").map(|column| format!("{0} = n.{0}", column.trim())).collect();
        let mut columns = "namespace, run".to_owned();
        let rests: Vec<bool> =
            runs.iter().map(|run| writes.rests.contains(&run.head.run)).collect();
        if rests.contains(&true) {
            keys = format!("{keys}, {}", self.value(rests, "bool[]"));
            columns.push_str(", rests");
            sets.push(self.rests(writes));
        }
        self.change(format!(
            "UPDATE @runs AS r SET rev = n.rev, {} \
             FROM unnest({keys}, {revs}, {changing}) AS n ({columns}, rev, {CHANGING}) \
             WHERE r.namespace = n.namespace AND r.run = n.run AND (SELECT ok FROM fence)",
            sets.join(", ")
        ));
    }

    /// A run that is over is not looked for any more when its tree is. What is not known here the
    /// statement looks up: the rows as they were before it, those that it changes excepted.
    fn rests(&mut self, writes: &Writes) -> String {
        let changed = writes.activities.iter().map(|row| (row.run, int(row.number.0)));
        let gone = writes.old_activities.iter().map(|(run, number)| (*run, int(number.0)));
        let known: Vec<(RunId, i64)> =
            changed.chain(gone).filter(|(run, _)| writes.rests.contains(run)).collect();
        let keys = self.keys(known.iter().map(|(run, _)| *run));
        let numbers = known.iter().map(|(_, number)| *number).collect::<Vec<i64>>();
        let numbers = self.value(numbers, "int8[]");
        format!(
            "kin = CASE WHEN n.rests AND NOT EXISTS (SELECT 1 FROM @activities a \
             WHERE a.namespace = n.namespace AND a.run = n.run AND (a.place < 2 OR a.adrift) \
             AND NOT EXISTS (SELECT 1 FROM unnest({keys}, {numbers}) AS k (namespace, run, number) \
             WHERE k.namespace = a.namespace AND k.run = a.run AND k.number = a.number)) \
             THEN NULL ELSE r.kin END"
        )
    }

    /// The values of [`CHANGING`].
    fn changing(&mut self, runs: &[Run]) -> String {
        let ints = |pick: fn(&Run) -> i64| -> Vec<i64> { runs.iter().map(pick).collect() };
        let some =
            |pick: fn(&Run) -> Option<i64>| -> Vec<Option<i64>> { runs.iter().map(pick).collect() };
        let blobs = |pick: fn(&Run) -> Option<Vec<u8>>| -> Vec<Option<Vec<u8>>> {
            runs.iter().map(pick).collect()
        };
        let statuses: Vec<i16> =
            runs.iter().map(|run| run::status_number(run.head.status)).collect();
        let commits: Vec<Uuid> =
            runs.iter().map(|run| Uuid::from_u128(run.head.last_commit.0)).collect();
        let turn_queue = |run: &Run| {
            let queue = bowline_store::ready::Standing::of(&run.head).remote_turn;
            queue.map(|queue| queue.as_str().to_owned())
        };
        let queues: Vec<Option<String>> = runs.iter().map(turn_queue).collect();
        let successors: Vec<Option<Uuid>> =
            runs.iter().map(|run| run.head.successor.map(uuid)).collect();
        let values = [
            self.value(statuses, "int2[]"),
            self.value(ints(|run| int(run.head.version.0)), "int8[]"),
            self.value(commits, "uuid[]"),
            self.value(ints(|run| int(run.head.inbox.0)), "int8[]"),
            self.value(ints(|run| int(run.head.consumed.0)), "int8[]"),
            self.value(ints(|run| int(run.head.cut_in.0)), "int8[]"),
            self.value(ints(|run| int(run.head.next_event.0)), "int8[]"),
            self.value(ints(|run| int(run.head.history_bytes)), "int8[]"),
            self.value(ints(|run| int(run.never_started)), "int8[]"),
            self.value(ints(|run| int(run.marks)), "int8[]"),
            self.value(runs.iter().map(|run| run.marked).collect::<Vec<i32>>(), "int4[]"),
            self.value(runs.iter().map(|run| run.owing).collect::<Vec<i32>>(), "int4[]"),
            self.value(some(|run| run.head.holder.map(|fence| int(fence.epoch.0))), "int8[]"),
            self.value(some(|run| run.head.holder.map(|fence| int(fence.counter))), "int8[]"),
            self.value(some(|run| run.waits.turn), "int8[]"),
            self.value(some(|run| run.waits.intake), "int8[]"),
            self.value(some(|run| run.waits.remote), "int8[]"),
            self.value(queues, "text[]"),
            self.value(blobs(|run| run::record_bytes(&run.head.record)), "bytea[]"),
            self.value(blobs(|run| run.head.cancel.as_ref().map(codec::encode)), "bytea[]"),
            self.value(blobs(|run| run.head.parked.as_ref().map(codec::encode)), "bytea[]"),
            self.value(successors, "uuid[]"),
            self.value(some(|run| run.head.closed_at.map(|time| time.0)), "int8[]"),
        ];
        values.join(", ")
    }

    /// What is left of these runs lies in a grave until there is room to delete it.
    pub(super) fn buried(&mut self, buried: &[(RunId, Time)]) {
        if buried.is_empty() {
            return;
        }
        let keys = self.keys(buried.iter().map(|(run, _)| *run));
        let started: Vec<i64> = buried.iter().map(|(_, time)| time.0).collect();
        let started = self.value(started, "int8[]");
        let named = format!("unnest({keys}, {started}) AS n (namespace, run, started_at)");
        for (table, more) in
            [("runs", ""), ("labels", " AND t.started_at = n.started_at"), ("alarms", "")]
        {
            self.change(format!(
                "DELETE FROM @{table} AS t USING {named} \
                 WHERE t.namespace = n.namespace AND t.run = n.run{more} \
                 AND (SELECT ok FROM fence)"
            ));
        }
        self.insert("graves", "namespace, run", &[keys], "ON CONFLICT DO NOTHING");
    }

    pub(super) fn labels(&mut self, labels: &BTreeMap<RunId, LabelEdit>) {
        if labels.is_empty() {
            return;
        }
        let keys = self.keys(labels.keys().copied());
        let all = || labels.values();
        let started: Vec<i64> = all().map(|edit| edit.started_at.0).collect();
        let deleted: Vec<bool> = all().map(|edit| edit.deleted).collect();
        let searched: Vec<bool> = all().map(|edit| edit.search.is_some()).collect();
        let search: Vec<Option<Vec<u8>>> =
            all().map(|edit| edit.search.clone().flatten()).collect();
        let noted: Vec<bool> = all().map(|edit| edit.memo.is_some()).collect();
        let memos: Vec<Option<Vec<u8>>> = all().map(|edit| edit.memo.clone().flatten()).collect();
        let values = [
            keys,
            self.value(started, "int8[]"),
            self.value(deleted, "bool[]"),
            self.value(searched, "bool[]"),
            self.value(search, "bytea[]"),
            self.value(noted, "bool[]"),
            self.value(memos, "bytea[]"),
        ];
        self.change(format!(
            "UPDATE @labels AS l SET deleted = l.deleted OR n.deleted, \
             search = CASE WHEN n.searched THEN n.search ELSE l.search END, \
             memo = CASE WHEN n.noted THEN n.memo ELSE l.memo END \
             FROM unnest({}) \
             AS n (namespace, run, started_at, deleted, searched, search, noted, memo) \
             WHERE l.namespace = n.namespace AND l.started_at = n.started_at \
             AND l.run = n.run AND (SELECT ok FROM fence)",
            values.join(", ")
        ));
    }

    pub(super) fn history(&mut self, history: &[(RunId, Batch)]) {
        if self.omits(history.is_empty()) {
            return;
        }
        let values = [
            self.keys(history.iter().map(|(run, _)| *run)),
            self.value(history.iter().map(|(_, b)| int(b.first.0)).collect::<Vec<i64>>(), "int8[]"),
            self.value(history.iter().map(|(_, b)| int(b.last.0)).collect::<Vec<i64>>(), "int8[]"),
            self.value(
                history.iter().map(|(_, b)| b.bytes.as_slice().to_vec()).collect::<Vec<_>>(),
                "bytea[]",
            ),
        ];
        self.insert("history", "namespace, run, first, last, bytes", &values, "");
    }

    pub(super) fn snapshots(&mut self, snapshots: &HashMap<RunId, Snapshot>) {
        if snapshots.is_empty() {
            return;
        }
        let ats: Vec<i64> = snapshots.values().map(|snapshot| int(snapshot.at.0)).collect();
        let bytes: Vec<Vec<u8>> =
            snapshots.values().map(|snapshot| snapshot.bytes.as_slice().to_vec()).collect();
        let values = [
            self.keys(snapshots.keys().copied()),
            self.value(ats, "int8[]"),
            self.value(bytes, "bytea[]"),
        ];
        let unless = "ON CONFLICT (namespace, run) \
                      DO UPDATE SET at = excluded.at, bytes = excluded.bytes";
        self.insert("snapshots", "namespace, run, at, bytes", &values, unless);
    }
}
