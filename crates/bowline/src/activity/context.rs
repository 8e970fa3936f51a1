//! What the code of an activity sees: whether to stop and why, and what it may start.

use std::{
    io,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bowline_engine::{
    core::{Cause, Failure as Raw, Span, Verdict},
    worker::activity::ActivityContext,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{ChildProcess, Spawned, moment, value};

/// An activity's handle on its attempt. Clones are the same.
#[derive(Clone)]
pub struct ActivityCtx {
    inner: ActivityContext,
    /// What the code said about trying again, for the error that it is about to return.
    verdict: Arc<Mutex<Verdict>>,
}

impl ActivityCtx {
    pub(crate) fn new(inner: ActivityContext) -> Self {
        Self { inner, verdict: Arc::default() }
    }

    /// Whether the code must stop now.
    pub fn is_cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }

    /// Waits until the code must stop, and says why. An error that is returned after this ends the
    /// activity as cancelled; a value is a late success.
    pub async fn cancelled(&self) -> Cause {
        self.inner.cancelled().await
    }

    /// Waits until it is known that the code will have to stop: earlier than
    /// [`cancelled`](Self::cancelled) when the worker shuts down, so that work can be put down and
    /// taken up elsewhere.
    pub async fn stopping(&self) -> Cause {
        self.inner.stopping().await
    }

    /// Why the code must stop, or will have to; unset while nobody wants it to.
    pub fn cause(&self) -> Option<Cause> {
        self.inner.cause()
    }

    /// Says that the code is alive and how far it is: the next attempt may read that with
    /// [`last_heartbeat`](Self::last_heartbeat). Cancels need no heartbeats.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn heartbeat<T: Serialize>(&self, progress: &T) {
        let details = value::encode(progress);
        self.inner.heartbeat(details.unwrap_or_else(|failure| panic!("{failure}")));
    }

    /// What an attempt before this one last said about its progress, if it reads as a `T`.
    pub fn last_heartbeat<T: DeserializeOwned>(&self) -> Option<T> {
        value::decode(Some(self.inner.last_heartbeat()?)).ok()
    }

    /// What this attempt is.
    pub fn info(&self) -> ActivityInfo {
        let info = self.inner.info();
        ActivityInfo {
            name: info.spec.name.to_string(),
            attempt: info.attempt,
            workflow: info.workflow.to_string(),
            workflow_id: info.workflow_id.to_string(),
            run: info.run.to_string(),
        }
    }

    /// The same for every attempt of this activity and for nothing else: what a payment provider
    /// wants to have.
    pub fn idempotency_key(&self) -> String {
        self.inner.idempotency_key()
    }

    /// Rises with every attempt of this activity, wherever it runs. Somebody who has seen this
    /// number beside the [`idempotency_key`](Self::idempotency_key) must refuse lower ones.
    pub fn fence(&self) -> u64 {
        self.inner.fence()
    }

    /// When the code will have to be done, as far as that is known.
    pub fn deadline(&self) -> Option<SystemTime> {
        self.inner.deadline().map(moment)
    }

    /// How long the code still has, as far as that is known.
    pub fn remaining(&self) -> Option<Duration> {
        self.inner.remaining()
    }

    /// Runs a future beside the code. It ends with the attempt: it is dropped when the code ends
    /// or is aborted.
    pub fn spawn<T, F>(&self, future: F) -> Spawned<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.inner.spawn(future)
    }

    /// Runs work that blocks its thread beside the code. Nothing can stop a thread from outside:
    /// the work must look at the context that it is given, and counts as leaked if it does not.
    pub fn spawn_blocking<T, F>(&self, work: F) -> Spawned<T>
    where
        T: Send + 'static,
        F: FnOnce(Self) -> T + Send + 'static,
    {
        let verdict = self.verdict.clone();
        self.inner.spawn_blocking(move |inner| work(Self { inner, verdict }))
    }

    /// Starts a process in a group of its own. The group is killed when the code ends or a cancel
    /// is ignored, and also when this whole program is killed.
    ///
    /// # Errors
    /// If the process cannot be started, or the code has ended already.
    pub fn spawn_process(&self, command: Command) -> io::Result<ChildProcess> {
        self.inner.spawn_process(command)
    }

    /// The error itself, final: it is not tried again, whatever the retry policy says.
    pub fn no_retry<E>(&self, error: E) -> E {
        self.remember(Verdict::Never);
        error
    }

    /// The error itself, to be tried again after this long, if the retry policy has attempts left.
    pub fn retry_after<E>(&self, pause: Duration, error: E) -> E {
        self.remember(Verdict::After(Span(pause)));
        error
    }

    fn remember(&self, verdict: Verdict) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = verdict;
    }

    /// Puts what the code said about trying again into the failure that it returned.
    pub(crate) fn judge(&self, raw: &mut Raw) {
        let said = *self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        if said != Verdict::ByPolicy {
            raw.verdict = said;
        }
    }
}

/// What an attempt is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityInfo {
    /// The activity's name.
    pub name: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The workflow that called it.
    pub workflow: String,
    /// That workflow's id.
    pub workflow_id: String,
    /// That workflow's run.
    pub run: String,
}
