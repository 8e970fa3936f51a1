//! The engine as doors see it: everything that can be asked of it.

mod look;
mod member;
mod remote;
mod space;
mod workers;

use std::{sync::Arc, time::Duration};

use bowline_core::{
    Address, Cause, EventId, Name, Namespace, Payload, Queue, ReceiptId, RunId, Signal, Time,
    UpdateId, UpdateRequest, UpdateStage,
};
use bowline_store::{Filter, Posted, Store};

use crate::{
    Builder, CancelRequest, CancelledOne, Metrics, Prepared, QueueOptions, Result, RunEnd,
    Schedules, StartOptions, Started, UpdateWait,
    engine::{Doors, EngineInner},
    worker::Worker,
};

/// A running engine. Cheap to clone; [`Engine::close`] ends it for all clones.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<EngineInner>,
    worker: Arc<Worker>,
    namespace: Namespace,
}

impl Engine {
    pub(crate) fn new(inner: Arc<EngineInner>, worker: Arc<Worker>) -> Self {
        let namespace = inner.settings.namespace;
        Self { inner, worker, namespace }
    }

    /// An engine on a store, to be told what to run.
    pub fn builder(store: Arc<dyn Store>) -> Builder {
        Builder::new(store)
    }

    /// This moment, by the engine's clock.
    pub fn now(&self) -> Time {
        self.inner.now()
    }

    /// Starts a run, or answers with the run that serves instead.
    ///
    /// # Errors
    /// If the options are not acceptable, or the workflow id is taken.
    pub async fn start(&self, options: StartOptions) -> Result<RunId> {
        Ok(Box::pin(self.inner.start(self.namespace, options)).await?.run)
    }

    /// As [`start`](Self::start), with the run's [end](Self::ended) if it is a new one. Whoever
    /// waits for that later need not look whether it has come already.
    ///
    /// # Errors
    /// If the options are not acceptable, or the workflow id is taken.
    pub async fn start_followed(&self, options: StartOptions) -> Result<(RunId, Option<RunEnd>)> {
        Box::pin(self.inner.start_followed(self.namespace, options)).await
    }

    /// As [`start`](Self::start), saying also whether the run is a new one.
    ///
    /// # Errors
    /// If the options are not acceptable, or the workflow id is taken.
    pub async fn start_or_find(&self, options: StartOptions) -> Result<Started> {
        Box::pin(self.inner.start(self.namespace, options)).await
    }

    /// An id for a run that is about to be.
    pub fn mint(&self) -> RunId {
        self.inner.new_run_in(self.namespace)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// If there is no such run, or it is closed.
    pub async fn signal(&self, to: impl Into<Address>, signal: Signal) -> Result<RunId> {
        self.inner.signal(to.into(), signal).await
    }

    /// The same for a door to runs under remote rules, which take only so many signals in their
    /// life. It costs a look at the run.
    ///
    /// # Errors
    /// If there is no such run, it is closed, or it has had too many.
    pub async fn signal_counted(&self, to: impl Into<Address>, signal: Signal) -> Result<RunId> {
        self.inner.signal_counted(to.into(), signal).await
    }

    /// Asks a run to cancel, with clean-up. The request is durable when this returns. A run that
    /// is closed already is a success, and the receipt shows it.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn cancel(
        &self,
        to: impl Into<Address>,
        request: CancelRequest,
    ) -> Result<ReceiptId> {
        self.inner.send(self.inner.prepare_cancel(to.into(), request)?).await
    }

    /// Builds a start that is sent with a transaction of the application's own.
    ///
    /// # Errors
    /// If the options are not acceptable. That the workflow id is taken is said by the answer to
    /// the posting.
    pub fn prepare_start(&self, options: StartOptions) -> Result<Prepared<RunId>> {
        self.inner.check_open()?;
        self.inner.prepare_start(self.namespace, options)
    }

    /// Builds a signal that is sent with a transaction of the application's own.
    ///
    /// # Errors
    /// If its name or input is not acceptable.
    pub fn prepare_signal(
        &self,
        to: impl Into<Address>,
        signal: Signal,
    ) -> Result<Prepared<RunId>> {
        self.inner.check_open()?;
        self.inner.prepare_signal(to.into(), signal)
    }

    /// Builds a cancel that is sent with a transaction of the application's own. Its receipt can
    /// be waited for once that is committed.
    ///
    /// # Errors
    /// If the request is not acceptable.
    pub fn prepare_cancel(
        &self,
        to: impl Into<Address>,
        request: CancelRequest,
    ) -> Result<Prepared<ReceiptId>> {
        self.inner.check_open()?;
        self.inner.prepare_cancel(to.into(), request)
    }

    /// A transaction with this posting is committed. The store's hints have told whoever works on
    /// it; this makes sure that it is looked at even if they were lost.
    pub fn posted(&self, posted: &Posted) {
        self.inner.posted(posted);
    }

    /// Cancels one activity, timer or child of a run; its code sees an outcome and goes on. A
    /// target that is over or cancelled already, or whose run is closed, is a success; the answer
    /// says which.
    ///
    /// # Errors
    /// If there is no such run, there never was such a target, or the run's rules know no such
    /// cancel.
    pub async fn cancel_one(
        &self,
        run: RunId,
        target: EventId,
        request: CancelRequest,
    ) -> Result<CancelledOne> {
        Box::pin(self.inner.cancel_one(run, target, request)).await
    }

