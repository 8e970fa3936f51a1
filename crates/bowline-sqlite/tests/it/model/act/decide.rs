//! Commits by chance, whose events and rows belong together.

use std::{sync::Arc, time::Duration};

use bowline_core::Parked;
use bowline_core::{
    ActivityScheduled, ActivitySpec, Alarm, AlarmKind, Batch, Cause, ChildInitiated, Event,
    EventId, EventKind, Fence, Holder, Link, MarkerRecorded, Note, Number, Outstanding, Parent,
    ParentClose, Post, Ranges, RetryPolicy, Span, Status, Timeouts, TimerStarted,
    WorkflowCompleted,
};
use bowline_store::{Close, Commit, Head, NewActivity, RunCancel, StartNow};

use super::{Actor, Call};
use crate::world::{event, spec, turn_of};

/// A commit in the making.
struct Draft {
    commit: Commit,
    events: Vec<Event>,
}

impl Draft {
    fn event(&mut self, kind: impl Into<EventKind>) -> EventId {
        let id = self.commit.next_event;
        self.commit.next_event = id.plus(1);
        self.events.push(event(id, kind));
        id
    }
}

impl Actor {
    pub(super) async fn commit(&mut self) -> Call {
        let mut commits = Vec::new();
        for _ in 0..=self.chance.below(2) {
            let run = self.run();
            let Some(head) = self.head(run).await else { continue };
            commits.push(self.decide(&head));
        }
        // A repeated commit changes nothing.
        if self.chance.one_in(10) {
            commits.extend(commits.last().cloned());
        }
        Call::Commit(commits)
    }

    fn decide(&mut self, head: &Head) -> Commit {
        let id = self.id();
        let mut draft = Draft { commit: turn_of(head, id, Vec::new()), events: Vec::new() };
        draft.commit.now = self.now;
        draft.commit.record = head.record.clone();
        draft.event(MarkerRecorded::default());
        if self.chance.one_in(12) {
            draft.commit.expected.0 += 1;
        }
        if let Some(fence) = head.holder.filter(|_| self.chance.one_in(2)) {
            draft.commit.fence = Some(fence);
        }
        self.consume(head, &mut draft);
        self.schedule(&mut draft);
        self.cancel(head, &mut draft);
        self.time(head, &mut draft);
        self.reach(head, &mut draft);
        if self.chance.one_in(5) {
            self.close(&mut draft);
        }
        draft.commit.release = self.chance.one_in(3);
        Commit { batch: Batch::of(&draft.events), ..draft.commit }
    }

    fn consume(&mut self, head: &Head, draft: &mut Draft) {
        let unread = head.inbox.0 - head.consumed.0;
        let behind = if self.chance.one_in(3) { self.chance.below(unread + 1) } else { 0 };
        draft.commit.consumed = Number(head.inbox.0 - behind);
        if behind > 0 && self.chance.one_in(2) {
            draft.commit.forgotten = vec![head.inbox];
        }
        if let Some(cancel) = head.cancel.clone().filter(|cancel| cancel.decided_at.is_none()) {
            draft.commit.cancel = Some(RunCancel { decided_at: Some(self.now), ..cancel });
            draft.commit.status = Status::Cancelling;
        }
        if self.chance.one_in(20) {
            let parked = Parked {
                since: self.now,
                failures: 1,
                reason: "chance".into(),
                ..Parked::default()
            };
            draft.commit.parked = Some(self.chance.one_in(2).then_some(parked));
        }
        if !head.rules.is_native() {
            let turn = self.turn_out();
            draft.commit.record.turn = self.chance.one_in(2).then_some(turn);
        }
    }

    fn schedule(&mut self, draft: &mut Draft) {
        let count = match self.chance.below(12) {
            0 => 90,
            few => few / 3,
        };
        let spec = self.spec();
        for _ in 0..count {
            let activity = draft.event(ActivityScheduled { spec: spec.clone(), turn: EventId(1) });
            let start = self.chance.one_in(6).then(|| {
                let fence = Fence { epoch: self.epoch, counter: (1 << 40) + activity.0 };
                StartNow { holder: Holder::Native(fence), worker: "model".into() }
            });
            let spec = Arc::new(spec.clone());
            draft.commit.activities.push(NewActivity { activity, spec, start });
        }
    }

