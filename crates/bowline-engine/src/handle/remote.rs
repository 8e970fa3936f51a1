//! What remote workers say and are told, as doors see it: turns, activities, questions, and the
//! control channel.

use bowline_core::{
    AskId, ControlQueue, Ending, EventId, FailTurn, Identity, NoticeId, Payload, Queue, RunId,
    StartTurn, StopAttempt, Time, Token, TurnAnswer, WorkflowId,
};
use bowline_store::AttemptRef;
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::{
    Along, Answered, ClosedRun, QueryAnswer, Question, RemoteActivity, RemoteHeartbeat, RemoteTurn,
    Result, Taken, Wait,
};

impl Engine {
    /// The first turn of a run, which a worker has taken with its
    /// [start](crate::StartOptions::worker); none if the run waits before it, or was there already.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn first_turn(&self, run: RunId, worker: &StartTurn) -> Result<Option<RemoteTurn>> {
        Box::pin(self.inner.first_turn(run, worker)).await
    }

    /// Waits for the event that closes a run. Where this process has begun and ended it, nothing is
    /// read. With a workflow id, the run must be of that.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn closing(&self, run: RunId, id: Option<&WorkflowId>) -> Result<ClosedRun> {
        Box::pin(self.inner.closing(run, id)).await
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
        Box::pin(self.inner.query_remote(run, question, until)).await
    }

    /// A remote worker answers a question; false if nobody waits for it any more.
    pub async fn answer_query(&self, run: RunId, id: AskId, answer: QueryAnswer) -> bool {
        Box::pin(self.inner.answer_query(run, id, answer)).await
    }

    /// Whoever was to be asked has gone before it could be: somebody else is asked.
    pub fn return_query(&self, run: RunId, id: AskId) {
        self.inner.return_query(run, id);
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
        Box::pin(self.inner.poll_turn(place, start, wait.into())).await
    }

    /// Adds what a turn does not show of its run's history: for a worker that polls the queue of
    /// another one, and has not got the run in its cache.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn show_whole(&self, turn: &mut RemoteTurn) -> Result<()> {
        let first = turn.events.first().map_or(EventId(1), |event| event.id);
        if first > EventId(1) {
            let mut events = Box::pin(self.inner.history(turn.run)).await?;
            events.retain(|event| event.id < first);
            events.append(&mut turn.events);
            turn.events = events;
        }
        Ok(())
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
        Box::pin(self.inner.answer_turn(token, answer, again, Along::default())).await
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
        Box::pin(self.inner.answer_turn(token, answer, again, along)).await
    }

    /// A remote worker cannot answer a turn.
    ///
    /// # Errors
    /// If the token is not valid, or its turn is over.
    pub async fn fail_turn(&self, token: &[u8], fail: impl Fn(Token) -> FailTurn) -> Result<()> {
        Box::pin(self.inner.fail_turn(token, fail)).await
    }

    /// The worker that had a run in its cache has it no more: its next turns go to anybody.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn reset_sticky(&self, run: RunId) -> Result<()> {
        self.inner.reset_sticky(run).await
    }

    /// Nobody polls this queue of one worker's own any more: turns that wait there go to anybody.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn leave_queue(&self, queue: &Queue) -> Result<()> {
        Box::pin(self.inner.leave_queue((self.namespace, queue))).await
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
        Box::pin(self.inner.poll_activity(place, worker, control, wait.into())).await
    }

    /// Somebody knows that an activity which waits is done: this, its next attempt, counts as
    /// begun and completed by them. False if it does not wait any more.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn complete_waiting(
        &self,
        next: AttemptRef,
        result: Option<Payload>,
        by: Identity,
    ) -> Result<bool> {
        Box::pin(self.inner.complete_waiting(next, result, by)).await
    }

    /// A remote worker ends its attempt.
    ///
    /// # Errors
    /// If the token is not valid, or its attempt is over.
    pub async fn end_activity(&self, token: &[u8], ending: Ending) -> Result<()> {
        self.inner.end_activity(token, ending).await
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
        self.inner.heartbeat(token, details).await
    }

    /// The key of a worker, which is its own within its namespace only. Nobody's stays nobody's.
    fn own(&self, worker: &str) -> String {
        match worker.is_empty() {
            true => String::new(),
            false => format!("{}/{worker}", self.namespace.0),
        }
    }

    /// A remote worker says on which control channel it waits; whoever hands it work must know.
    pub fn worker_listens(&self, worker: &str, control: &ControlQueue) {
        self.inner.worker_listens(&self.own(worker), control);
    }

    /// On which control channel a remote worker waits, if it has said so to any member.
    pub fn control_of(&self, worker: &str) -> Option<ControlQueue> {
        self.inner.control.place(&self.own(worker))
    }

    /// Waits until a remote worker has said on which control channel it waits.
    pub async fn control_known(&self, worker: &str) -> ControlQueue {
        self.inner.control.placed(&self.own(worker)).await
    }

    /// A remote worker has left.
    pub fn worker_left(&self, worker: &str) {
        self.inner.worker_left(&self.own(worker));
    }

    /// Fires when a remote worker leaves, or has left: whatever polls for it is answered then.
    pub fn leaving(&self, worker: &str) -> CancellationToken {
        self.inner.control.leaving(&self.own(worker))
    }

    /// A remote worker waits on its control channel.
    pub async fn poll_control(&self, control: &ControlQueue, until: Time) -> Vec<StopAttempt> {
        self.inner.poll_control(control, until).await
    }

    /// A remote worker has these notices.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn acknowledge(&self, control: &ControlQueue, notices: &[NoticeId]) -> Result<()> {
        self.inner.acknowledge(control, notices).await
    }

    /// A remote worker could not do what these notices say; it is told again later.
    pub fn refuse(&self, control: &ControlQueue, notices: &[NoticeId]) {
        self.inner.refused(control, notices);
    }
}
