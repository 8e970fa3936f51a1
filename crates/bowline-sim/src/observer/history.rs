//! Everything that was ever written: histories, checked against the laws as they grow.

use bowline_core::{
    ActivityLive, Event, EventId, EventKind, Holder, Message, ReceiptId, RunId, State,
    lawful::Lawful,
};
use bowline_store::{
    ActivityRow, ClaimedActivity, Commit, Committed, Posted, Posting, Read, Result, RunKey, Store,
};

use super::{Known, Observer, check::at_once};

/// What is known of a run.
pub(super) struct Story {
    run: RunId,
    pub(super) name: String,
    /// The first run of its chain.
    pub(super) first: RunId,
    pub(super) parent: Option<RunId>,
    pub(super) events: Vec<Event>,
    lawful: Lawful,
    /// A cancel of the whole run is durable, and no turn has decided it yet.
    pub(super) asked: bool,
    pub(super) closed: bool,
    /// A cancel was acknowledged while it was open.
    pub(super) owes_cancel: bool,
}

impl Story {
    fn new(name: String, run: RunId, first: &Event) -> Self {
        let EventKind::WorkflowStarted(started) = &first.kind else {
            return Self::blank(name, run);
        };
        let chain = Some(started.first_run).filter(|first| first.uuid != 0).unwrap_or(run);
        let parent = started.parent.as_ref().map(|parent| parent.run);
        Self { first: chain, parent, ..Self::blank(name, run) }
    }

    fn blank(name: String, run: RunId) -> Self {
        Self {
            run,
            name,
            first: run,
            parent: None,
            events: Vec::new(),
            lawful: Lawful::new(run),
            asked: false,
            closed: false,
            owes_cancel: false,
        }
    }

    /// Takes events in that were written together.
    fn grow(&mut self, events: &[Event]) -> std::result::Result<bool, String> {
        let next = self.events.last().map_or(EventId(1), |last| last.id.plus(1));
        let mut grew = false;
        for event in events.iter().filter(|event| event.id >= next) {
            self.lawful.check(event).map_err(|unlawful| unlawful.to_string())?;
            match &event.kind {
                EventKind::WorkflowCancelRequested(_) => self.asked = false,
                kind if is_close(kind) => {
                    self.closed = true;
                    self.asked = false;
                }
                _ => {}
            }
            self.events.push(event.clone());
            grew = true;
        }
        self.lawful.check_commit().map_err(|unlawful| unlawful.to_string())?;
        Ok(grew)
    }

    /// Whether everything that it has started is over.
    pub(super) fn waits_for_nothing(&self) -> bool {
        let mut state = State::new(self.run);
        self.events.iter().for_each(|event| state.evolve(event));
        state.activities.is_empty() && state.timers.is_empty() && state.children.is_empty()
    }

    /// Whether it was ended, so that no run goes on for it.
    pub(super) fn is_stopped(&self) -> bool {
        use EventKind as K;
        let last = self.events.last().map(|event| &event.kind);
        matches!(last, Some(K::WorkflowTerminated(_) | K::WorkflowCancelled(_)))
    }

    /// Which attempt an event is the beginning of.
    pub(super) fn attempt(&self, started: EventId) -> Option<u32> {
        let event = self.events.iter().find(|event| event.id == started)?;
        match &event.kind {
            EventKind::ActivityStarted(started) => Some(started.attempt),
            _ => None,
        }
    }

    /// Where it could be begun again from.
    pub(super) fn turns(&self) -> Vec<EventId> {
        let is_turn = |event: &&Event| matches!(event.kind, EventKind::TurnStarted(_));
        self.events.iter().filter(is_turn).map(|event| event.id).collect()
    }

    /// What it has started and could be cancelled.
    pub(super) fn targets(&self) -> Vec<EventId> {
        use EventKind as K;
        let is_target = |event: &&Event| {
            matches!(
                event.kind,
                K::ActivityScheduled(_) | K::TimerStarted(_) | K::ChildInitiated(_)
            )
        };
        self.events.iter().filter(is_target).map(|event| event.id).collect()
    }
}

fn is_close(kind: &EventKind) -> bool {
    use EventKind as K;
    matches!(
        kind,
        K::WorkflowCompleted(_)
            | K::WorkflowFailed(_)
            | K::WorkflowTimedOut(_)
            | K::WorkflowCancelled(_)
            | K::WorkflowTerminated(_)
            | K::WorkflowContinuedAsNew(_)
    )
}

