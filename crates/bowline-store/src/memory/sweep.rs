//! Work that decisions left for later, a few rows at a time.

use std::collections::BTreeSet;

use bowline_core::{
    EventId, Place, RunId, Time,
    planted::{Defect, planted},
};

use super::{Data, leftovers::Living};
use crate::{
    Head, Result, Sweep, Swept, keeps_row, learn,
    ready::{Change, Mark},
    silent_since,
};

impl Data {
    pub(super) fn sweep(&mut self, sweep: &Sweep) -> Result<Swept> {
        self.clock(sweep.now);
        self.alive(sweep.epoch)?;
        self.roll.fence(sweep.epoch);
        let mut room = sweep.limit;
        let more = [
            self.fold_marks(&mut room),
            self.lose_attempts(sweep, &mut room),
            self.release_runs(&mut room),
            self.learn(sweep, &mut room),
            self.expire_receipts(sweep.now, &mut room),
            self.expire_runs(sweep, &mut room),
        ];
        let next = self.rows.receipts.values().map(|receipt| receipt.keep_until).min();
        let (rows, more) = (sweep.limit - room, more.contains(&true));
        Ok(Swept {
            rows,
            more,
            damaged: Vec::new(),
            next,
            silent: self.roll.silent(),
            silent_since: self.silent_since(),
        })
    }

    /// What has become known of attempts whose end nobody saw is written on their rows.
    fn learn(&mut self, sweep: &Sweep, room: &mut usize) -> bool {
        let mut news = Vec::new();
        for row in self.rows.runs.values() {
            for (activity, own) in &row.activities {
                let mut live = own.live.clone();
                let changed =
                    learn(&mut live, |epoch| self.roll.gone(epoch), sweep.presume, sweep.now);
                news.extend(changed.then_some((row.head.run, *activity, live)));
            }
        }
        let found = news.len();
        for (run, activity, live) in news.into_iter().take(*room) {
            let rows = &mut self.rows.known(run).activities;
            match keeps_row(&live) {
                true => rows.get_mut(&activity).into_iter().for_each(|own| own.live = live.clone()),
                false => drop(rows.remove(&activity)),
            }
        }
        spend(room, found)
    }

    fn silent_since(&self) -> Option<Time> {
        let rows = self.rows.runs.values().flat_map(|row| row.activities.values());
        rows.filter_map(|own| silent_since(&own.live)).min()
    }

    /// Forgets rows that a mark covers and nobody had started. True if some are left.
    fn fold_marks(&mut self, room: &mut usize) -> bool {
        loop {
            let next = self.index.marks().next().map(|(run, mark)| (run, mark.clone()));
            let Some((run, mark)) = next else { return false };
            let covered = self.covered(run, &mark, *room + 1);
            for activity in covered.iter().take(*room) {
                self.cancel(run, *activity, &mark.cause, mark.at);
            }
            if covered.len() > *room {
                *room = 0;
                return true;
            }
            *room -= covered.len();
            self.rows.known(run).marks.retain(|own| own.number != mark.number);
            self.index.apply([Change::Folded(run, mark.number)]);
        }
    }

    fn covered(&mut self, run: RunId, mark: &Mark, most: usize) -> Vec<EventId> {
        let row = self.rows.known(run);
        let rows = mark
            .ranges
            .ranges()
            .iter()
            .flat_map(|range| row.activities.range(range.first..=range.last));
        let queued = rows.filter(|(_, own)| matches!(own.live.place, Place::Queued { .. }));
        queued.map(|(activity, _)| *activity).take(most).collect()
    }

    fn lose_attempts(&mut self, sweep: &Sweep, room: &mut usize) -> bool {
        let dead = |epoch| !self.roll.is_alive(epoch);
        let lost: Vec<_> = self.index.attempts_where(dead).take(*room + 1).collect();
        for (run, activity) in lost.iter().take(*room) {
            self.lose(*run, *activity, sweep.now);
        }
        spend(room, lost.len())
    }

    fn release_runs(&mut self, room: &mut usize) -> bool {
        let dead = |epoch| !self.roll.is_alive(epoch);
        let held: Vec<_> = self.index.held_where(dead).take(*room + 1).collect();
        held.iter().take(*room).for_each(|run| self.release(*run));
        spend(room, held.len())
    }

