//! The engine as doors see it: everything that can be asked of it.

mod crew;
mod space;

use std::{sync::Arc, time::Duration};

use bowline_core::{
    Address, AskId, CancelActivity, Cause, ControlQueue, Ending, Event, EventId, FailTurn,
    Identity, Name, Namespace, NoticeId, Payload, Queue, ReceiptId, RunEnding, RunId, Signal,
    StartTurn, State, Time, Token, TurnAnswer, UpdateId, UpdateRequest, UpdateStage, WorkflowId,
};
use bowline_store::{
    Filter, Head, Leftovers, Page, Phase, Posted, Read, RunKey, RunRead, Store, Subtree,
};

use tokio_util::sync::CancellationToken;

use crate::{
    Along, Answered, Builder, CancelRequest, CancelledOne, Metrics, Prepared, QueryAnswer,
    Question, QueueOptions, RemoteActivity, RemoteHeartbeat, RemoteTurn, Result, RunEnd, Schedules,
    StartOptions, Started, Taken, UpdateWait, Wait,
    engine::{Core, Doors, run::WhenParked},
    worker::Worker,
};

/// A running engine. Cheap to clone; [`Engine::close`] ends it for all clones.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
    worker: Arc<Worker>,
    namespace: Namespace,
}

impl Engine {
    pub(crate) fn new(core: Arc<Core>, worker: Arc<Worker>) -> Self {
        let namespace = core.settings.namespace;
        Self { core, worker, namespace }
    }

    /// An engine on a store, to be told what to run.
    pub fn builder(store: Arc<dyn Store>) -> Builder {
        Builder::new(store)
    }

    /// This moment, by the engine's clock.
    pub fn now(&self) -> Time {
        self.core.now()
    }

    /// Starts a run, or answers with the run that serves instead.
    ///
    /// # Errors
    /// If the options are not acceptable, or the workflow id is taken.
    pub async fn start(&self, options: StartOptions) -> Result<RunId> {
        Ok(Box::pin(self.core.start(self.namespace, options)).await?.run)
    }

    /// As [`start`](Self::start), with the run's [end](Self::ended) if it is a new one. Whoever
    /// waits for that later need not look whether it has come already.
    ///
    /// # Errors
    /// If the options are not acceptable, or the workflow id is taken.
    pub async fn start_followed(&self, options: StartOptions) -> Result<(RunId, Option<RunEnd>)> {
        Box::pin(self.core.start_followed(self.namespace, options)).await
    }

    /// As [`start`](Self::start), saying also whether the run is a new one.
    ///
    /// # Errors
    /// If the options are not acceptable, or the workflow id is taken.
    pub async fn begin(&self, options: StartOptions) -> Result<Started> {
        Box::pin(self.core.start(self.namespace, options)).await
    }