impl Known {
    /// A run begins that was begun before, and forgotten since: by a clock that is far ahead its
    /// retention was over before the request that began it had been answered, and was repeated.
    fn forget(&mut self, run: RunId) {
        if self.runs.remove(&run).is_none() {
            return;
        }
        self.reach("a forgotten run begins again");
        self.order.retain(|own| *own != run);
        self.begun.retain(|(own, ..), _| *own != run);
        self.ended.retain(|(own, ..), _| *own != run);
        self.signals.retain(|_, (own, _)| *own != run);
        self.updates.retain(|_, own| *own != run);
        for attempts in [&mut self.delivered, &mut self.observed, &mut self.completed] {
            attempts.retain(|(own, ..)| *own != run);
        }
    }

    fn born(&mut self, run: RunId, events: &[Event]) -> std::result::Result<bool, String> {
        let Some(first) = events.first() else { return Ok(false) };
        if !self.runs.contains_key(&run) {
            let name = format!("run {}", self.order.len() + 1);
            self.runs.insert(run, Story::new(name, run, first));
            self.order.push(run);
            self.reach(first.kind.name());
        }
        self.runs.get_mut(&run).map_or(Ok(false), |story| story.grow(events))
    }
}

impl Observer {
    fn grew(&self, run: RunId, grown: std::result::Result<bool, String>) {
        if let Err(what) = grown {
            let name = self.known.lock().name(run);
            self.broke("history is lawful", format!("{name}: {what}"));
        }
    }

    /// Requests took effect.
    pub(crate) fn posted(&self, posts: &[Posting], answers: &[Result<Posted>]) {
        for (posting, answer) in posts.iter().zip(answers) {
            match (posting, answer) {
                (Posting::Start(start), Ok(Posted::Started(run) | Posted::Repeated(run))) => {
                    let birth = &start.birth;
                    if matches!(answer, Ok(Posted::Started(_))) {
                        self.known.lock().forget(*run);
                    }
                    let born =
                        (birth.run == *run).then(|| self.known.lock().born(*run, &birth.events));
                    self.grew(*run, born.unwrap_or(Ok(false)));
                    self.tell_of(*run, |run| format!("{run} is started"));
                }
                (Posting::Message { receipt: Some(_), .. }, Ok(Posted::Finished(run))) => {
                    self.known.lock().told.insert(*run);
                }
                (Posting::Message { message, receipt, .. }, Ok(Posted::Delivered(run, _))) => {
                    if receipt.is_some() {
                        self.known.lock().told.insert(*run);
                    }
                    self.tell_of(*run, |run| format!("{} is durable for {run}", word(message)));
                    self.asks(*run, message);
                }
                _ => {}
            }
        }
        self.look();
    }

    /// A cancel of a run stands in its inbox.
    fn asks(&self, run: RunId, message: &Message) {
        let mut known = self.known.lock();
        let decided = |story: &Story| {
            let is_it = |event: &Event| matches!(event.kind, EventKind::WorkflowCancelRequested(_));
            story.events.iter().any(is_it)
        };
        if let (Message::Cancel(_), Some(story)) = (message, known.runs.get_mut(&run)) {
            story.asked |= !decided(story) && !story.closed;
            story.owes_cancel |= !story.closed;
        }
    }

    /// Decisions took effect.
    pub(crate) fn committed(&self, commits: &[Commit], answers: &[Result<Committed>]) {
        for (commit, answer) in commits.iter().zip(answers) {
            let run = commit.run;
            if let Err(error) = answer {
                self.tell_of(run, |run| format!("a commit to {run} is refused: {error}"));
                continue;
            }
            let events = commit.batch.as_ref().and_then(|batch| batch.events().ok());
            let events = events.unwrap_or_default();
            {
                let mut known = self.known.lock();
                events.iter().for_each(|event| known.reach(event.kind.name()));
                if let Some(Some(_)) = &commit.parked {
                    known.reach("a run is parked");
                    known.intruded.remove(&run);
                }
            }
            self.tell_of(run, |run| {
                let kinds: Vec<_> = events.iter().map(told).collect();
                let read = commit.consumed.0;
                let parked = match &commit.parked {
                    Some(Some(parked)) => format!(", parked: {}", parked.reason),
                    Some(None) => ", not parked any more".to_owned(),
                    None => String::new(),
                };
                format!("{run} commits, read up to {read}: {}{parked}", kinds.join(", "))
            });
            let grown = self.known.lock().born(run, &events);
            // One that is repeated, because its answer was lost, starts nothing again.
            let is_new = grown == Ok(true);
            self.grew(run, grown);
            // After its events: the very commit that decides a cancel may start a clean-up.
            for new in commit.activities.iter().filter(|new| is_new && new.start.is_some()) {
                let native = new.start.as_ref().map(|start| &start.holder);
                let native = matches!(native, Some(Holder::Native(_)));
                if native && self.has_started(run, new.activity) {
                    self.starts(run, new.activity, 1);
                }
            }
            for birth in &commit.births {
                let born = self.known.lock().born(birth.run, &birth.events);
                self.grew(birth.run, born);
                self.tell_of(birth.run, |run| format!("{run} begins"));
            }
            for post in &commit.posts {
                self.tell_of(run, |run| format!("{run} sends {}", word(&post.message)));
            }
            for (ranges, _) in &commit.cancels {
                self.tell_of(run, |run| format!("{run} cancels {ranges:?}"));
            }
        }
        self.sees_cancels(commits);
        self.look();
    }

