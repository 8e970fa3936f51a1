//! Decisions are written.

use bowline_core::{
    Birth, ChildRefusal, EventId, ExternalRefusal, Hit, Link, Message, Number, Post, Ranges, RunId,
    Time, limits,
};

use super::{Data, row::Activity};
use crate::{
    AttemptHit, Commit, Committed, Error, Hint, NewActivity, OfferedEnd, Result,
    commit::rule::{self, Met},
    ready::{Change, Mark},
};

/// How many unread messages a commit answers with.
const UNREAD_MAX: usize = 1_000;

impl Data {
    pub(super) fn commit(&mut self, mut commit: Commit) -> Result<Committed> {
        let (run, now) = (commit.run, commit.now);
        self.clock(now);
        if self.rows.run(run)?.head.last_commit == commit.id {
            return Ok(self.committed(&commit, Vec::new()));
        }
        self.check(&commit)?;
        let (births, posts) =
            (std::mem::take(&mut commit.births), std::mem::take(&mut commit.posts));
        self.write(&commit);
        commit.ended.iter().for_each(|offered| self.end(offered, now));
        commit.activities.iter().for_each(|new| self.schedule(&commit, new));
        let (hits, skipped) = self.cancels(&commit);
        commit.disarm.iter().for_each(|alarm| self.disarm(run, *alarm));
        commit.arm.iter().for_each(|alarm| self.arm(run, *alarm));
        let mut answers = Vec::new();
        answers.extend(births.into_iter().filter_map(|birth| self.birth(run, birth, now)));
        answers.extend(posts.into_iter().filter_map(|post| self.send(post, now)));
        if !skipped.is_empty() {
            answers.push(Message::SkipActivities(skipped));
        }
        if commit.close.is_some() {
            self.silence(run);
            answers.clear();
        }
        for answer in answers {
            self.deliver(run, answer, now);
        }
        self.changed(run);
        if commit.frees_parked(&self.rows.known(run).head) {
            self.hints.insert(Hint::Parked(run));
        }
        if commit.ends() {
            self.hints.insert(Hint::Closed(run));
        }
        Ok(self.committed(&commit, hits))
    }

    /// Everything for which a commit can be refused.
    fn check(&self, commit: &Commit) -> Result<()> {
        let row = self.rows.run(commit.run)?;
        commit.check_head(&row.head)?;
        if let Some(fence) = commit.fence {
            self.alive(fence.epoch)?;
        }
        let mut unread = row.inbox.keys().filter(|number| **number > commit.consumed);
        let is_new = |number: &Number| !commit.forgotten.contains(number);
        commit.check_hold(&row.head, commit.minds_newcomers() && unread.any(is_new))?;
        for birth in &commit.births {
            self.check_birth(birth)?;
            if birth.link == Link::None {
                commit.check_id(self.taken_by(birth)?)?;
            }
        }
        let holds = |offered: &OfferedEnd| {
            offered.settle.run == commit.run && self.offered(offered).is_some()
        };
        match commit.ended.iter().all(holds) {
            true => Ok(()),
            false => Err(Error::Conflict),
        }
    }

    /// The row of the run itself, its history and its inbox.
    fn write(&mut self, commit: &Commit) {
        let row = self.rows.known(commit.run);
        let gone =
            |number: &Number| *number <= commit.consumed || commit.forgotten.contains(number);
        row.inbox.retain(|number, _| !gone(number));
        row.batches.extend(commit.batch.clone());
        if commit.snapshot.is_some() {
            row.snapshot = commit.snapshot.clone();
        }
        let head = &mut row.head;
        head.take(commit);
        // Dropped messages count as consumed as soon as nothing before them is unread.
        head.consumed = row.inbox.keys().next().map_or(head.inbox, |first| Number(first.0 - 1));
    }

    fn schedule(&mut self, commit: &Commit, new: &NewActivity) {
        let (run, activity, now) = (commit.run, new.activity, commit.now);
        let row = self.rows.known(run);
        let live = commit.live(new, &row.head);
        row.activities.insert(activity, Activity { spec: new.spec.clone(), live });
        self.moved(run, activity, now);
    }

