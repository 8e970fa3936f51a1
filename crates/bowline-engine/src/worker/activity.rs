//! The supervisor of one attempt: runs the code, tells it to stop, climbs the ladder, reports.
//!
//! In:    an [`Assignment`], its code and a slot; later, [`Notice`]s.
//! Out:   [`Report`]s: what reached the code, what the code said, how the attempt ended, and what
//!        could not be stopped. Exactly one of them is an `Ended`.
//! Never: stops healthy code by itself. Only a notice, a limit of the activity or a lost lease do;
//!        a store that is out of reach does not, before a lease is over.

mod cage;
mod context;
mod ending;
mod ladder;
mod notice;
mod outbox;
mod panic;
mod probe;
mod process;
mod report;
mod run;
mod shared;
mod spawn;
mod supervise;
mod tracked;

use std::{fmt, sync::Arc, time::Duration};

use bowline_core::{
    ActivityLive, ActivitySpec, Ending, EventId, Failure, Fence, Holder, Identity, Name, Payload,
    RunId, Time, Timeout, WorkflowId,
};
use tokio::sync::mpsc;

use super::{registry::ActivityCode, slots::Permit};
use crate::{
    clock::Clock,
    engine::exchange::{OfferedEnd, Settle},
};

use shared::{AttemptShared, Hooks};
use supervise::Supervisor;

pub use context::{ActivityContext, Gone, Spawned};
pub use notice::Notice;
pub use probe::{Passing, Probe};
pub use process::{ChildProcess, OUTPUT_MAX, Orphan, ProcessMark, kill_orphan};
pub(crate) use process::{HostRow, host_row, host_view};
pub use report::{Ended, Leak, Report, What};
pub use spawn::Spawn;

/// Code that heartbeats more often than this is reported less often than it speaks: the newest
/// word always arrives, the words between may not.
pub const HEARTBEAT_PAUSE: Duration = Duration::from_millis(500);

/// Names an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptKey {
    /// Its run.
    pub run: RunId,
    /// Its activity.
    pub activity: EventId,
    /// Which attempt, from 1.
    pub attempt: u32,
}

/// One attempt, to be run here. Its start is durable already.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The run that it belongs to.
    pub run: RunId,
    /// The activity's number.
    pub activity: EventId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// What its reports are proven by.
    pub fence: Fence,
    /// What the activity is.
    pub spec: Arc<ActivitySpec>,
    /// Its run's workflow id.
    pub workflow_id: WorkflowId,
    /// Its run's workflow.
    pub workflow: Name,
    /// When the activity was scheduled.
    pub scheduled_at: Time,
    /// When this attempt was handed out.
    pub started_at: Time,
    /// When somebody will cancel it, if that is known; the code may ask, nothing is enforced.
    pub deadline: Option<Time>,
    /// What the attempts before said about their progress.
    pub heartbeat: Option<Payload>,
    /// How the attempt before this one failed.
    pub last_failure: Option<Failure>,
}

impl Assignment {
    /// The name of this attempt.
    pub fn key(&self) -> AttemptKey {
        AttemptKey { run: self.run, activity: self.activity, attempt: self.attempt }
    }

    /// The next limit that passes if the code was last heard of at `heard_at`.
    fn limit(&self, heard_at: Time) -> Option<(Time, Timeout)> {
        let limits = &self.spec.timeouts;
        let heartbeat = limits.heartbeat.map(|span| (heard_at.after(span.0), Timeout::Heartbeat));
        self.end().into_iter().chain(heartbeat).min()
    }

    /// The next limit that passes whatever the code says.
    fn end(&self) -> Option<(Time, Timeout)> {
        let limits = &self.spec.timeouts;
        let one = limits
            .start_to_close
            .map(|span| (self.started_at.after(span.0), Timeout::StartToClose));
        let all = limits
            .schedule_to_close
            .map(|span| (self.scheduled_at.after(span.0), Timeout::ScheduleToClose));
        one.into_iter().chain(all).min()
    }
}

/// What every supervisor of a worker needs.
#[derive(Clone)]
pub struct Supervision {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Runs users' code.
    pub code: Arc<dyn Spawn>,
    /// Runs the supervisors. Where this is another runtime than the one of the code, code that
    /// blocks its runtime cannot keep the ladder from being climbed.
    pub watch: Arc<dyn Spawn>,
    /// Where the reports go. A supervisor waits where this is full, and keeps its slot meanwhile.
    pub reports: mpsc::Sender<Report>,
    /// Sees attempts pass points; nobody does, outside tests.
    pub probe: Option<Arc<dyn Probe>>,
    /// Hooks before every poll of code; unset, nobody is.
    pub may_run: Option<MayRun>,
}