    /// Cancels that commits have sent to other runs stand in their inboxes, if their heads say so.
    fn sees_cancels(&self, commits: &[Commit]) {
        let posts = commits.iter().flat_map(|commit| &commit.posts);
        let cancels = posts.filter(|post| matches!(post.message, Message::Cancel(_)));
        for post in cancels {
            if let bowline_core::Address::Run(run) = &post.to
                && self.is_asked(*run)
            {
                self.asks(*run, &post.message);
            }
        }
    }

    fn is_asked(&self, run: RunId) -> bool {
        let head = self.head(RunKey::Run(run));
        head.and_then(|head| head.cancel).is_some_and(|cancel| cancel.decided_at.is_none())
    }

    /// Activities were taken by a worker.
    pub(crate) fn claimed(&self, claimed: &[ClaimedActivity]) {
        for own in claimed {
            self.starts(own.run, own.activity, own.live.attempt);
        }
        self.look();
    }

    fn activities(&self, run: RunId) -> Vec<ActivityRow> {
        let read = Read { activities_max: 10_000, ..Read::head(RunKey::Run(run)) };
        let rows = at_once(self.rows.read(read)).ok().flatten().map(|read| read.activities);
        rows.unwrap_or_default()
    }

    /// Whether the row of an activity says that an attempt of it is out.
    fn has_started(&self, run: RunId, activity: EventId) -> bool {
        let rows = self.activities(run);
        let mut own = rows.iter().filter(|row| row.activity == activity);
        own.any(|row| row.live.started().is_some())
    }

    /// Whether an activity of a run has yet to end.
    pub(super) fn is_busy(&self, run: RunId) -> bool {
        let is_over = |live: &ActivityLive| live.ended().is_some() && live.unseen.is_empty();
        self.activities(run).iter().any(|row| !is_over(&row.live))
    }

    /// A row says that an attempt has started.
    fn starts(&self, run: RunId, activity: EventId, attempt: u32) {
        self.tell_of(run, |run| {
            format!("activity {activity} of {run} is handed out, attempt {attempt}")
        });
        let known = self.known.lock();
        let asked = known.runs.get(&run).is_some_and(|story| story.asked);
        let name = known.name(run);
        drop(known);
        if asked {
            let what = format!(
                "attempt {attempt} of activity {activity} of {name} is handed out while a cancel \
                 of that run waits to be decided"
            );
            self.broke("nothing begins while a cancel waits to be decided", what);
        }
    }

    /// A cancel or a termination was acknowledged, with this receipt.
    pub(crate) fn receipt(&self, receipt: ReceiptId, is_cancel: bool) {
        let Some(run) = self.receipt_run(receipt) else { return };
        self.tell_of(run, |run| {
            let what = if is_cancel { "cancel" } else { "termination" };
            format!("the {what} of {run} is acknowledged")
        });
        let mut known = self.known.lock();
        if known.receipts.iter().all(|(own, _)| *own != receipt) {
            known.receipts.push((receipt, run));
        }
        drop(known);
        self.look();
    }
}

fn told(event: &Event) -> String {
    let name = event.kind.name();
    match &event.kind {
        EventKind::ActivityCompleted(end) => format!("{} {name} {}", event.id, end.activity),
        EventKind::ActivityFailed(end) => format!("{} {name} {}", event.id, end.activity),
        EventKind::ActivityCancelled(end) => format!("{} {name} {}", event.id, end.activity),
        EventKind::ActivityTimedOut(end) => format!("{} {name} {}", event.id, end.activity),
        _ => format!("{} {name}", event.id),
    }
}

fn word(message: &Message) -> String {
    match message {
        Message::Cancel(cancel) => format!("a cancel ({})", cancel.cause),
        Message::Terminate(_) => "a termination".to_owned(),
        Message::Signal(signal) => format!("signal {:?}", signal.input),
        other => {
            let text = format!("{other:?}");
            text.chars().take(100).collect()
        }
    }
}