    fn expire_receipts(&mut self, now: Time, room: &mut usize) -> bool {
        let expired = self.rows.receipts.values().filter(|receipt| receipt.keep_until <= now);
        let expired: Vec<_> = expired.map(|receipt| receipt.id).take(*room + 1).collect();
        for id in expired.iter().take(*room) {
            self.rows.receipts.remove(id);
        }
        spend(room, expired.len())
    }

    /// Runs that nobody keeps and of whose subtree nothing is left.
    fn expire_runs(&mut self, sweep: &Sweep, room: &mut usize) -> bool {
        let heads = self.rows.runs.values().map(|row| &row.head);
        let expired = heads.filter(|head| has_expired(sweep, head));
        let expired: Vec<RunId> = expired.map(|head| head.run).collect();
        if expired.is_empty() {
            return false;
        }
        let kept: BTreeSet<RunId> = self.rows.receipts.values().map(|row| row.chain).collect();
        let chained = |run: RunId| planted(Defect::ChainKept) && self.chain_lives(run);
        let gone = |run: &RunId| {
            let kept = self.is_kept(*run, &kept) || chained(*run);
            let settled = self.settled(*run).filter(|_| !kept);
            settled.is_some_and(|Living(lives)| !lives || !self.is_watched(*run, sweep))
        };
        let gone: Vec<RunId> = expired.into_iter().filter(gone).take(*room + 1).collect();
        gone.iter().take(*room).for_each(|run| self.remove(*run));
        spend(room, gone.len())
    }

    /// Whether a receipt tells about a run: one of its chain, or of a chain above.
    fn is_kept(&self, run: RunId, chains: &BTreeSet<RunId>) -> bool {
        let mut next = self.rows.runs.get(&run);
        while let Some(row) = next {
            if chains.contains(&row.head.first_run) {
                return true;
            }
            next = self.rows.above(row).and_then(|(parent, _)| self.rows.runs.get(&parent));
        }
        false
    }

    /// Whether somebody may ask for a receipt that has to name what lives below a run: its parent
    /// is there, or another run of its chain, and is not about to go.
    fn is_watched(&self, run: RunId, sweep: &Sweep) -> bool {
        let Ok(row) = self.rows.run(run) else { return false };
        let above = self.rows.above(row).and_then(|(parent, _)| self.rows.runs.get(&parent));
        let goes = |head: &Head| has_expired(sweep, head) && self.settled(head.run).is_some();
        let mut chain = self.rows.chains.get(&row.head.first_run).into_iter().flatten();
        let stays = |link: &RunId| self.rows.runs.get(link).is_some_and(|row| !goes(&row.head));
        above.is_some() || chain.any(|link| *link != run && stays(link))
    }

    /// Whether a run of its chain is open.
    fn chain_lives(&self, run: RunId) -> bool {
        let first = self.rows.runs.get(&run).map(|row| row.head.first_run);
        let mut chain = self.rows.runs.values().filter(|row| Some(row.head.first_run) == first);
        chain.any(|row| row.head.status.is_open())
    }

    fn remove(&mut self, run: RunId) {
        let Some(row) = self.rows.runs.remove(&run) else { return };
        let name = (run.namespace, row.head.workflow_id);
        if self.rows.current.get(&name) == Some(&run) {
            self.rows.current.remove(&name);
        }
        if let Some((parent, _)) = row.head.parent
            && let Some(children) = self.rows.children.get_mut(&parent)
        {
            children.remove(&run);
        }
        let chain = self.rows.chains.entry(row.head.first_run).or_default();
        chain.retain(|own| *own != run);
        self.rows.chains.retain(|_, runs| !runs.is_empty());
        // A fork of it may have inherited children that are still there.
        self.rows.children.retain(|_, children| !children.is_empty());
        self.index.apply([Change::RunGone(run)]);
    }
}

fn has_expired(sweep: &Sweep, head: &Head) -> bool {
    head.closed_at.is_some_and(|closed| head.deleted || sweep.is_past(head.run, closed))
}

/// Takes what was found from the room there is; true if there was more.
fn spend(room: &mut usize, found: usize) -> bool {
    let more = found > *room;
    *room -= found.min(*room);
    more
}