/// Whether this process may run code now. Where it may not, the code is dropped and not polled,
/// unless its ladder says that it is detached.
pub type MayRun = Arc<dyn Fn() -> bool + Send + Sync>;

impl Supervision {
    /// Runs an attempt and supervises it until nothing of it is left.
    pub fn start(
        &self,
        assignment: Assignment,
        code: Arc<dyn ActivityCode>,
        permit: Permit,
    ) -> Attempt {
        self.start_told(assignment, code, permit, [])
    }

    /// As [`start`](Self::start), for an attempt about which notices have come already: if there
    /// are any, its code never runs, and it ends as it would have if it had stopped at once.
    pub fn start_told(
        &self,
        assignment: Assignment,
        code: Arc<dyn ActivityCode>,
        mut permit: Permit,
        notices: impl IntoIterator<Item = Notice>,
    ) -> Attempt {
        panic::record_places();
        permit.mark_used();
        let (clock, spawn) = (Arc::clone(&self.clock), Arc::clone(&self.code));
        let contexts = Arc::new(());
        let may_run = self.may_run.clone().filter(|_| !assignment.spec.ladder.detach);
        let asked = Hooks { probe: self.probe.clone(), may_run };
        let shared = AttemptShared::new(assignment, clock, spawn, asked, Arc::downgrade(&contexts));
        log!(debug, shared.assignment, "the attempt begins");
        for notice in notices {
            shared.tell(notice);
        }
        let ctx = ActivityContext::new(Arc::clone(&shared), contexts);
        let supervisor = Supervisor::new(Arc::clone(&shared), permit, self.reports.clone());
        supervisor.begin_supervising(&self.watch);
        self.code.spawn(Box::pin(run::run(Arc::clone(&shared), ctx, code)));
        Attempt { shared }
    }
}

/// An attempt that runs here: where its notices go. Dropping it changes nothing.
#[derive(Clone)]
pub struct Attempt {
    shared: Arc<AttemptShared>,
}

impl Attempt {
    /// Which attempt this is.
    pub fn key(&self) -> AttemptKey {
        self.shared.assignment.key()
    }

    /// What its reports are proven by.
    pub fn fence(&self) -> Fence {
        self.shared.assignment.fence
    }

    /// Tells the code, at once and on the caller's thread. False if it had ended before: the
    /// notice changes nothing then. The same notice may come any number of times.
    pub fn tell(&self, notice: Notice) -> bool {
        self.shared.tell(notice)
    }

    /// What a report will say of it, as long as its row is as the worker knows it.
    pub(crate) fn offer_end(&self, worker: Identity, report: Settle) -> Option<OfferedEnd> {
        let assignment = &self.shared.assignment;
        if !matches!(report.ending, Ending::Completed(_)) || self.shared.has_spoken() {
            return None;
        }
        let mut live = ActivityLive {
            attempt: assignment.attempt - 1,
            heartbeat: assignment.heartbeat.clone(),
            last_failure: assignment.last_failure.clone(),
            ..ActivityLive::queued(assignment.scheduled_at, assignment.scheduled_at)
        };
        let holder = Holder::Native(assignment.fence);
        bowline_core::start(&mut live, holder, worker, assignment.started_at);
        OfferedEnd::new(&assignment.spec, &live, report)
    }

    /// Whether its code has ended; its end may not have been reported yet.
    pub fn has_ended(&self) -> bool {
        self.shared.has_ended()
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attempt").field(&self.key()).finish()
    }
}

/// A line in the log about an attempt, always with the same fields.
macro_rules! log {
    ($level:ident, $assignment:expr, $($rest:tt)+) => {
        tracing::$level!(
            run = %$assignment.run,
            activity = %$assignment.activity,
            name = %$assignment.spec.name,
            attempt = $assignment.attempt,
            $($rest)+
        )
    };
}
use log;

/// Why an attempt is told that its worker shuts down.
pub(crate) fn drain_cause(reason: String) -> bowline_core::Cause {
    bowline_core::Cause::new(bowline_core::Code::WorkerDrain).detail(reason)
}
