//! The parts of the one statement about what hangs on a run: messages, activities, alarms, marks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bowline_core::{Alarm, EventId, RunId, codec};
use bowline_store::{ready::Mark, runs_on, stored::MissingRows};
use uuid::Uuid;

use super::{Receipt, Statement};
use crate::rows::{
    activity::Activity,
    blob::{int, space, uuid},
    inbox::Mail,
};

impl Statement {
    pub(super) fn mail(&mut self, mail: &HashMap<RunId, Mail>) {
        let read: Vec<(RunId, i64)> = mail
            .iter()
            .filter(|(_, own)| own.upto.0 > 0)
            .map(|(run, own)| (*run, int(own.upto.0)))
            .collect();
        if !self.omits(read.is_empty()) {
            let keys = self.keys(read.iter().map(|(run, _)| *run));
            let upto = read.iter().map(|(_, upto)| *upto).collect::<Vec<i64>>();
            let upto = self.value(upto, "int8[]");
            self.change(format!(
                "DELETE FROM @inbox AS i USING unnest({keys}, {upto}) AS n (namespace, run, upto) \
                 WHERE i.namespace = n.namespace AND i.run = n.run AND i.number <= n.upto \
                 AND (SELECT ok FROM fence)"
            ));
        }
        let dropped: Vec<(RunId, i64)> = mail
            .iter()
            .flat_map(|(run, own)| own.dropped.iter().map(|number| (*run, int(number.0))))
            .collect();
        if !dropped.is_empty() {
            self.delete_numbered("inbox", &dropped);
        }
        let new: Vec<_> =
            mail.iter().flat_map(|(run, own)| own.added.iter().map(|new| (*run, new))).collect();
        if self.omits(new.is_empty()) {
            return;
        }
        let requests: Vec<Option<String>> =
            new.iter().map(|(_, new)| new.request.clone()).collect();
        let values = [
            self.keys(new.iter().map(|(run, _)| *run)),
            self.value(new.iter().map(|(_, n)| int(n.number.0)).collect::<Vec<i64>>(), "int8[]"),
            self.value(new.iter().map(|(_, n)| n.at.0).collect::<Vec<i64>>(), "int8[]"),
            self.value(requests, "text[]"),
            self.value(new.iter().map(|(_, n)| n.bytes.clone()).collect::<Vec<_>>(), "bytea[]"),
        ];
        self.insert("inbox", "namespace, run, number, at, request, bytes", &values, "");
    }

    fn delete_numbered(&mut self, table: &str, rows: &[(RunId, i64)]) {
        let keys = self.keys(rows.iter().map(|(run, _)| *run));
        let numbers = self.value(rows.iter().map(|(_, n)| *n).collect::<Vec<i64>>(), "int8[]");
        self.change(format!(
            "DELETE FROM @{table} AS t USING unnest({keys}, {numbers}) AS n (namespace, run, n) \
             WHERE t.namespace = n.namespace AND t.run = n.run AND t.number = n.n \
             AND (SELECT ok FROM fence)"
        ));
    }

    /// The values of the columns of an activity that change, in one order.
    fn moving(&mut self, rows: &[Activity]) -> String {
        let places: Vec<i16> = rows.iter().map(Activity::place).collect();
        let due: Vec<i64> = rows.iter().map(Activity::due).collect();
        let epochs: Vec<Option<i64>> = rows.iter().map(Activity::epoch).collect();
        let cancelled: Vec<bool> = rows.iter().map(|row| row.live.cancel.is_some()).collect();
        let adrift: Vec<bool> = rows.iter().map(|row| runs_on(&row.live)).collect();
        let tried: Vec<bool> = rows.iter().map(Activity::is_tried).collect();
        let armed: Vec<Option<i64>> = rows.iter().map(|row| row.armed.map(|time| time.0)).collect();
        let values = [
            self.keys(rows.iter().map(|row| row.run)),
            self.value(rows.iter().map(|row| int(row.number.0)).collect::<Vec<i64>>(), "int8[]"),
            self.value(places, "int2[]"),
            self.value(due, "int8[]"),
            self.value(rows.iter().map(|row| row.arrival).collect::<Vec<i64>>(), "int8[]"),
            self.value(rows.iter().map(|row| row.later).collect::<Vec<bool>>(), "bool[]"),
            self.value(epochs, "int8[]"),
            self.value(cancelled, "bool[]"),
            self.value(adrift, "bool[]"),
            self.value(tried, "bool[]"),
            self.value(armed, "int8[]"),
            self.value(
                rows.iter().map(|row| codec::encode(&row.live)).collect::<Vec<_>>(),
                "bytea[]",
            ),
        ];
        values.join(", ")
    }

