//! Runs that are ready for somebody, and runs that somebody holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bowline_core::{Epoch, Fence, Name, Number, Queue, RunId};

use super::{Lane, Sought, WaitingWork};
use crate::{ClaimRuns, Head, Hint, Want};

/// What a run is ready for, as its row stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The run.
    pub run: RunId,
    /// The workflow.
    pub name: Name,
    /// Where its turns wait.
    pub queue: Queue,
    /// The number of its newest message.
    pub inbox: Number,
    /// A native run that nobody holds has unread messages.
    pub turn: bool,
    /// The queue in which a remote run's turn waits for a worker.
    pub remote_turn: Option<Queue>,
    /// A remote run has unread messages, and no worker has its turn; or any run has one that does
    /// not wait for its code.
    pub intake: bool,
    /// Who holds it.
    pub holder: Option<Fence>,
    /// None of its attempts may begin.
    pub withholds: bool,
}

impl Standing {
    /// What the head of a run says. A store keeps `consumed` exact: where only dropped messages
    /// are left, it is `inbox`, or the run would be ready for nothing, again and again.
    pub fn of(head: &Head) -> Self {
        let open = head.status.is_open() && head.parked.is_none();
        let (native, unread) = (head.rules.is_native(), head.inbox > head.consumed);
        let turn = head.record.turn.as_ref();
        let out = turn.is_some_and(|turn| turn.started.is_some());
        let waiting = turn.filter(|_| open && !native && !out);
        let cut_in = head.status.is_open() && head.cut_in > head.consumed;
        Self {
            run: head.run,
            name: head.name.clone(),
            queue: head.queue.clone(),
            inbox: head.inbox,
            turn: open && native && unread && head.holder.is_none(),
            remote_turn: waiting.map(|turn| turn.queue.clone()),
            intake: cut_in || (open && !native && unread && !out),
            holder: head.holder,
            withholds: head.withholds(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Runs {
    lanes: BTreeMap<Lane<Want>, BTreeMap<u64, RunId>>,
    places: BTreeMap<(RunId, Want), (Queue, Name, u64)>,
    arrivals: u64,
    held: BTreeMap<RunId, (Fence, Number)>,
    holders: BTreeMap<Epoch, BTreeSet<RunId>>,
    pub(super) view: Arc<WaitingWork>,
}

impl Runs {
    pub(super) fn stand(&mut self, standing: Standing, hints: &mut BTreeSet<Hint>) {
        self.hold(&standing, hints);
        let Standing { run, name, queue, .. } = standing;
        let namespace = run.namespace;
        if self.place(run, Want::Turn, standing.turn.then_some(&queue), &name) {
            hints.insert(Hint::Turn(namespace, queue.clone()));
        }
        if self.place(run, Want::Intake, standing.intake.then_some(&queue), &name) {
            hints.insert(Hint::Intake(namespace));
        }
        if self.place(run, Want::RemoteTurn, standing.remote_turn.as_ref(), &name) {
            hints.extend(standing.remote_turn.map(|queue| Hint::RemoteTurn(namespace, queue)));
        }
    }

    fn hold(&mut self, standing: &Standing, hints: &mut BTreeSet<Hint>) {
        let run = standing.run;
        let before = match standing.holder {
            Some(fence) => self.held.insert(run, (fence, standing.inbox)),
            None => self.held.remove(&run),
        };
        let same = before.map(|(fence, _)| fence.epoch) == standing.holder.map(|f| f.epoch);
        if !same {
            if let Some((fence, _)) = before {
                self.forget_holder(fence.epoch, run);
            }
            if let Some(fence) = standing.holder {
                self.holders.entry(fence.epoch).or_default().insert(run);
            }
        }
        if before.is_some_and(|(_, inbox)| inbox < standing.inbox) && standing.holder.is_some() {
            hints.insert(Hint::Inbox(run));
        }
    }

    fn forget_holder(&mut self, epoch: Epoch, run: RunId) {
        if let Some(runs) = self.holders.get_mut(&epoch) {
            runs.remove(&run);
            if runs.is_empty() {
                self.holders.remove(&epoch);
            }
        }
    }

    /// Puts the run into a queue, or takes it out. True if it was not in that queue before; a run
    /// that was keeps its place.
    fn place(&mut self, run: RunId, want: Want, queue: Option<&Queue>, name: &Name) -> bool {
        let Some(queue) = queue else {
            self.take_out(run, want);
            return false;
        };
        if self.places.get(&(run, want)).is_some_and(|(q, n, _)| q == queue && n == name) {
            return false;
        }
        self.take_out(run, want);
        self.insert(run, want, queue.clone(), name.clone());
        if want == Want::RemoteTurn {
            self.view.enter(Sought::Turn, run.namespace, queue);
        }
        true
    }

    /// Takes the run out of a queue, for all to see.
    fn take_out(&mut self, run: RunId, want: Want) {
        let left = self.remove(run, want).filter(|_| want == Want::RemoteTurn);
        if let Some((queue, _)) = left {
            self.view.leave(Sought::Turn, run.namespace, &queue);
        }
    }

    fn insert(&mut self, run: RunId, want: Want, queue: Queue, name: Name) {
        self.arrivals += 1;
        let lane = (want, run.namespace, queue.clone(), name.clone());
        self.lanes.entry(lane).or_default().insert(self.arrivals, run);
        self.places.insert((run, want), (queue, name, self.arrivals));
    }

    fn remove(&mut self, run: RunId, want: Want) -> Option<(Queue, Name)> {
        let (queue, name, arrival) = self.places.remove(&(run, want))?;
        let lane = (want, run.namespace, queue, name);
        if let Some(runs) = self.lanes.get_mut(&lane) {
            runs.remove(&arrival);
            if runs.is_empty() {
                self.lanes.remove(&lane);
            }
        }
        let (_, _, queue, name) = lane;
        Some((queue, name))
    }

    pub(super) fn rotate(&mut self, want: Want, run: RunId) {
        if let Some((queue, name)) = self.remove(run, want) {
            self.insert(run, want, queue, name);
        }
    }

    pub(super) fn forget(&mut self, run: RunId) {
        for want in [Want::Turn, Want::RemoteTurn, Want::Intake] {
            self.take_out(run, want);
        }
        if let Some((fence, _)) = self.held.remove(&run) {
            self.forget_holder(fence.epoch, run);
        }
    }

    pub(super) fn waiting(&self, claim: &ClaimRuns) -> Vec<RunId> {
        let mut found: Vec<(u64, RunId)> = Vec::new();
        for (_, runs) in self.lanes_of(claim) {
            found.extend(runs.iter().take(claim.count).map(|(arrival, run)| (*arrival, *run)));
        }
        found.sort_unstable();
        found.truncate(claim.count);
        found.into_iter().map(|(_, run)| run).collect()
    }

    /// A member names the workflows that it has code for; only of remote runs it may want all.
    fn lanes_of(
        &self,
        claim: &ClaimRuns,
    ) -> impl Iterator<Item = (&Lane<Want>, &BTreeMap<u64, RunId>)> {
        let (want, namespace) = (claim.want, claim.namespace);
        let any_name = claim.names.is_empty() && want != Want::Turn;
        let any_queue = claim.queues.is_empty() && want == Want::Intake;
        // Other queues, however many there are, are not looked at.
        let queues: BTreeSet<&Queue> = claim.queues.iter().collect();
        let starts = match any_queue {
            true => vec![None],
            false => queues.into_iter().map(Some).collect(),
        };
        let lanes = starts.into_iter().flat_map(move |only: Option<&Queue>| {
            let from = only.cloned().unwrap_or_default();
            self.lanes.range((want, namespace, from, Name::default())..).take_while(
                move |((of, at, queue, _), _)| {
                    (*of, *at) == (want, namespace) && only.is_none_or(|only| only == queue)
                },
            )
        });
        lanes.filter(move |((.., name), _)| any_name || claim.names.contains(name))
    }

    pub(super) fn holder(&self, run: RunId) -> Option<Fence> {
        self.held.get(&run).map(|(fence, _)| *fence)
    }

    pub(super) fn held_by(&self, epoch: Epoch) -> impl Iterator<Item = RunId> {
        self.holders.get(&epoch).into_iter().flatten().copied()
    }

    pub(super) fn held_where(&self, which: impl Fn(Epoch) -> bool) -> impl Iterator<Item = RunId> {
        self.holders.iter().filter(move |(own, _)| which(**own)).flat_map(|(_, runs)| runs).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker's own queue lives as long as the worker; an index that remembered each of them
    /// would grow for ever.
    #[test]
    fn nothing_is_kept_of_a_queue_that_nobody_waits_in() {
        let mut runs = Runs::default();
        let run = RunId { uuid: 1, ..RunId::default() };
        runs.place(run, Want::RemoteTurn, Some(&Queue::from("own")), &Name::from("w"));
        assert_eq!(runs.lanes.len(), 1);
        let waits =
            |runs: &Runs| runs.view.may_find(Sought::Turn, run.namespace, &Queue::from("own"));
        assert!(waits(&runs));
        runs.rotate(Want::RemoteTurn, run);
        assert!(waits(&runs), "it waits still");
        runs.place(run, Want::RemoteTurn, None, &Name::from("w"));
        assert!(runs.lanes.is_empty() && runs.places.is_empty() && !waits(&runs));
    }
}
