//! A door starts a run.

use std::sync::Arc;

use bowline_core::{
    Address, Begin, Birth, Blob, Cause, Conflict, EventKind, Fence, Link, Message, Name, Namespace,
    Number, Payload, Queue, Received, RequestId, Reuse, RunId, Signal, Span, StartTurn, Time,
    WorkflowId, WorkflowStarted, begin_run_with, check,
};
use bowline_store::{Head, Posted, Posting, RunKey, StartRun};

use crate::{
    Error, Result,
    engine::{
        EngineInner,
        exchange::{LocalWorker, TurnLease},
        follow::RunEnd,
        remote::WaitingPoll,
    },
    limits,
};

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
    /// A remote worker that takes the first turn in the same breath.
    pub worker: Option<StartTurn>,
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

impl EngineInner {
    /// Starts a run, or answers with the one that serves instead.
    pub(crate) async fn start(
        self: &Arc<Self>,
        namespace: Namespace,
        mut options: StartOptions,
    ) -> Result<Started> {
        let conflict = options.conflict;
        if options.started.rules.is_native() {
            return self.start_as(self.starting(namespace, options)?, conflict).await;
        }
        let own = (options.started.workflow_id.clone(), options.started.queue.clone());
        let poll = self.first_poll(namespace, &options);
        if let Some(poll) = &poll {
            options.worker = Some(poll.start.clone());
        }
        let start = self.starting(namespace, options)?;
        let end = self.followers.follow_small(start.birth.run, limits::NEW_RUN_BYTES);
        let inner = self.clone();
        // The poll must have what is durable, whether or not anybody waits for this.
        let starting = async move {
            let (run, birth) = (start.birth.run, poll.is_some().then(|| start.birth.clone()));
            let started = inner.start_as(start, conflict).await?;
            if started.run != run {
                return Ok(started);
            }
            if let Some(end) = end {
                inner.new_runs.keep(own.0, own.1, end);
            }
            if let Some((birth, poll)) = birth.zip(poll) {
                inner.deliver_first(birth, poll).await?;
            }
            Ok(started)
        };
        self.insist(starting).await
    }

    /// A poll that waits for the first turn of a run which is about to begin.
    fn first_poll(&self, namespace: Namespace, options: &StartOptions) -> Option<WaitingPoll> {
        let started = &options.started;
        let begins_at_once = started.delay.is_none() && started.cron.is_empty();
        let is_plain = options.worker.is_none() && options.conflict != Conflict::TerminateExisting;
        match begins_at_once && is_plain {
            true => self.waiting(namespace, &started.queue),
            false => None,
        }
    }

    /// The same, and follows the run to its end from before its beginning; not one that was there
    /// already.
    pub(crate) async fn start_followed(
        self: &Arc<Self>,
        namespace: Namespace,
        options: StartOptions,
    ) -> Result<(RunId, Option<RunEnd>)> {
        let conflict = options.conflict;
        let start = self.starting(namespace, options)?;
        let end = self.followers.follow_new(start.birth.run);
        let run = self.start_as(start, conflict).await?.run;
        Ok((run, end.filter(|end| end.run == run)))
    }

    async fn start_as(self: &Arc<Self>, start: StartRun, conflict: Conflict) -> Result<Started> {
        if let (Some(Message::Signal(signal)), [first, ..]) =
            (&start.otherwise, &start.birth.events[..])
            && let EventKind::WorkflowStarted(started) = &first.kind
            && started.rules.signals_max().is_some()
        {
            let to = Address::Current(start.birth.run.namespace, started.workflow_id.clone());
            self.check_signal(&to, signal).await?;
        }
        let replaces = conflict == Conflict::TerminateExisting;
        let instead = replaces.then(|| start.birth.clone());
        let posted = Box::pin(self.post_start(start)).await;
        if let (Err(Error::AlreadyStarted { run, status }), Some(instead)) = (&posted, instead)
            && status.is_open()
        {
            let cause = Cause::requested("another run was started in its place", "");
            let run = self.replace(RunKey::Run(*run), instead, cause).await?;
            return Ok(Started { run, is_new: true });
        }
        let posted = posted?;
        let is_new = matches!(posted, Posted::Started(_) | Posted::Repeated(_));
        Ok(Started { run: run_of(posted)?, is_new })
    }

    pub(super) fn starting(
        &self,
        namespace: Namespace,
        mut options: StartOptions,
    ) -> Result<StartRun> {
        options.started.request_id = self.named(options.started.request_id);
        let request_id = options.started.request_id.clone();
        let conflict = options.conflict;
        let otherwise = options.signal.clone().map(|signal| Message::Signal(Box::new(signal)));
        let birth = self.birth(namespace, options)?;
        Ok(StartRun { birth, request_id, conflict, otherwise, hold: None, now: self.now() })
    }