    pub(super) fn activities(&mut self, rows: &[Activity]) {
        if rows.is_empty() {
            return;
        }
        let moving = self.moving(rows);
        self.change(format!(
            "UPDATE @activities AS a SET place = n.place, due = n.due, arrival = n.arrival, \
             later = n.later, epoch = n.epoch, cancelled = n.cancelled, adrift = n.adrift, \
             tried = n.tried, armed = n.armed, live = n.live FROM unnest({moving}) AS n ({MOVING}) \
             WHERE a.namespace = n.namespace AND a.run = n.run AND a.number = n.number \
             AND (SELECT ok FROM fence)"
        ));
    }

    pub(super) fn new_activities(&mut self, rows: &[Activity]) {
        if self.omits(rows.is_empty()) {
            return;
        }
        let queues: Vec<String> =
            rows.iter().map(|row| row.spec.queue.as_str().to_owned()).collect();
        let names: Vec<String> = rows.iter().map(|row| row.spec.name.as_str().to_owned()).collect();
        let specs: Vec<Vec<u8>> = rows.iter().map(|row| codec::encode(&row.spec)).collect();
        let values = [
            self.moving(rows),
            self.value(queues, "text[]"),
            self.value(names, "text[]"),
            self.value(specs, "bytea[]"),
        ];
        self.insert("activities", &format!("{MOVING}, queue, name, spec"), &values, "");
    }

    pub(super) fn old_activities(&mut self, rows: &[(RunId, EventId)]) {
        if !self.omits(rows.is_empty()) {
            let rows: Vec<(RunId, i64)> = rows.iter().map(|(run, n)| (*run, int(n.0))).collect();
            self.delete_numbered("activities", &rows);
        }
    }

    pub(super) fn alarms(&mut self, alarms: &BTreeMap<(RunId, Alarm), bool>) {
        for set in [true, false] {
            let some: Vec<&(RunId, Alarm)> =
                alarms.iter().filter(|(_, own)| **own == set).map(|(alarm, _)| alarm).collect();
            if some.is_empty() {
                continue;
            }
            let keys = self.keys(some.iter().map(|(run, _)| *run));
            let due: Vec<i64> = some.iter().map(|(_, alarm)| alarm.due.0).collect();
            let due = self.value(due, "int8[]");
            let what: Vec<Vec<u8>> =
                some.iter().map(|(_, alarm)| codec::encode(&alarm.what)).collect();
            let what = self.value(what, "bytea[]");
            if set {
                let limits: Vec<bool> =
                    some.iter().map(|(_, alarm)| alarm.what.message().is_none()).collect();
                let values = [keys, due, what, self.value(limits, "bool[]")];
                let columns = "namespace, run, due, what, limits";
                self.insert("alarms", columns, &values, "ON CONFLICT DO NOTHING");
            } else {
                self.change(format!(
                    "DELETE FROM @alarms AS a \
                     USING unnest({keys}, {due}, {what}) AS n (namespace, run, due, what) \
                     WHERE a.due = n.due AND a.namespace = n.namespace AND a.run = n.run \
                     AND a.what = n.what AND (SELECT ok FROM fence)"
                ));
            }
        }
    }

    pub(super) fn silenced(&mut self, runs: &BTreeSet<RunId>) {
        if !self.omits(runs.is_empty()) {
            let keys = self.keys(runs.iter().copied());
            self.change(format!(
                "DELETE FROM @alarms AS a USING unnest({keys}) AS n (namespace, run) \
                 WHERE a.namespace = n.namespace AND a.run = n.run AND NOT a.limits \
                 AND (SELECT ok FROM fence)"
            ));
        }
    }

