//! Processes that have the store open, and what they report.

use std::time::Duration;

use bowline_core::{
    Blob, Cause, ControlQueue, Epoch, EventId, Fence, Holder, Identity, Payload, RunId, Time,
};

use crate::{AttemptHit, DamagedRun};

/// A process enters.
#[derive(Clone, Debug)]
pub struct Join {
    /// What it calls itself: host and process, for people.
    pub identity: Identity,
    /// How long it may be silent.
    pub lease: Duration,
    /// Now.
    pub now: Time,
    /// Who it was, if it enters again because others had given it up. Whoever was replaced, by
    /// somebody who entered through the same store since, does not: it is answered with
    /// [`Fenced`](crate::Error::Fenced).
    pub again: Option<Epoch>,
    /// With `again`: code that was begun under that name is known to run on here. What else was
    /// begun under it has ended.
    pub runs_on: bool,
    /// Which process it is, where that can be known.
    pub process: Option<Process>,
}

impl Join {
    /// Enters for the first time.
    pub fn new(identity: impl Into<Identity>, lease: Duration, now: Time) -> Self {
        let (again, runs_on, process) = (None, false, None);
        Self { identity: identity.into(), lease, now, again, runs_on, process }
    }
}

/// Which process a member is, so that others on the same host can see whether it is still there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// The name of its host.
    pub host: String,
    /// What tells this life of the host's system, and the view of processes in it, from others.
    pub boot: String,
    /// Its number there.
    pub pid: u32,
    /// When it was started, by the system's own count: numbers are used again.
    pub started: u64,
}

/// A member that others have given up, and of which nobody has seen the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentMember {
    /// Which opening of the store it was.
    pub epoch: Epoch,
    /// What it calls itself.
    pub identity: Identity,
    /// Which process it is, if it said so.
    pub process: Option<Process>,
}

/// Somebody says that processes are gone which had fallen silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attest {
    /// Which ones.
    pub whom: Whom,
    /// How that is known.
    pub witness: Witness,
    /// Now.
    pub now: Time,
}

/// Members, by what is known of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// This opening of the store.
    Epoch(Epoch),
    /// All that call themselves so.
    Identity(Identity),
    /// All of a host.
    Host(String),
}

/// How it is known that a process is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// A member on the same host has looked.
    Host,
    /// A person says so, and is named.
    Person(Identity),
}

/// What was found under that name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attested {
    /// These had fallen silent, and count as gone now.
    pub gone: Vec<(Epoch, Identity)>,
    /// These are in touch, so nobody is believed who says that they are gone.
    pub alive: Vec<(Epoch, Identity)>,
}

/// It is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The number of this opening; never used before.
    pub epoch: Epoch,
}

/// Names an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptRef {
    /// Its run.
    pub run: RunId,
    /// Its activity.
    pub activity: EventId,
    /// Which attempt.
    pub attempt: u32,
}

/// That a reporter is the one who has the attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The lease of native code.
    Native(Fence),
    /// The bytes that a remote worker was handed.
    Remote(Blob),
    /// None: nobody has the attempt, it is the next one of an activity that waits. Who reports it
    /// knows its end from elsewhere, and is believed.
    Outside(Identity),
}

impl Proof {
    /// True if this is what the answers of that holder must name. Of a native one the epoch must
    /// also be alive, which only the store knows.
    pub fn fits(&self, holder: &Holder) -> bool {
        match (self, holder) {
            (Self::Native(shown), Holder::Native(fence)) => shown == fence,
            (Self::Remote(shown), Holder::Remote { token, .. }) => shown == token,
            // It was begun with its very report.
            (Self::Outside(_), Holder::Remote { .. }) => true,
            _ => false,
        }
    }
}

/// A running attempt is alive.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// Which attempt.
    pub attempt: AttemptRef,
    /// That the reporter has it.
    pub proof: Proof,
    /// What it says about its progress; unset leaves what it said before.
    pub details: Option<Payload>,
}

/// A member, or a remote worker through one, reports.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// Which member.
    pub epoch: Epoch,
    /// How long it may be silent from now on.
    pub lease: Duration,
    /// Now.
    pub now: Time,
    /// Attempts that are alive.
    pub heartbeats: Vec<Heartbeat>,
    /// Cancels that have reached a worker, or its code.
    pub sightings: Vec<Sighting>,
    /// Control queues whose workers have come for their notices to this member: what was decided
    /// and never delivered to them is answered too.
    pub controls: Vec<ControlQueue>,
    /// It wants to know which attempts are its own (it may have taken some without hearing of it),
    /// and whether other members are alive.
    pub inventory: bool,
    /// It leaves: whatever it still holds is lost at once.
    pub leave: bool,
    /// With `leave`: code that was given up is known to run on in its process.
    pub runs_on: bool,
}

impl Renewal {
    /// It is alive, and has nothing to say besides.
    pub fn new(epoch: Epoch, lease: Duration, now: Time) -> Self {
        Self {
            epoch,
            lease,
            now,
            heartbeats: Vec::new(),
            sightings: Vec::new(),
            controls: Vec::new(),
            inventory: false,
            leave: false,
            runs_on: false,
        }
    }
}

/// Broadcast of a cancel has come this far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Which attempt.
    pub attempt: AttemptRef,
    /// When the worker had it.
    pub delivered_at: Time,
    /// When the running code looked.
    pub observed_at: Option<Time>,
}

/// What a member is answered.
#[derive(Clone, Debug, Default)]
pub struct Renewed {
    /// For each heartbeat, whether the attempt goes on.
    pub heartbeats: Vec<HeartbeatReply>,
    /// Every cancel that stands against an attempt of this member, told or not; then those that
    /// stand against remote attempts of the control queues and were not delivered yet.
    pub cancels: Vec<AttemptHit>,
    /// If it was asked for, every activity that has a started attempt of this member, whether its
    /// run is open or not.
    pub inventory: Vec<(RunId, EventId)>,
    /// Runs that were set aside, because something of them does not read. Heartbeats of their
    /// attempts are answered with [`HeartbeatReply::Gone`] where their own rows do not.
    pub damaged: Vec<DamagedRun>,
    /// If that was asked for, whether other members are alive.
    pub others: bool,
    /// Which past the rows are of. Another number than the last time says that a standby may have
    /// taken over that had not heard of everything: what the member holds in memory, and what
    /// stands in its name, may be of different pasts.
    pub past: u64,
}

/// Whether an attempt goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum HeartbeatReply {
    /// It goes on.
    Alive,
    /// It is cancelled.
    Cancelled(Cause),
    /// It is not the reporter's any more.
    Gone,
}