    /// Begins a run. Where the local worker has room for it, that worker holds it from the start,
    /// and nobody has to claim it.
    async fn post_start(self: &Arc<Self>, mut start: StartRun) -> Result<Posted> {
        self.check_open()?;
        let own = start.birth.run.namespace == self.settings.namespace;
        let poll = self.local.get().filter(|_| own).and_then(|local| {
            let fence = local.expect(&start.birth)?;
            Some((local, fence, start.birth.clone()))
        });
        start.hold = poll.as_ref().map(|(_, fence, _)| *fence);
        let now = start.now;
        let posting = Posting::Start(Box::new(start));
        let Some((local, fence, birth)) = poll else { return self.post(posting).await };
        let run = birth.run;
        let lease = first_lease(birth, fence, now).inspect_err(|_| local.unexpect(run, fence))?;
        // The worker expects it: somebody must tell it what came of that.
        let inner = self.clone();
        self.insist(async move { inner.post_expected(posting, local, lease).await }).await
    }

    /// Begins a run that the local worker expects.
    async fn post_expected(
        self: Arc<Self>,
        posting: Posting,
        local: Arc<dyn LocalWorker>,
        lease: TurnLease,
    ) -> Result<Posted> {
        let (run, fence) = (lease.run, lease.fence);
        let (posted, lease) = self.post_ahead(posting, &local, lease).await;
        match (&posted, lease) {
            // Said twice, because the first answer was lost: it is the same run.
            (Ok(Posted::Started(begun) | Posted::Repeated(begun)), lease) if *begun == run => {
                match lease {
                    Some(lease) => local.begun(lease),
                    // Its first turn has come to nothing before it had begun itself.
                    None if !local.holds(run) => self.release_start(run, fence),
                    None => {}
                }
            }
            (Ok(_), _) => local.unexpect(run, fence),
            (Err(_), _) => {
                local.unexpect(run, fence);
                // It may have begun without anybody knowing: then it waits for anybody.
                self.release_start(run, fence);
            }
        }
        posted
    }

    /// Posts the start of a run that the local worker holds. If its thread is prompt, that has the
    /// first turn meanwhile: one transaction writes the beginning and the turn, and if there is no
    /// beginning there is no turn. Otherwise the lease is given back, to be begun with.
    async fn post_ahead(
        &self,
        posting: Posting,
        local: &Arc<dyn LocalWorker>,
        lease: TurnLease,
    ) -> (Result<Posted>, Option<TurnLease>) {
        // Whoever keeps step with the runtime has one thing happen after the other.
        let is_prompt = self.killable.is_none() && local.is_prompt(lease.run);
        let run = lease.run;
        let ahead = is_prompt.then(|| self.store.post_ahead(vec![posting.clone()])).flatten();
        let Some(mut ahead) = ahead else { return (self.post(posting).await, Some(lease)) };
        local.begun(lease);
        let late = {
            let _here = self.runtime.enter();
            tokio::time::sleep(limits::AHEAD)
        };
        let posted = tokio::select! {
            biased;
            posted = &mut ahead => posted,
            () = late => {
                // Its code takes its time, or has failed.
                self.store.hurry(run);
                ahead.await
            }
        };
        match posted.into_iter().next() {
            Some(Ok(posted)) => {
                self.posted(&posted);
                (Ok(posted), None)
            }
            Some(Err(error)) if !error.passes() => (Err(error.into()), None),
            _ => (self.post(posting).await, None),
        }
    }

    fn release_start(self: &Arc<Self>, run: RunId, fence: Fence) {
        let inner = self.clone();
        self.finish(async move {
            if let Err(error) = inner.release(run, fence).await {
                tracing::debug!(%run, %error, "a run that may have begun was not let go");
            }
        });
    }

    /// How long a run on a schedule waits for its first turn.
    fn first_wait(&self, started: &WorkflowStarted) -> Result<Span> {
        if started.delay.is_some() {
            return Err(Error::Invalid("a schedule and a delay cannot go together".into()));
        }
        let now = self.now();
        let bad =
            |why| Error::Invalid(format!("the schedule {:?} is not valid: {why}", started.cron));
        let next = self.next_start(&started.cron, now, now).map_err(bad)?;
        let next = next.ok_or_else(|| bad("it never starts anything".to_owned()))?;
        Ok(Span(next.since(now)))
    }

    /// A run that begins now: where the local worker may have it, on a thread that has time.
    fn choose_run(&self, namespace: Namespace) -> RunId {
        let mut draw = || self.new_run_in(namespace);
        let own = namespace == self.settings.namespace;
        match self.local.get().filter(|_| own) {
            Some(local) => local.choose(&mut draw),
            None => draw(),
        }
    }

    fn birth(&self, namespace: Namespace, options: StartOptions) -> Result<Birth> {
        let run = self.choose_run(namespace);
        let mut started = options.started;
        started.first_run = run;
        started.original_run = run;
        check(&started)?;
        if !started.cron.is_empty() {
            started.delay = Some(self.first_wait(&started)?);
        }
        let start = Begin {
            run,
            started,
            reuse: options.reuse,
            link: Link::None,
            signals: options.signal.into_iter().collect(),
            wire: options.wire,
            now: self.now(),
        };
        Ok(begin_run_with(start, options.worker).0)
    }
}

/// A run of which nothing has happened but its beginning.
fn first_lease(birth: Birth, fence: Fence, now: Time) -> Result<TurnLease> {
    let (head, _) = Head::born(&birth)?;
    Ok(TurnLease {
        run: birth.run,
        name: head.name,
        fence,
        version: head.version,
        consumed: head.consumed,
        record: head.record,
        events: birth.events,
        inbox: vec![Received { number: Number(1), at: now, message: Message::Wake }],
    })
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