    pub(super) fn marks(&mut self, new: &[(RunId, Mark)], old: &[(RunId, u64)]) {
        if !new.is_empty() {
            let numbers: Vec<i64> = new.iter().map(|(_, mark)| int(mark.number)).collect();
            let bytes: Vec<Vec<u8>> = new.iter().map(|(_, mark)| codec::encode(mark)).collect();
            let values = [
                self.keys(new.iter().map(|(run, _)| *run)),
                self.value(numbers, "int8[]"),
                self.value(bytes, "bytea[]"),
            ];
            self.insert("marks", "namespace, run, number, bytes", &values, "");
        }
        if !old.is_empty() {
            let rows: Vec<(RunId, i64)> = old.iter().map(|(run, n)| (*run, int(*n))).collect();
            self.delete_numbered("marks", &rows);
        }
    }

    pub(super) fn missing_rows(
        &mut self,
        new: &[(RunId, MissingRows)],
        paid: &[(RunId, EventId, Option<EventId>)],
    ) {
        if !new.is_empty() {
            let firsts: Vec<i64> = new.iter().map(|(_, missing)| int(missing.first().0)).collect();
            let nexts: Vec<i64> = new.iter().map(|(_, missing)| int(missing.next.0)).collect();
            let ats: Vec<i64> = new.iter().map(|(_, missing)| missing.at.0).collect();
            let bytes: Vec<Vec<u8>> =
                new.iter().map(|(_, missing)| codec::encode(&missing.ranges)).collect();
            let values = [
                self.keys(new.iter().map(|(run, _)| *run)),
                self.value(firsts, "int8[]"),
                self.value(nexts, "int8[]"),
                self.value(ats, "int8[]"),
                self.value(bytes, "bytea[]"),
            ];
            self.insert("owed", "namespace, run, first, next, at, bytes", &values, "");
        }
        for whole in [true, false] {
            let some: Vec<_> = paid.iter().filter(|(_, _, next)| next.is_none() == whole).collect();
            if some.is_empty() {
                continue;
            }
            let keys = self.keys(some.iter().map(|(run, ..)| *run));
            let firsts: Vec<i64> = some.iter().map(|(_, first, _)| int(first.0)).collect();
            let nexts: Vec<i64> =
                some.iter().map(|(_, _, next)| next.map_or(0, |next| int(next.0))).collect();
            let (firsts, nexts) = (self.value(firsts, "int8[]"), self.value(nexts, "int8[]"));
            let named = format!("unnest({keys}, {firsts}, {nexts}) AS n (namespace, run, f, next)");
            let same = "o.namespace = n.namespace AND o.run = n.run AND o.first = n.f \
                        AND (SELECT ok FROM fence)";
            self.change(match whole {
                true => format!("DELETE FROM @owed AS o USING {named} WHERE {same}"),
                false => format!("UPDATE @owed AS o SET next = n.next FROM {named} WHERE {same}"),
            });
        }
    }

    pub(super) fn receipts(&mut self, receipts: &[Receipt]) {
        if receipts.is_empty() {
            return;
        }
        let all = || receipts.iter();
        let values = [
            self.value(all().map(|r| Uuid::from_u128(r.id.0)).collect::<Vec<_>>(), "uuid[]"),
            self.value(all().map(|r| space(r.run)).collect::<Vec<_>>(), "int8[]"),
            self.value(all().map(|r| uuid(r.run)).collect::<Vec<_>>(), "uuid[]"),
            self.value(all().map(|r| uuid(r.chain)).collect::<Vec<_>>(), "uuid[]"),
            self.value(all().map(|r| codec::encode(&r.cause)).collect::<Vec<_>>(), "bytea[]"),
            self.value(all().map(|r| r.requested_at.0).collect::<Vec<_>>(), "int8[]"),
            self.value(all().map(|r| r.keep_until.0).collect::<Vec<_>>(), "int8[]"),
        ];
        let columns = "id, namespace, run, chain, cause, requested_at, keep_until";
        self.insert("receipts", columns, &values, "ON CONFLICT DO NOTHING");
    }
}

const MOVING: &str = "namespace, run, number, place, due, arrival, later, epoch, cancelled, \
    adrift, tried, armed, live";
