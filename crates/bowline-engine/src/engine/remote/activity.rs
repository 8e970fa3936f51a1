//! A remote worker takes an activity, reports, and ends it.

use std::{collections::BTreeSet, sync::Arc};

use bowline_core::{
    ActivityId, ActivityLive, ActivitySpec, AskId, Blob, ControlQueue, Ending, Epoch, EventId,
    Identity, Name, Namespace, Payload, Queue, Received, RunId, Step, Token, WorkflowId,
    limits::PAYLOAD_MAX,
};
use bowline_store::{
    AttemptRef, ClaimActivities, ClaimedActivity, Heartbeat, HeartbeatReply, HolderKind, Proof,
    Settle, ready::Sought,
};

use super::{Decision, KnownRun, QueryAnswer, Wait, Want};
use crate::{
    Error, Result,
    engine::{
        EngineInner,
        exchange::{bounded, cancelled},
        submit::Patience,
    },
};

/// An activity in a remote worker's hands.
#[derive(Clone, Debug)]
pub struct RemoteActivity {
    /// What its answers must show.
    pub token: Blob,
    /// Its run.
    pub run: RunId,
    /// Its run's workflow id.
    pub workflow_id: WorkflowId,
    /// Its run's workflow.
    pub workflow: Name,
    /// Its number.
    pub activity: EventId,
    /// What it is.
    pub spec: ActivitySpec,
    /// Where it stands.
    pub live: ActivityLive,
}

/// A remote worker that takes some activities with the very commit that schedules them: no poll, no
/// queue. Those that wait in another queue than their run's are dispatched as usual.
#[derive(Clone, Debug, Default)]
pub struct Eager {
    /// Which it asks for.
    pub activities: BTreeSet<ActivityId>,
    /// Who it is.
    pub worker: Identity,
    /// Where it listens for notices; empty if it does not.
    pub control: ControlQueue,
}

/// What a remote worker says and takes together with its answer to a turn.
#[derive(Clone, Debug, Default)]
pub struct Along {
    /// The activities that it takes.
    pub eager: Eager,
    /// Its answers to the questions that came with the turn.
    pub answers: Vec<(AskId, QueryAnswer)>,
}

/// What a heartbeat is answered with.
pub type RemoteHeartbeat = HeartbeatReply;

impl EngineInner {
    /// Waits for an activity in a queue, until a moment.
    pub(crate) async fn poll_activity(
        &self,
        (namespace, queue): (Namespace, &Queue),
        worker: Identity,
        control: ControlQueue,
        wait: Wait,
    ) -> Result<Option<RemoteActivity>> {
        let bell = self.polls.bell(Want::Activity, namespace, queue);
        while !wait.gone.is_cancelled() {
            // What comes to wait later rings the bell.
            let claimed = match self.store.may_find(Sought::Activity, namespace, queue) {
                true => self.claim_activity((namespace, queue), &worker, &control).await?,
                false => None,
            };
            if let Some(claimed) = claimed {
                bell.rung.notify_one();
                self.push(cancelled(&claimed).into_iter().collect());
                self.meter.attempts_started.add(1);
                let activity = handed_out(claimed);
                self.known_runs.out(&activity);
                return Ok(Some(activity));
            }
            tokio::select! {
                biased;
                () = bell.rung.notified() => {}
                () = self.clock.sleep_until(wait.until) => break,
                () = wait.gone.cancelled() => break,
                () = self.stopping.cancelled() => break,
            }
        }
        Ok(None)
    }

    async fn claim_activity(
        &self,
        (namespace, queue): (Namespace, &Queue),
        worker: &Identity,
        control: &ControlQueue,
    ) -> Result<Option<ClaimedActivity>> {
        let claim = ClaimActivities {
            epoch: Epoch::default(),
            namespace,
            queue: queue.clone(),
            names: Vec::new(),
            count: 1,
            holder: HolderKind::Remote(control.clone()),
            worker: worker.clone(),
            now: self.now(),
        };
        let claim = |epoch| self.store.claim_activities(ClaimActivities { epoch, ..claim.clone() });
        Ok(self.as_member(claim).await?.pop())
    }