    /// The first turn of a run, which a worker has taken with its [start](StartOptions::worker);
    /// none if the run waits before it, or was there already.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn first_turn(&self, run: RunId, worker: &StartTurn) -> Result<Option<RemoteTurn>> {
        Box::pin(self.core.first_turn(run, worker)).await
    }

    /// An id for a run that is about to be.
    pub fn mint(&self) -> RunId {
        self.core.new_run_in(self.namespace)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// If there is no such run, or it is closed.
    pub async fn signal(&self, to: impl Into<Address>, signal: Signal) -> Result<RunId> {
        self.core.signal(to.into(), signal).await
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
        self.core.cancel(to.into(), request).await
    }

    /// Builds a start that is sent with a transaction of the application's own.
    ///
    /// # Errors
    /// If the options are not acceptable. That the workflow id is taken is said by the answer to
    /// the posting.
    pub fn prepare_start(&self, options: StartOptions) -> Result<Prepared<RunId>> {
        self.core.is_open()?;
        self.core.prepare_start(self.namespace, options)
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
        self.core.is_open()?;
        self.core.prepare_signal(to.into(), signal)
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
        self.core.is_open()?;
        self.core.prepare_cancel(to.into(), request)
    }

    /// A transaction with this posting is committed. The store's hints have told whoever works on
    /// it; this makes sure that it is looked at even if they were lost.
    pub fn posted(&self, posted: &Posted) {
        self.core.posted(posted);
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
        Box::pin(self.core.cancel_one(run, target, request)).await
    }

    /// Closes a run without asking its code.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn terminate(&self, to: impl Into<Address>, cause: Cause) -> Result<ReceiptId> {
        self.core.terminate(to.into(), cause, None).await
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
        self.core.terminate(to.into(), cause, details).await
    }

    /// Terminates a run if it is open, and forgets it as soon as nothing of its subtree is left.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn delete(&self, run: RunId, cause: Cause) -> Result<()> {
        self.core.delete(run, cause).await
    }

    /// Asks a run's code for something that changes it, and waits for the answer.
    ///
    /// # Errors
    /// If there is no such run, or it is closed.
    pub async fn update(&self, run: RunId, request: UpdateRequest) -> Result<UpdateStage> {
        Box::pin(self.core.update(run, request)).await
    }

    /// The same for a while: none if nobody has looked at it by then. It is asked for still.
    ///
    /// # Errors
    /// If there is no such run, or it is closed.
    pub async fn update_for(
        &self,
        run: RunId,
        request: UpdateRequest,
        wait: UpdateWait,
    ) -> Result<Option<UpdateStage>> {
        Box::pin(self.core.update_for(run, request, wait)).await
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
    ) -> Result<Option<UpdateStage>> {
        Box::pin(self.core.follow_update(run, id, wait)).await
    }

    /// Asks the code of a run at a remote worker, and waits for its answer until a moment.
    ///
    /// # Errors
    /// If there is no such run, or nobody answers in time.
    pub async fn query_remote(
        &self,
        run: RunId,
        question: Question,
        until: Time,
    ) -> Result<QueryAnswer> {
        Box::pin(self.core.query_remote(run, question, until)).await
    }

    /// A remote worker answers a question; false if nobody waits for it any more.
    pub async fn answer_query(&self, run: RunId, id: AskId, answer: QueryAnswer) -> bool {
        Box::pin(self.core.answer_query(run, id, answer)).await
    }

    /// Whoever was to be asked has gone before it could be: somebody else is asked.
    pub fn return_query(&self, run: RunId, id: AskId) {
        self.core.return_query(run, id);
    }

    /// Asks a run's code for something that does not change it. Closed runs answer too.
    ///
    /// # Errors
    /// If there is no such run, its workflow is not registered, or the code has no answer.
    pub async fn query(
        &self,
        run: RunId,
        name: impl Into<Name>,
        input: Option<Payload>,
    ) -> Result<Option<Payload>> {
        self.worker.query(run, name.into(), input).await
    }

    /// Waits until a run is closed; follows the runs that go on in its place.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn outcome(&self, run: RunId) -> Result<(RunId, RunEnding)> {
        self.core.outcome(run, WhenParked::Wait).await
    }

    /// As [`outcome`](Self::outcome), but does not wait for a run that is in quarantine.
    ///
    /// # Errors
    /// If there is no such run, or it is parked because its code keeps failing.
    pub async fn result(&self, run: RunId) -> Result<(RunId, RunEnding)> {
        self.core.outcome(run, WhenParked::Tell).await
    }

    /// As [`result`](Self::result), of a run that was followed from before its beginning.
    ///
    /// # Errors
    /// If the run is parked because its code keeps failing, or was deleted.
    pub async fn ended(&self, end: RunEnd) -> Result<(RunId, RunEnding)> {
        self.core.outcome_of_new(end, WhenParked::Tell).await
    }

    /// An id that nobody else has.
    pub fn draw(&self) -> u128 {
        self.core.draw()
    }

    /// The row of a run.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn head(&self, run: RunId) -> Result<Head> {
        self.core.head(RunKey::Run(run)).await
    }

    /// The newest run of a workflow id.
    ///
    /// # Errors
    /// If there is none.
    pub async fn current(&self, workflow_id: impl Into<WorkflowId>) -> Result<Head> {
        self.core.head(RunKey::Current(self.namespace, workflow_id.into())).await
    }

    /// Where a run stands: its row, and its state folded from its events.
    ///
    /// # Errors
    /// If there is no such run, or its history does not read.
    pub async fn state(&self, run: RunId) -> Result<(Head, State)> {
        let (head, draft, _) = self.core.draft(run).await?;
        Ok((head, draft.state().clone()))
    }

    /// Whatever is wanted of a run.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn read(&self, read: Read) -> Result<RunRead> {
        self.core.read(read).await
    }

    /// The history of a run. A turn that is out and not yet written shows as its tail.
    ///
    /// # Errors
    /// If there is no such run, or its history does not read.
    pub async fn history(&self, run: RunId) -> Result<Vec<Event>> {
        Box::pin(self.core.remote_history(run)).await
    }

    /// Waits until a run's history has an event of this id, or the run is closed.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn grown(&self, run: RunId, id: EventId) -> Result<Head> {
        self.core.grown(run, id).await
    }

    /// Waits until a run is closed. What closes it, if that was sent already, is taken in here and
    /// now.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn closed(&self, run: RunId) -> Result<Head> {
        Box::pin(self.core.closed(run)).await
    }

    /// Lists runs.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn find(&self, filter: Filter) -> Result<Page> {
        self.core.find(Filter { namespace: self.namespace, ..filter }).await
    }

    /// How far a cancel has come, as the store has it now.
    ///
    /// # Errors
    /// If there is no such receipt.
    pub async fn receipt(&self, receipt: ReceiptId) -> Result<Leftovers> {
        self.core.leftovers(Subtree::Receipt(receipt)).await
    }

    /// Waits until a cancel has come so far.
    ///
    /// # Errors
    /// If there is no such receipt.
    pub async fn wait(&self, receipt: ReceiptId, phase: Phase) -> Result<Leftovers> {
        self.core.wait(receipt, phase).await
    }

    /// What is left of a run's subtree.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn leftovers(&self, run: RunId) -> Result<Leftovers> {
        self.core.leftovers(Subtree::Run(run)).await
    }

    /// Whatever should not be there at all; empty after any fault.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn orphans(&self) -> Result<Leftovers> {
        self.core.leftovers(Subtree::Orphans).await
    }

    /// Begins a run from the first events of another one, up to a `TurnStarted`: what was decided
    /// after it is decided again. The newest run of that workflow id is terminated if it is open.
    /// Children that were open at the cut are the new run's: their ends reach it, and so does its
    /// cancel them.
    ///
    /// # Errors
    /// If there is no such run, or its history cannot be cut there.
    pub async fn fork(&self, run: RunId, at: EventId, cause: Cause) -> Result<RunId> {
        Box::pin(self.core.fork(run, at, cause)).await
    }

    /// Takes a run out of quarantine: its turn is tried again.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn retry(&self, run: RunId) -> Result<()> {
        self.core.retry(run).await
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
        let _ = self.core.schedules.set(schedules);
    }

    /// What this engine has counted since it started.
    pub fn metrics(&self) -> Metrics {
        self.core.meter.snapshot()
    }

    /// A remote worker waits for a turn, or for a question to a run at rest.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn poll_turn(
        &self,
        queue: &Queue,
        start: StartTurn,
        wait: impl Into<Wait>,
    ) -> Result<Option<Taken>> {
        let place = (self.namespace, queue);
        Box::pin(self.core.poll_turn(place, start, wait.into())).await
    }

    /// A remote worker answers a turn; with `again`, it takes the next one in the same breath.
    ///
    /// # Errors
    /// If the token is not valid, or its turn is over.
    pub async fn answer_turn(
        &self,
        token: &[u8],
        answer: impl Fn(Token) -> TurnAnswer,
        again: Option<StartTurn>,
    ) -> Result<Answered> {
        Box::pin(self.core.answer_turn(token, answer, again, Along::default())).await
    }

    /// The same; it takes activities that it has just scheduled in the same breath, too, and
    /// answers questions.
    ///
    /// # Errors
    /// If the token is not valid, or its turn is over. Then the questions are not answered.
    pub async fn answer_turn_with(
        &self,
        token: &[u8],
        answer: impl Fn(Token) -> TurnAnswer,
        again: Option<StartTurn>,
        along: Along,
    ) -> Result<Answered> {
        Box::pin(self.core.answer_turn(token, answer, again, along)).await
    }

    /// A remote worker cannot answer a turn.
    ///
    /// # Errors
    /// If the token is not valid, or its turn is over.
    pub async fn fail_turn(&self, token: &[u8], fail: impl Fn(Token) -> FailTurn) -> Result<()> {
        Box::pin(self.core.fail_turn(token, fail)).await
    }

    /// The worker that had a run in its cache has it no more: its next turns go to anybody.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn reset_sticky(&self, run: RunId) -> Result<()> {
        self.core.reset_sticky(run).await
    }

    /// Nobody polls this queue of one worker's own any more: turns that wait there go to anybody.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn leave_queue(&self, queue: &Queue) -> Result<()> {
        Box::pin(self.core.leave_queue((self.namespace, queue))).await
    }

    /// A remote worker waits for an activity.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn poll_activity(
        &self,
        queue: &Queue,
        worker: Identity,
        control: ControlQueue,
        wait: impl Into<Wait>,
    ) -> Result<Option<RemoteActivity>> {
        let place = (self.namespace, queue);
        Box::pin(self.core.poll_activity(place, worker, control, wait.into())).await
    }

    /// A remote worker ends its attempt.
    ///
    /// # Errors
    /// If the token is not valid, or its attempt is over.
    pub async fn end_activity(&self, token: &[u8], ending: Ending) -> Result<()> {
        self.core.end_activity(token, ending).await
    }

    /// A remote worker's attempt is alive; the answer says whether it should stop.
    ///
    /// # Errors
    /// If the token is not one of ours.
    pub async fn heartbeat(
        &self,
        token: &[u8],
        details: Option<Payload>,
    ) -> Result<RemoteHeartbeat> {
        self.core.heartbeat(token, details).await
    }

    /// A remote worker says on which control channel it waits; whoever hands it work must know.
    pub fn worker_listens(&self, worker: &str, control: &ControlQueue) {
        self.core.worker_listens(worker, control);
    }

    /// On which control channel a remote worker waits, if it has said so to any member.
    pub fn control_of(&self, worker: &str) -> Option<ControlQueue> {
        self.core.control.place(worker)
    }

    /// Waits until a remote worker has said on which control channel it waits.
    pub async fn control_known(&self, worker: &str) -> ControlQueue {
        self.core.control.placed(worker).await
    }

    /// A remote worker has left.
    pub fn worker_left(&self, worker: &str) {
        self.core.worker_left(worker);
    }

    /// Fires when a remote worker leaves: whatever polls for it is answered then.
    pub fn leaving(&self, worker: &str) -> CancellationToken {
        self.core.control.leaving(worker)
    }

    /// A remote worker waits on its control channel.
    pub async fn poll_control(&self, control: &ControlQueue, until: Time) -> Vec<CancelActivity> {
        self.core.poll_control(control, until).await
    }

    /// A remote worker has these notices.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn acknowledge(&self, control: &ControlQueue, notices: &[NoticeId]) -> Result<()> {
        self.core.acknowledge(control, notices).await
    }

    /// A remote worker could not do what these notices say; it is told again later.
    pub fn refuse(&self, control: &ControlQueue, notices: &[NoticeId]) {
        self.core.refused(control, notices);
    }

    /// Ends at once, as if the process had been killed: nothing is finished, told or given back,
    /// and no future of this engine is polled again. Whoever has the store next finds what a
    /// crash leaves.
    ///
    /// # Panics
    /// If the engine does not work [in step](Builder::in_step): what runs on threads of its own
    /// cannot be stopped between two instructions.
    pub fn kill(&self) {
        let mortal = self.core.mortal.as_ref().expect("only an engine in step can be killed");
        mortal.kill();
        self.core.stopping.cancel();
        self.core.local.leave();
    }

    pub(crate) fn doors(&self) -> Doors {
        let (followers, updates) = (self.core.followers.clone(), self.core.updates.clone());
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
        // Whoever was given up has nothing to give back.
        let left = match self.core.standing.is_out() {
            true => Ok(()),
            false => self.core.renew(true).await,
        };
        self.core.stopping.cancel();
        self.core.background.close();
        self.core.background.wait().await;
        self.core.local.leave();
        left
    }
}
