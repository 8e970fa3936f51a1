//! A door starts a run.

use std::sync::Arc;

use bowline_core::{
    Address, Begin, Birth, Blob, Cause, Conflict, EventKind, Link, Message, Name, Payload, Queue,
    RequestId, Reuse, RunId, Signal, WorkflowId, WorkflowStarted, begin, check,
};
use bowline_store::{Posted, Posting, RunKey, StartRun};

use crate::{Error, Result, engine::Core};

/// How a run is to be started.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// What it is started as; ids of runs are filled in by the engine.
    pub started: WorkflowStarted,
    /// Whether its workflow id may be used again after an earlier run closed.
    pub reuse: Reuse,
    /// What happens if a run of that workflow id is open.
    pub conflict: Conflict,
    /// A signal that comes with the start, or goes to the run that is there already.
    pub signal: Option<Signal>,
    /// What a door wants to have stored with the first event.
    pub wire: Option<Blob>,
}

/// What became of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// The run that serves.
    pub run: RunId,
    /// Whether this request began it; otherwise it was there already.
    pub is_new: bool,
}

impl StartOptions {
    /// A native run with nothing special about it.
    pub fn new(
        name: impl Into<Name>,
        workflow_id: impl Into<WorkflowId>,
        queue: impl Into<Queue>,
        input: Option<Payload>,
    ) -> Self {
        let started = WorkflowStarted {
            name: name.into(),
            workflow_id: workflow_id.into(),
            queue: queue.into(),
            input,
            ..WorkflowStarted::default()
        };
        Self { started, ..Self::default() }
    }

    /// The same, under a request id: sent twice, it starts one run.
    pub fn request(self, request_id: impl Into<RequestId>) -> Self {
        let started = WorkflowStarted { request_id: request_id.into(), ..self.started };
        Self { started, ..self }
    }
}

impl Core {
    /// Starts a run, or answers with the one that serves instead.
    pub(crate) async fn start(self: &Arc<Self>, options: StartOptions) -> Result<Started> {
        let conflict = options.conflict;
        let start = self.starting(options)?;
        if let (Some(Message::Signal(signal)), [first, ..]) =
            (&start.otherwise, &start.birth.events[..])
            && let EventKind::WorkflowStarted(started) = &first.kind
        {
            let to = Address::Current(start.birth.run.namespace, started.workflow_id.clone());
            self.check_signal(&to, signal).await?;
        }
        let started = start.birth.clone();
        let posted = self.post(Posting::Start(Box::new(start))).await;
        if let Err(Error::AlreadyStarted { run, status }) = &posted
            && conflict == Conflict::TerminateExisting
            && status.is_open()
        {
            let cause = Cause::requested("another run was started in its place", "");
            let run = self.replace(RunKey::Run(*run), started, cause).await?;
            return Ok(Started { run, is_new: true });
        }
        let posted = posted?;
        let is_new = matches!(posted, Posted::Started(_) | Posted::Repeated(_));
        Ok(Started { run: run_of(posted)?, is_new })
    }

    pub(super) fn starting(&self, mut options: StartOptions) -> Result<StartRun> {
        options.started.request_id = self.named(options.started.request_id);
        let request_id = options.started.request_id.clone();
        let conflict = options.conflict;
        let otherwise = options.signal.clone().map(|signal| Message::Signal(Box::new(signal)));
        let birth = self.birth(options)?;
        Ok(StartRun { birth, request_id, conflict, otherwise, now: self.now() })
    }

    fn birth(&self, options: StartOptions) -> Result<Birth> {
        let run = self.new_run();
        let mut started = options.started;
        started.first_run = run;
        started.original_run = run;
        check(&started)?;
        Ok(begin(Begin {
            run,
            started,
            reuse: options.reuse,
            link: Link::None,
            signals: options.signal.into_iter().collect(),
            wire: options.wire,
            now: self.now(),
        }))
    }
}

/// The run that a start has led to.
pub(super) fn run_of(posted: Posted) -> Result<RunId> {
    match posted {
        Posted::Started(run)
        | Posted::Existing(run)
        | Posted::Repeated(run)
        | Posted::Delivered(run, _) => Ok(run),
        other => Err(Error::Invalid(format!("unexpected answer to a start: {other:?}"))),
    }
}