    /// A remote worker ends its attempt.
    pub(crate) async fn end_activity(self: &Arc<Self>, token: &[u8], ending: Ending) -> Result<()> {
        let (attempt, proof) = read(token)?;
        let settle = Settle {
            run: attempt.run,
            activity: attempt.activity,
            attempt: attempt.attempt,
            proof,
            ending: bounded(ending),
            rung: None,
            delivered_at: None,
            observed_at: None,
            now: self.now(),
        };
        if self.end_at_hand(&settle).await? {
            self.control.over(attempt);
            return Ok(());
        }
        let step = self.settle_remote(settle).await?;
        self.control.over(attempt);
        match step {
            Step::Ended | Step::Requeued(_) => Ok(()),
            _ => Err(Error::BadToken("the attempt is over".into())),
        }
    }

    /// Somebody knows that an activity which waits is done. False if it does not wait any more.
    pub(crate) async fn complete_waiting(
        &self,
        next: AttemptRef,
        result: Option<Payload>,
        by: Identity,
    ) -> Result<bool> {
        self.known_runs.forget(next.run);
        let settle = Settle {
            run: next.run,
            activity: next.activity,
            attempt: next.attempt,
            proof: Proof::Outside(by),
            ending: bounded(Ending::Completed(result)),
            rung: None,
            delivered_at: None,
            observed_at: None,
            now: self.now(),
        };
        Ok(self.settle_remote(settle).await? == Step::Ended)
    }

    /// Writes the end of an attempt together with what it leads to: the run takes it in, and the
    /// turn that follows is handed to a poll that waits for it. False if that cannot be told in
    /// advance, or has come to nothing: then the end must be written by itself.
    async fn end_at_hand(self: &Arc<Self>, report: &Settle) -> Result<bool> {
        let Some(offered) = self.known_runs.offer_end(report) else { return Ok(false) };
        let Some(known) = self.known_runs.take(report.run) else { return Ok(false) };
        if known.record.turn.as_ref().is_some_and(|turn| turn.started.is_some()) {
            // Nothing is taken in while a worker has the turn.
            self.known_runs.keep(known);
            return Ok(false);
        }
        let KnownRun { version: expected, consumed, record, state, events, asked, .. } = known;
        let mut draft = self.draft_of(state, record, consumed);
        // It was never in the inbox, and has no number of its own.
        let message = offered.message.clone();
        draft.intake(&[Received { number: consumed, at: report.now, message }]);
        let handed = self.hand_to_poll(&mut draft, &events);
        let (ended, patience) = (vec![offered], Patience::Short);
        let decision = Decision { draft, expected, events, ended, patience };
        match self.write_seated(decision, handed, asked).await {
            Ok(()) => Ok(true),
            Err(error) if error.is_race() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A remote worker's attempt is alive; the answer says whether it should stop.
    pub(crate) async fn heartbeat(
        self: &Arc<Self>,
        token: &[u8],
        details: Option<Payload>,
    ) -> Result<HeartbeatReply> {
        let (attempt, proof) = read(token)?;
        if details.as_ref().is_some_and(|details| details.len() > PAYLOAD_MAX) {
            return Err(Error::Invalid("the heartbeat's details are larger than 2 MiB".into()));
        }
        if details.is_some() {
            self.known_runs.said(attempt.run, attempt.activity);
        }
        let heartbeat = Heartbeat { attempt, proof, details };
        let mut replies = self.report(vec![heartbeat], Vec::new()).await?;
        Ok(replies.pop().unwrap_or(HeartbeatReply::Gone))
    }
}

fn read(token: &[u8]) -> Result<(AttemptRef, Proof)> {
    let decoded =
        Token::from_blob(token).map_err(|corrupt| Error::BadToken(corrupt.to_string()))?;
    let attempt =
        AttemptRef { run: decoded.run, activity: decoded.scheduled, attempt: decoded.attempt };
    Ok((attempt, Proof::Remote(Blob::from(token))))
}

fn handed_out(claimed: ClaimedActivity) -> RemoteActivity {
    let token = Token::activity(claimed.run, claimed.activity, claimed.live.attempt);
    RemoteActivity {
        token: token.to_blob(),
        run: claimed.run,
        workflow_id: claimed.workflow_id,
        workflow: claimed.workflow,
        activity: claimed.activity,
        spec: claimed.spec,
        live: claimed.live,
    }
}
