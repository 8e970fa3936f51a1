//! A worker's workbench: a manual clock, slots, and everything that supervisors report.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Cause, EventId, Failure, Ladder, Namespace, Payload, RunId, Span, Time, Timeouts,
};
use bowline_engine::{
    clock::{Clock, ManualClock},
    worker::{
        activity::{Assignment, Attempt, Ended, Notice, Report, Spawn, Supervision, What},
        registry::ActivityCode,
        slots::{Leaks, SlotLimits, Slots},
    },
};
use tokio::{runtime::Handle, sync::mpsc};

/// When every test begins.
pub(crate) const START: Time = Time(1_000_000_000);

/// Far longer than anything takes: only a broken program waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The moment so many seconds after the start.
pub(crate) fn at(n: u64) -> Time {
    START.after(seconds(n))
}

pub(crate) struct Bench {
    pub(crate) clock: ManualClock,
    pub(crate) slots: Slots,
    pub(crate) leaks: Leaks,
    supervision: Supervision,
    reports: mpsc::Receiver<Report>,
}

impl Bench {
    /// With so many slots, on the test's own runtime.
    pub(crate) fn new(slots: usize) -> Self {
        Self::with(slots, Arc::new(Handle::current()), 64)
    }

    /// With the code on another runtime than its supervisors, and room for so many reports.
    pub(crate) fn with(slots: usize, code: Arc<dyn Spawn>, room: usize) -> Self {
        super::log::install();
        let clock = ManualClock::new(START);
        let leaks = Leaks::new(10);
        let limits = SlotLimits { count: slots, rate: None };
        let slots = Slots::new(limits, leaks.clone(), Arc::new(clock.clone()));
        let (sender, reports) = mpsc::channel(room);
        let supervision = Supervision {
            clock: Arc::new(clock.clone()),
            code,
            watch: Arc::new(Handle::current()),
            reports: sender,
            probe: None,
            may_run: None,
        };
        Self { clock, slots, leaks, supervision, reports }
    }

    /// Starts the first attempt of a plain activity.
    pub(crate) fn start(&self, code: Arc<dyn ActivityCode>) -> Attempt {
        self.start_as(assignment(self.clock.now()), code)
    }

    pub(crate) fn start_as(&self, assignment: Assignment, code: Arc<dyn ActivityCode>) -> Attempt {
        let permit = self.slots.take(1).pop().expect("a slot is free");
        self.supervision.start(assignment, code, permit)
    }

    /// Code is polled only while this says so.
    pub(crate) fn asks(&mut self, may_run: impl Fn() -> bool + Send + Sync + 'static) {
        self.supervision.may_run = Some(Arc::new(may_run));
    }

    pub(crate) fn supervision(&self) -> &Supervision {
        &self.supervision
    }

    pub(crate) fn advance(&self, n: u64) {
        self.clock.advance(seconds(n));
    }

    /// The next report.
    pub(crate) async fn report(&mut self) -> Report {
        within(self.reports.recv()).await.expect("the bench itself holds a sender")
    }

    /// What the next report says.
    pub(crate) async fn next(&mut self) -> What {
        self.report().await.what
    }

    /// The end of an attempt, and nothing else may come before it.
    pub(crate) async fn ended(&mut self) -> Ended {
        match self.next().await {
            What::Ended(ended) => ended,
            other => panic!("not the end: {other:?}"),
        }
    }

    /// The end of an attempt, whatever comes before it.
    pub(crate) async fn ended_at_last(&mut self) -> Ended {
        loop {
            if let What::Ended(ended) = self.next().await {
                return ended;
            }
        }
    }

    /// Nobody listens to reports any more.
    pub(crate) fn stop_listening(&mut self) {
        self.reports.close();
    }

    /// Lets everything that can go on do so, and then checks that nothing was reported.
    pub(crate) async fn assert_silent(&mut self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        if let Ok(report) = self.reports.try_recv() {
            panic!("nobody should have said {:?}", report.what);
        }
    }
}

/// Waits, but not for ever.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("nothing here takes this long")
}

/// The first attempt of a plain activity, handed out at `now`. Grace 10 s, step 5 s.
pub(crate) fn assignment(now: Time) -> Assignment {
    assignment_of(spec(), now)
}

pub(crate) fn assignment_of(spec: ActivitySpec, now: Time) -> Assignment {
    Assignment {
        run: RunId { namespace: Namespace(1), uuid: 0xA },
        activity: EventId(5),
        attempt: 1,
        fence: bowline_core::Fence::default(),
        spec: Arc::new(spec),
        workflow_id: "order-42".into(),
        workflow: "checkout".into(),
        scheduled_at: now,
        started_at: now,
        deadline: None,
        heartbeat: None,
        last_failure: None,
    }
}

pub(crate) fn spec() -> ActivitySpec {
    let ladder = ladder(10, 5, false);
    ActivitySpec { name: "charge".into(), queue: "main".into(), ladder, ..Default::default() }
}

pub(crate) fn ladder(grace: u64, step: u64, detach: bool) -> Ladder {
    Ladder { grace: Span(seconds(grace)), step: Span(seconds(step)), detach }
}

/// A plain activity with limits, given in seconds.
pub(crate) fn limited(set: impl FnOnce(&mut Timeouts)) -> ActivitySpec {
    let mut spec = spec();
    set(&mut spec.timeouts);
    spec
}

pub(crate) fn span(n: u64) -> Option<Span> {
    Some(Span(seconds(n)))
}

pub(crate) fn json(text: &str) -> Option<Payload> {
    Some(Payload::json(text))
}

/// A failure whose details say `text`.
pub(crate) fn failure(text: &str) -> Failure {
    Failure { details: json(text), ..Failure::new("no") }
}

pub(crate) fn cancel(by: &str) -> Notice {
    Notice::Cancel { cause: Cause::requested("enough", by), decided_at: START, ladder: None }
}

pub(crate) fn cancel_with(by: &str, ladder: Ladder) -> Notice {
    let cause = Cause::requested("enough", by);
    Notice::Cancel { cause, decided_at: START, ladder: Some(ladder) }
}
