//! The half of an activity's row that changes.

use minicbor::{Decode, Encode};

use crate::{
    Blob, Cause, ControlQueue, Failure, Fence, Identity, Outcome, Payload, RetryState, Rung, Time,
    Unseen,
};

/// Where an activity stands now.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ActivityLive {
    /// When it was scheduled.
    #[n(0)]
    pub scheduled_at: Time,
    /// The number of the newest attempt; 0 before the first. Never used twice.
    #[n(1)]
    pub attempt: u32,
    /// How many attempts were handed back untried; they do not count against the retry policy.
    #[n(2)]
    pub returned: u32,
    /// Queued, started or ended.
    #[n(3)]
    pub place: Place,
    /// The cancel that stands, if one does; final for all attempts.
    #[n(4)]
    pub cancel: Option<CancelRecord>,
    /// How the attempt before this one failed.
    #[n(5)]
    pub last_failure: Option<Failure>,
    /// Who ran the attempt before this one.
    #[n(6)]
    pub last_worker: Identity,
    /// What the running code said about its progress; the next attempt may read it.
    #[n(7)]
    pub heartbeat: Option<Payload>,
    /// Attempts that are over for the run, and whose end nobody has seen. Number 8 was a list that
    /// knew less.
    #[n(9)]
    pub unseen: Unseen,
    /// When the attempt before this one began and ended, if there was one that did not come back
    /// untried.
    #[n(10)]
    pub last: Option<(Time, Time)>,
}

impl ActivityLive {
    /// Queued, to be started from `due` on.
    pub fn queued(scheduled_at: Time, due: Time) -> Self {
        Self {
            scheduled_at,
            attempt: 0,
            returned: 0,
            place: Place::Queued { due },
            cancel: None,
            last_failure: None,
            last_worker: Identity::default(),
            heartbeat: None,
            unseen: Unseen::default(),
            last: None,
        }
    }

    /// The running attempt, if there is one.
    pub fn started(&self) -> Option<&Start> {
        match &self.place {
            Place::Started(start) => Some(start),
            _ => None,
        }
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<&End> {
        match &self.place {
            Place::Ended(end) => Some(end),
            _ => None,
        }
    }
}

/// The three places of an activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Place {
    /// It waits for a worker, from `due` on.
    #[n(0)]
    Queued {
        /// Not before this moment.
        #[n(0)]
        due: Time,
    },
    /// A worker has it.
    #[n(1)]
    Started(#[n(0)] Start),
    /// It has its outcome.
    #[n(2)]
    Ended(#[n(0)] Box<End>),
}

/// One attempt in a worker's hands.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Start {
    /// When it was handed out.
    #[n(0)]
    pub at: Time,
    /// What its answers must name.
    #[n(1)]
    pub holder: Holder,
    /// Who has it, as they call themselves.
    #[n(2)]
    pub worker: Identity,
    /// When it was last heard of.
    #[n(3)]
    pub heard_at: Time,
    /// From when on it could have been handed out.
    #[n(4)]
    pub due: Option<Time>,
}

/// What the answers of an attempt must name.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Holder {
    /// Code in a member's process: over when its epoch is.
    #[n(0)]
    Native(#[n(0)] Fence),
    /// A remote worker: outlives every member, known by its token alone.
    #[n(1)]
    Remote {
        /// The bytes that were handed out.
        #[n(0)]
        token: Blob,
        /// Where the worker listens for notices; empty if it does not.
        #[n(1)]
        control: ControlQueue,
    },
}

/// The cancel of an activity, and how far word of it has come.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct CancelRecord {
    /// Why; the first cause wins.
    #[n(0)]
    pub cause: Cause,
    /// When it was decided.
    #[n(1)]
    pub decided_at: Time,
    /// When the worker had it.
    #[n(2)]
    pub delivered_at: Option<Time>,
    /// When the running code looked.
    #[n(3)]
    pub observed_at: Option<Time>,
    /// When nothing of it was running any more.
    #[n(4)]
    pub stopped_at: Option<Time>,
    /// How far it had to be pushed.
    #[n(5)]
    pub rung: Option<Rung>,
}

impl CancelRecord {
    /// Just decided, told to nobody yet.
    pub fn new(cause: Cause, decided_at: Time) -> Self {
        Self {
            cause,
            decided_at,
            delivered_at: None,
            observed_at: None,
            stopped_at: None,
            rung: None,
        }
    }
}

/// The end of an activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct End {
    /// When.
    #[n(0)]
    pub at: Time,
    /// How.
    #[n(1)]
    pub outcome: Outcome,
    /// Why there was no further attempt.
    #[n(2)]
    pub retry: RetryState,
    /// What a fenced attempt still had to say; seen by people, never by the workflow. Numbers 4
    /// and 5 said what the list of unseen attempts says now.
    #[n(3)]
    pub late: Option<Outcome>,
}
