//! Reading one run.

use bowline_core::{
    ActivityLive, ActivitySpec, Alarm, Batch, Birth, Blob, Cause, CommitId, Event, EventId,
    EventKind, Fence, Fields, Message, Name, Namespace, Number, Parked, Queue, Received, Rules,
    RunId, RunLadder, SearchAttributes, Status, Time, TurnRecord, UnreadSize, Version, WorkflowId,
    WorkflowStarted,
    planted::{Defect, planted},
};

use minicbor::{Decode, Encode};

use crate::{Commit, Error, Result};

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunKey {
    /// Exactly this one.
    Run(RunId),
    /// The newest run of a workflow id.
    Current(Namespace, WorkflowId),
    /// The newest run of a chain, which is known by its first run, whether or not that is still
    /// there. Any other run of it will do as long as it is there.
    Chain(RunId),
}

/// What to read of a run.
#[derive(Clone, Debug)]
pub struct Read {
    /// Which run.
    pub run: RunKey,
    /// Events from this one on; the batch that holds it comes whole. None for no events.
    pub events_from: Option<EventId>,
    /// Begin at the newest snapshot instead, if there is one after `events_from`.
    pub snapshot: bool,
    /// At most this many batches.
    pub batches_max: usize,
    /// The unread inbox too.
    pub inbox: bool,
    /// The rows of its activities too, this many at most.
    pub activities_max: usize,
}

impl Read {
    /// Only the head of the run.
    pub fn head(run: RunKey) -> Self {
        Self {
            run,
            events_from: None,
            snapshot: false,
            batches_max: usize::MAX,
            inbox: false,
            activities_max: 0,
        }
    }

    /// The whole history, and what waits in the inbox.
    pub fn whole(run: RunId) -> Self {
        Self { events_from: Some(EventId(1)), inbox: true, ..Self::head(RunKey::Run(run)) }
    }

    /// What waits in the inbox.
    pub fn inbox(run: RunId) -> Self {
        Self { inbox: true, ..Self::head(RunKey::Run(run)) }
    }

    /// Enough to decide without running code: from the newest snapshot on, and the inbox.
    pub fn state(run: RunId) -> Self {
        Self { snapshot: true, ..Self::whole(run) }
    }
}

/// What was read.
#[derive(Clone, Debug)]
pub struct RunRead {
    /// The run's row.
    pub head: Head,
    /// The newest snapshot, if one was asked for and there is one.
    pub snapshot: Option<Snapshot>,
    /// History, ascending.
    pub batches: Vec<Batch>,
    /// Unread messages, ascending.
    pub inbox: Vec<Received>,
    /// Rows of activities, ascending.
    pub activities: Vec<ActivityRow>,
}

/// The state of a run after an event, in an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The event.
    pub at: EventId,
    /// The state.
    pub bytes: Blob,
}

/// One row of the activities of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityRow {
    /// Its run.
    pub run: RunId,
    /// Its number.
    pub activity: EventId,
    /// What never changes.
    pub spec: ActivitySpec,
    /// What does.
    pub live: ActivityLive,
}

/// The row of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its id.
    pub run: RunId,
    /// The user's name for its chain.
    pub workflow_id: WorkflowId,
    /// The workflow.
    pub name: Name,
    /// Where its turns wait.
    pub queue: Queue,
    /// Whose rules its history follows.
    pub rules: Rules,
    /// Where it stands.
    pub status: Status,
    /// How many commits it has seen.
    pub version: Version,
    /// The newest of them.
    pub last_commit: CommitId,
    /// The number of the newest message.
    pub inbox: Number,
    /// The number of the newest message that was consumed.
    pub consumed: Number,
    /// The number of the newest message that is taken even while a worker has the turn; see
    /// [`Message::cuts_in`](bowline_core::Message::cuts_in).
    pub cut_in: Number,
    /// The id of the next event.
    pub next_event: EventId,
    /// What a remote run keeps beside its history.
    pub record: TurnRecord,
    /// When it began.
    pub started_at: Time,
    /// When it closed.
    pub closed_at: Option<Time>,
    /// What it was started with for the case that it stays open after it was asked to cancel.
    pub ladder: Option<RunLadder>,
    /// Its parent, and the parent's `ChildInitiated`.
    pub parent: Option<(RunId, EventId)>,
    /// The run at the top of its tree; itself if it has no parent.
    pub root: RunId,
    /// The first run of its chain.
    pub first_run: RunId,
    /// Which run of its chain it is, from 1.
    pub link: u32,
    /// The first run of the chain at the top of its tree; of its own chain if that has no parent.
    pub tree: RunId,
    /// For a fork: the run whose first events it has, and the last of these. Children that were
    /// open there are its own.
    pub forked: Option<(RunId, EventId)>,
    /// The run that goes on in its place.
    pub successor: Option<RunId>,
    /// The cancel that was requested of it.
    pub cancel: Option<RunCancel>,
    /// Its search attributes.
    pub search: SearchAttributes,
    /// Its memo.
    pub memo: Fields,
    /// Set while it waits for somebody whose code can go on with it.
    pub parked: Option<Parked>,
    /// The lease of the member that works on it.
    pub holder: Option<Fence>,
    /// About how many bytes its history takes.
    pub history_bytes: u64,
    /// Its rows go as soon as nothing of its subtree is left.
    pub deleted: bool,
}