    /// Attempts that were hit, and what had never started.
    fn cancels(&mut self, commit: &Commit) -> (Vec<AttemptHit>, Ranges) {
        let (run, now) = (commit.run, commit.now);
        let mut met = Met::default();
        for (ranges, cause) in &commit.cancels {
            let marks = ranges.count() > limits::MARK_FROM;
            let targets: Vec<EventId> = match marks {
                true => self.index.attempts_of(run).map(|(activity, _)| activity).collect(),
                false => ranges.ids().collect(),
            };
            let mut begun = Vec::new();
            for activity in targets.into_iter().filter(|id| ranges.contains(*id)) {
                // What waits under an older mark is over already, though its row is not swept.
                let row = self.rows.known(run);
                let is_out =
                    row.activities.get(&activity).is_some_and(|own| own.live.started().is_some());
                let over = !is_out && row.marked(activity).is_some();
                let hit = (!over).then(|| self.cancel(run, activity, cause, now)).flatten();
                match hit {
                    Some(Hit::Started) => met.hits.extend(self.hit(run, activity)),
                    Some(Hit::NeverStarted | Hit::Waiting) => met.skipped.push(activity),
                    _ => {}
                }
                begun.push(activity);
            }
            if marks {
                met.mark(ranges, begun, &self.rows.known(run).unread(usize::MAX));
                self.mark(
                    run,
                    Mark { number: 0, ranges: ranges.clone(), cause: cause.clone(), at: now },
                );
            }
        }
        met.finish()
    }

    fn mark(&mut self, run: RunId, mark: Mark) {
        let row = self.rows.known(run);
        row.marks_made += 1;
        let mark = Mark { number: row.marks_made, ..mark };
        row.marks.push(mark.clone());
        self.index.apply([Change::Marked(run, mark)]);
    }

    fn birth(&mut self, parent: RunId, birth: Birth, now: Time) -> Option<Message> {
        let (run, link) = (birth.run, birth.link);
        if let Link::Child(initiated) = link {
            if !matches!(self.taken_by(&birth), Ok(None)) {
                return Some(Message::RefuseChild(initiated, ChildRefusal::IdTaken));
            }
            self.begin_run(birth, now);
            return Some(Message::ChildBegan(initiated));
        }
        self.begin_run(birth, now);
        if link == Link::Next {
            self.rows.known(parent).head.successor = Some(run);
        }
        None
    }

    fn send(&mut self, post: Post, now: Time) -> Option<Message> {
        let named = self.rows.resolve(&post.to);
        let sent = match rule::receiver(&post, named.map(|row| &row.head)) {
            Ok(Some(run)) => match self.rows.known(run).admit(&post.message) {
                Ok(()) => {
                    self.deliver(run, post.message.clone(), now);
                    Ok(())
                }
                Err(_) => Err(ExternalRefusal::Full),
            },
            other => other.map(drop),
        };
        rule::answer(&post, sent)
    }

    /// Nothing of a closed run rings, but the limits of what workers still have.
    fn silence(&mut self, run: RunId) {
        let alarms = self.index.alarms_of(run).collect::<Vec<_>>();
        for alarm in alarms.into_iter().filter(|alarm| alarm.what.message().is_some()) {
            self.disarm(run, alarm);
        }
    }

    /// The answer to a commit that was written, now or before.
    fn committed(&self, commit: &Commit, hits: Vec<AttemptHit>) -> Committed {
        let row = &self.rows.runs[&commit.run];
        let began = |new: &NewActivity| {
            let live = &row.activities.get(&new.activity)?.live;
            let holder = &new.start.as_ref()?.holder;
            let own = live.started().is_some_and(|start| start.holder == *holder);
            own.then_some((new.activity, live.attempt))
        };
        Committed {
            version: row.head.version,
            unread: row.unread(UNREAD_MAX),
            hits,
            started: commit.activities.iter().filter_map(began).collect(),
        }
    }
}