    /// Closes a run without asking its code. It is closed when this returns: listed so, and its
    /// outcome is there. That needs no code, so it holds for parked runs too, and for those whose
    /// workflow nobody here has registered.
    ///
    /// # Errors
    /// If there is no such run; or if it could not be closed within half a minute. The request is
    /// durable then, and is carried out as soon as that can be.
    pub async fn terminate(&self, to: impl Into<Address>, cause: Cause) -> Result<ReceiptId> {
        self.inner.terminate(to.into(), cause, None).await
    }

    /// The same, with something to say to whoever reads the history.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn terminate_with(
        &self,
        to: impl Into<Address>,
        cause: Cause,
        details: Option<Payload>,
    ) -> Result<ReceiptId> {
        self.inner.terminate(to.into(), cause, details).await
    }

    /// Terminates a run if it is open, and forgets it as soon as nothing of its subtree is left and
    /// no receipt speaks of it. What was open has a receipt, by which its end can be waited for;
    /// its rows are kept for as long as that is.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn delete(&self, run: RunId, cause: Cause) -> Result<Option<ReceiptId>> {
        self.inner.delete(run, cause).await
    }

    /// Asks a run's code for something that changes it, and waits for the answer.
    ///
    /// # Errors
    /// If there is no such run, or it is closed; or if it is parked. Then the update waits in its
    /// inbox, and whoever asks again under the same id once the run goes on gets the answer.
    pub async fn update(&self, run: RunId, request: UpdateRequest) -> Result<UpdateStage> {
        Box::pin(self.inner.update(run, request)).await
    }

    /// The same for a while: none if nobody has looked at it by then. It is asked for still. Says
    /// which run has it: another one, if that went on before the code had looked.
    ///
    /// # Errors
    /// If there is no such run, or it is closed.
    pub async fn update_for(
        &self,
        run: RunId,
        request: UpdateRequest,
        wait: UpdateWait,
    ) -> Result<(RunId, Option<UpdateStage>)> {
        Box::pin(self.inner.update_for(run, request, wait)).await
    }

    /// Waits for what becomes of an update that was asked for before.
    ///
    /// # Errors
    /// If there is no such run, or no such update of it.
    pub async fn follow_update(
        &self,
        run: RunId,
        id: UpdateId,
        wait: UpdateWait,
    ) -> Result<(RunId, Option<UpdateStage>)> {
        Box::pin(self.inner.follow_update(run, id, wait)).await
    }

    /// Asks a run's code for something that does not change it. Closed runs answer too.
    ///
    /// # Errors
    /// If there is no such run, its workflow is not registered, the code has no answer, or the run
    /// is parked and cannot be replayed.
    pub async fn query(
        &self,
        run: RunId,
        name: impl Into<Name>,
        input: Option<Payload>,
    ) -> Result<Option<Payload>> {
        self.worker.query(run, name.into(), input).await
    }

    /// An id that nobody else has.
    pub fn draw(&self) -> u128 {
        self.inner.draw()
    }

    /// Begins a run from the first events of another one, up to a `TurnStarted`: what was decided
    /// after it is decided again. The newest run of that workflow id is terminated if it is open.
    /// Children that were open at the cut are the new run's: their ends reach it, and so does its
    /// cancel them.
    ///
    /// # Errors
    /// If there is no such run, or its history cannot be cut there.
    pub async fn fork(&self, run: RunId, at: EventId, cause: Cause) -> Result<RunId> {
        Box::pin(self.inner.fork(run, at, cause)).await
    }

    /// Lets every process try a parked run again, whoever has tried it before. One that is not
    /// parked is left alone.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn retry(&self, run: RunId) -> Result<()> {
        self.inner.retry(run).await
    }

    /// The same of every parked run that a filter finds; says how many there were.
    ///
    /// # Errors
    /// If the store fails. Some of them may be tried again by then.
    pub async fn retry_all(&self, filter: Filter) -> Result<usize> {
        let filter = Filter { namespace: self.namespace, ..filter };
        Box::pin(self.inner.retry_all(filter)).await
    }

    /// Changes how many activities of a queue may run at once, and how fast they are started.
    ///
    /// # Errors
    /// If this worker does not work on that queue.
    pub fn configure(&self, queue: impl Into<Queue>, options: QueueOptions) -> Result<()> {
        self.worker.configure(&queue.into(), options)
    }

    /// What reads schedules from now on, for runs that are started again by one. The first stays.
    pub fn read_schedules(&self, schedules: Arc<dyn Schedules>) {
        // Every door brings the same.
        let _ = self.inner.schedules.set(schedules);
    }

    /// What this engine has counted since it started.
    pub fn metrics(&self) -> Metrics {
        self.inner.meter.snapshot()
    }

    /// Ends at once, as if the process had been killed: nothing is finished, told or given back,
    /// and no future of this engine is polled again. Whoever has the store next finds what a
    /// crash leaves.
    ///
    /// # Panics
    /// If the engine does not work [in step](Builder::in_step): what runs on threads of its own
    /// cannot be stopped between two instructions.
    pub fn kill(&self) {
        let killable = self.inner.killable.as_ref().expect("only an engine in step can be killed");
        killable.kill();
        self.inner.stopping.cancel();
        self.inner.local.leave();
    }

    pub(crate) fn doors(&self) -> Doors {
        let (followers, updates) = (self.inner.followers.clone(), self.inner.updates.clone());
        Doors { followers, updates }
    }

    /// Takes no more work, and finishes or gives back what there is, in bounded time.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn drain(&self, within: Duration) -> Result<()> {
        self.worker.drain(within).await
    }

    /// Drains, leaves the store, and ends.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn close(&self, within: Duration) -> Result<()> {
        self.drain(within).await?;
        let left = self.inner.leave().await;
        self.inner.stopping.cancel();
        self.inner.background.close();
        self.inner.background.wait().await;
        self.inner.local.leave();
        left
    }
}