impl Head {
    /// Whether no attempt of the run may begin: a cancel or a termination of it was acknowledged,
    /// and nobody has decided yet what that means. Nothing is cancelled by it: what the decision
    /// spares goes on after it.
    pub fn withholds(&self) -> bool {
        let asked = self.cancel.as_ref().is_some_and(|own| own.is_undecided(self.consumed));
        let waits = asked || self.cut_in > self.consumed;
        self.status.is_open() && waits && !planted(Defect::BeginsUndecided)
    }

    /// How many messages wait whose bytes must be known before this one is taken; none if nothing
    /// need be known.
    pub fn must_weigh(&self, message: &Message) -> Option<u64> {
        let Message::Signal(signal) = message else { return None };
        let waiting = self.inbox.0 - self.consumed.0;
        let weighs = self.rules.unread_go_on() && UnreadSize::must_weigh(waiting, signal);
        weighs.then_some(waiting)
    }

    /// Whether a message may be put into the inbox, where `bytes` wait: there is a bound to signals
    /// that go on with the chain, whoever sends them.
    ///
    /// # Errors
    /// [`Error::Refused`] if it may not.
    pub fn admit(&self, message: &Message, bytes: u64) -> Result<()> {
        let Message::Signal(signal) = message else { return Ok(()) };
        if !self.rules.unread_go_on() {
            return Ok(());
        }
        let waiting = UnreadSize { count: self.inbox.0 - self.consumed.0, bytes };
        let unread = self.record.unread.unwrap_or_default();
        unread.admit(waiting, signal).map_err(Error::Refused)
    }

    /// Whether the run may still change.
    ///
    /// # Errors
    /// If it is closed.
    pub fn check_open(&self) -> Result<()> {
        let Self { run, status, successor, .. } = *self;
        match status.is_open() {
            true => Ok(()),
            false => Err(Error::Closed { run, status, successor }),
        }
    }

    /// Why nobody works on the run: it is open, and whoever has tried could not go on with it.
    /// While somebody holds it, it is being tried, or goes on; others are told when it is let go.
    pub fn why_parked(&self) -> Option<&Parked> {
        let is_free = self.status.is_open() && self.holder.is_none();
        self.parked.as_ref().filter(|_| is_free)
    }

    /// Whether nobody works on the run, because its code cannot go on.
    pub fn is_parked(&self) -> bool {
        self.why_parked().is_some()
    }

    /// Takes in a decision that was written.
    pub fn take(&mut self, commit: &Commit) {
        let is_read = commit.consumed > self.consumed;
        self.version.0 += 1;
        self.last_commit = commit.id;
        self.consumed = self.consumed.max(commit.consumed);
        self.status = commit.status;
        self.next_event = commit.next_event;
        self.history_bytes = commit.history_bytes;
        self.record.clone_from(&commit.record);
        if let Some(cancel) = &commit.cancel {
            let asked = self.cancel.take().map(|own| (own.requested_at, own.number));
            let (requested_at, number) = asked.unwrap_or((cancel.requested_at, cancel.number));
            self.cancel = Some(RunCancel { requested_at, number, ..cancel.clone() });
        }
        // Its code could go on with something new, whether or not it had anything to say.
        if commit.fence.is_some() && (commit.batch.is_some() || is_read) {
            self.parked = None;
        }
        if let Some(parked) = &commit.parked {
            self.parked.clone_from(parked);
        }
        if let Some(search) = &commit.search {
            self.search.clone_from(search);
        }
        if let Some(memo) = &commit.memo {
            self.memo.clone_from(memo);
        }
        if commit.release || commit.close.is_some() {
            self.holder = None;
        }
        if let Some(close) = &commit.close {
            self.closed_at = Some(commit.now);
            self.parked = None;
            self.successor = close.successor;
            self.deleted = close.delete;
        }
    }