    fn spec(&mut self) -> ActivitySpec {
        let mut some = |seconds| {
            let span = Span(Duration::from_secs(1 + self.chance.below(seconds)));
            self.chance.one_in(3).then_some(span)
        };
        let timeouts = Timeouts {
            schedule_to_start: some(30),
            start_to_close: some(20),
            schedule_to_close: some(60),
            heartbeat: some(10),
        };
        let retry = self.chance.one_in(2).then(RetryPolicy::default);
        ActivitySpec { timeouts, retry, ..spec("work") }
    }

    fn cancel(&mut self, head: &Head, draft: &mut Draft) {
        if !self.chance.one_in(3) {
            return;
        }
        let end = draft.commit.next_event.0;
        let first = 2 + self.chance.below(end);
        let width = if self.chance.one_in(2) { 200 } else { 6 };
        let last = first + self.chance.below(width);
        let targets: Ranges = (first..=last.min(end)).map(EventId).collect();
        let cause = Cause::requested("by chance", head.version.to_string());
        draft.commit.cancels.push((targets, cause));
    }

    fn time(&mut self, head: &Head, draft: &mut Draft) {
        if !self.chance.one_in(3) {
            return;
        }
        let timer = draft.event(TimerStarted::default());
        let due = self.now.after(Duration::from_secs(self.chance.below(20)));
        draft.commit.arm.push(Alarm { due, what: AlarmKind::Timer(timer) });
        let what = AlarmKind::Timer(EventId(self.chance.below(head.next_event.0)));
        draft.commit.disarm.push(Alarm { due, what });
    }

    /// Children and messages.
    fn reach(&mut self, head: &Head, draft: &mut Draft) {
        if self.chance.one_in(5) {
            let mut birth = self.newborn();
            let child = ChildInitiated { run: birth.run, ..ChildInitiated::default() };
            let initiated = draft.event(child);
            let policies = [ParentClose::Cancel, ParentClose::Terminate, ParentClose::Abandon];
            let close = *self.chance.some(&policies).unwrap();
            if let EventKind::WorkflowStarted(started) = &mut birth.events[0].kind {
                let (run, workflow_id) = (head.run, head.workflow_id.clone());
                started.parent = Some(Parent { run, workflow_id, initiated, close });
                started.root = Some((head.root, "root".into()));
            }
            birth.link = Link::Child(initiated);
            draft.commit.births.push(birth);
        }
        for _ in 0..self.chance.below(3) {
            let (to, message) = (self.address(), self.message());
            let answer = self.chance.one_in(2).then(|| draft.event(MarkerRecorded::default()));
            let child_of = self.chance.one_in(4).then_some(head.run);
            draft.commit.posts.push(Post { to, message, child_of, answer });
        }
    }

    fn close(&mut self, draft: &mut Draft) {
        let statuses = [Status::Completed, Status::Failed, Status::Cancelled, Status::Terminated];
        draft.commit.status = *self.chance.some(&statuses).unwrap();
        let mut successor = None;
        if self.chance.one_in(3) {
            let mut birth = self.newborn();
            let closes = draft.commit.run;
            if let EventKind::WorkflowStarted(started) = &mut birth.events[0].kind {
                started.previous_run = Some(closes);
            }
            birth.link = Link::Next;
            successor = Some(birth.run);
            draft.commit.births.push(birth);
            draft.commit.status = Status::ContinuedAsNew;
        }
        draft.event(WorkflowCompleted::default());
        if self.chance.one_in(2) {
            let left = (2..draft.commit.next_event.0).map(EventId).collect();
            let note = Note::Outstanding(Outstanding { left, ..Outstanding::default() });
            draft.events.last_mut().expect("it closes").notes.push(note);
        }
        draft.commit.close = Some(Close { successor, delete: false });
    }
}
