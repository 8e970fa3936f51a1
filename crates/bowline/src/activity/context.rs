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
///
/// Use it to learn that the code must stop, to report progress, and to start futures, threads and
/// processes that end with the attempt.
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

    /// True if the code must stop now.
    pub fn is_cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }

    /// Waits until the code must stop, and says why. If the activity returns an error after this,
    /// it ends as cancelled; if it returns a value, that is a late success.
    pub async fn cancelled(&self) -> Cause {
        self.inner.cancelled().await
    }

    /// Waits until it is known that the code will have to stop. When the worker shuts down this is
    /// earlier than [`cancelled`](Self::cancelled), so that you can put work down for the next
    /// process.
    pub async fn stopping(&self) -> Cause {
        self.inner.stopping().await
    }

    /// Says why the code must stop, or will have to; `None` while nobody wants it to.
    pub fn cause(&self) -> Option<Cause> {
        self.inner.cause()
    }

    /// Reports that the code is alive and how far it has come. The next attempt reads the last
    /// report with [`last_heartbeat`](Self::last_heartbeat). Cancels need no heartbeats.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn heartbeat<T: Serialize>(&self, progress: &T) {
        let details = value::encode(progress);
        self.inner.heartbeat(details.unwrap_or_else(|failure| panic!("{failure}")));
    }

    /// Returns the last progress that an earlier attempt reported, if it reads as a `T`.
    pub fn last_heartbeat<T: DeserializeOwned>(&self) -> Option<T> {
        value::decode(Some(self.inner.last_heartbeat()?)).ok()
    }

    /// Describes this attempt.
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

    /// Returns a key that is the same for every attempt of this call, and for no other call. Pass
    /// it to the payment provider, or to whatever service does the work.
    pub fn idempotency_key(&self) -> String {
        self.inner.idempotency_key()
    }

    /// Returns a number that rises with every attempt of this call, wherever it runs. A service
    /// that has seen this number for an [`idempotency_key`](Self::idempotency_key) must refuse
    /// lower ones.
    pub fn fence(&self) -> u64 {
        self.inner.fence()
    }

    /// Returns when the code has to be done, as far as that is known.
    pub fn deadline(&self) -> Option<SystemTime> {
        self.inner.deadline().map(moment)
    }

    /// Returns how long the code still has, as far as that is known.
    pub fn remaining(&self) -> Option<Duration> {
        self.inner.remaining()
    }

    /// Runs a future concurrently with the code. It ends with the attempt: it is dropped when the
    /// code ends or is aborted.
    pub fn spawn<T, F>(&self, future: F) -> Spawned<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.inner.spawn(future)
    }

    /// Runs work that blocks its thread, concurrently with the code. Nothing can stop a thread from
    /// outside: the work must look at the context it is given, and is reported as leaked if it does
    /// not stop.
    pub fn spawn_blocking<T, F>(&self, work: F) -> Spawned<T>
    where
        T: Send + 'static,
        F: FnOnce(Self) -> T + Send + 'static,
    {
        let verdict = self.verdict.clone();
        self.inner.spawn_blocking(move |inner| work(Self { inner, verdict }))
    }

    /// Starts a process in a group of its own. The group is killed when the code ends or ignores a
    /// cancel, and also when your whole program is killed.
    ///
    /// # Errors
    /// If the process cannot be started, or the code has ended already.
    pub fn spawn_process(&self, command: Command) -> io::Result<ChildProcess> {
        self.inner.spawn_process(command)
    }

    /// Returns the error itself and makes it final: it is not retried, whatever the policy says.
    pub fn no_retry<E>(&self, error: E) -> E {
        self.remember(Verdict::Never);
        error
    }

    /// Returns the error itself, to be retried after this long if the policy has attempts left.
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

/// Describes an attempt; see [`ActivityCtx::info`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityInfo {
    /// The activity's name.
    pub name: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The workflow that called it.
    pub workflow: String,
    /// That workflow's id.
    pub workflow_id: String,
    /// The id of that workflow's run.
    pub run: String,
}