    /// Takes in a message that is put into the inbox: its number, and the alarm that is set with
    /// it.
    pub fn receive(&mut self, message: &Message, at: Time) -> (Number, Option<Alarm>) {
        self.inbox.0 += 1;
        let number = self.inbox;
        if message.cuts_in() {
            self.cut_in = number;
        }
        let stands = self.cancel.as_ref().is_some_and(|own| own.stands(self.consumed));
        let alarm = message.arms(self.ladder, !stands, at);
        let alarm = alarm.filter(|_| !planted(Defect::ParkedLadder));
        if let (Message::Cancel(cancel), false) = (message, stands) {
            let (cause, number) = (cancel.cause.clone(), Some(number));
            self.cancel = Some(RunCancel { cause, requested_at: at, decided_at: None, number });
        }
        (number, alarm)
    }

    /// The row of a run that begins now, beside the event that says how. Its inbox is empty; a
    /// birth that wakes gets its first message after this.
    ///
    /// # Errors
    /// If the birth does not begin with `WorkflowStarted`.
    pub fn born(birth: &Birth) -> Result<(Self, &WorkflowStarted)> {
        let [Event { kind: EventKind::WorkflowStarted(started), time, .. }, ..] = &birth.events[..]
        else {
            return Err(Error::Invalid(format!("run {} has no first event", birth.run)));
        };
        let run = birth.run;
        let first_run = Some(started.first_run).filter(|first| first.uuid != 0).unwrap_or(run);
        let next_event = birth.events.last().map_or(EventId(1), |event| event.id.plus(1));
        let head = Self {
            run,
            workflow_id: started.workflow_id.clone(),
            name: started.name.clone(),
            queue: started.queue.clone(),
            rules: started.rules,
            status: Status::Running,
            version: Version(1),
            last_commit: CommitId::default(),
            inbox: Number(0),
            consumed: Number(0),
            cut_in: Number(0),
            next_event,
            record: birth.record.clone(),
            started_at: *time,
            closed_at: None,
            ladder: started.ladder,
            parent: started.parent.as_ref().map(|parent| (parent.run, parent.initiated)),
            root: started.root.as_ref().map_or(run, |(root, _)| *root),
            first_run,
            link: started.link.unwrap_or(1),
            tree: started.tree.unwrap_or(first_run),
            forked: forked(birth),
            successor: None,
            cancel: None,
            search: started.search.clone(),
            memo: started.memo.clone(),
            parked: None,
            holder: None,
            history_bytes: birth.events.iter().map(|event| started.rules.weigh(event)).sum(),
            deleted: false,
        };
        Ok((head, started))
    }
}

impl Head {
    /// The tree under which it is found while it is not over. The first run of a tree is found
    /// without: its id is the tree's.
    pub fn kin(&self) -> Option<RunId> {
        Some(self.tree).filter(|tree| *tree != self.run)
    }

    /// The chain under which it is found; none for the first run, whose id is the chain's.
    pub fn chain(&self) -> Option<RunId> {
        Some(self.first_run).filter(|first| *first != self.run)
    }
}

/// Where a run was forked from, as its first events tell.
fn forked(birth: &Birth) -> Option<(RunId, EventId)> {
    birth.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::TurnFailed(failed) => {
            let forked = failed.forked.filter(|(_, new)| *new == birth.run);
            forked.map(|(old, _)| (old, failed.started))
        }
        _ => None,
    })
}

/// How far a cancel of a run has come.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct RunCancel {
    /// Why, and by whom; the first request.
    #[n(0)]
    pub cause: Cause,
    /// When it was asked for.
    #[n(1)]
    pub requested_at: Time,
    /// When it stood in history.
    #[n(2)]
    pub decided_at: Option<Time>,
    /// The number of the message that asked for it; none if nobody asked.
    #[n(3)]
    pub number: Option<Number>,
}

impl RunCancel {
    /// Whether it waits to be decided: the request is not read where so much is consumed.
    pub fn is_undecided(&self, consumed: Number) -> bool {
        self.decided_at.is_none() && self.number.is_some_and(|number| number > consumed)
    }

    /// Whether it counts: a request that was read, and came to nothing, does not.
    fn stands(&self, consumed: Number) -> bool {
        self.decided_at.is_some() || self.is_undecided(consumed)
    }
}
