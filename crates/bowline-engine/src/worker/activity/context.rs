//! What the code of an activity sees: whether to stop and why, and what it may start.

mod spawned;

use std::{io, process::Command, sync::Arc, time::Duration};

use bowline_core::{Cause, Failure, Payload, Time};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Assignment,
    cage::{Caged, cage},
    log, panic,
    process::{self, ChildProcess},
    shared::AttemptShared,
    tracked::Kind,
};

pub use spawned::{Gone, Spawned};

/// What the code of an activity sees. Clones are the same context.
#[derive(Clone)]
pub struct ActivityContext {
    shared: Arc<AttemptShared>,
    /// Counted, to notice clones that outlive the attempt.
    _contexts: Arc<()>,
}

impl ActivityContext {
    pub(super) fn new(shared: Arc<AttemptShared>, contexts: Arc<()>) -> Self {
        Self { shared, _contexts: contexts }
    }

    /// Whether the code must stop now.
    pub fn is_cancelled(&self) -> bool {
        self.shared.is_told()
    }

    /// Waits until the code must stop, and says why.
    pub async fn cancelled(&self) -> Cause {
        self.shared.told.cancelled().await;
        self.known_cause().await
    }

    /// Waits until it is known that the code will have to stop, and says why. Earlier than
    /// [`cancelled`](Self::cancelled) when the worker shuts down: code that can put its work down
    /// and take it up elsewhere should do so now.
    pub async fn stopping(&self) -> Cause {
        self.shared.stopping.cancelled().await;
        self.known_cause().await
    }

    async fn known_cause(&self) -> Cause {
        if !self.shared.observe() {
            // Its engine is dead: this code is not polled again.
            std::future::pending::<()>().await;
        }
        self.shared.cause().expect("a token fires only after its cause is known")
    }

    /// A token that fires when the code must stop, for code that takes one. Whether it is looked
    /// at cannot be seen, only that the code stopped after it had fired.
    pub fn cancel_token(&self) -> CancellationToken {
        self.shared.give_token()
    }

    /// Why the code must stop, or will have to; unset while nobody wants it to.
    pub fn cause(&self) -> Option<Cause> {
        self.shared.cause().filter(|_| self.shared.observe())
    }

    /// Says that the code is alive and, if it likes, how far it is: the next attempt may read that.
    pub fn heartbeat(&self, details: Option<Payload>) {
        self.shared.beat(details);
    }

    /// What the attempts before this one said about their progress.
    pub fn last_heartbeat(&self) -> Option<&Payload> {
        self.info().heartbeat.as_ref()
    }

    /// What this attempt is: its run, its activity, its number.
    pub fn info(&self) -> &Assignment {
        &self.shared.assignment
    }

    /// The same for every attempt of this activity and for nothing else.
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}", self.info().run, self.info().activity)
    }

    /// Rises with every attempt of this activity, wherever it runs. Somebody who has seen this
    /// number beside the [`idempotency_key`](Self::idempotency_key) must refuse lower ones.
    pub fn fence(&self) -> u64 {
        u64::from(self.info().attempt)
    }

    /// When the code will have to be done, as far as that is known.
    pub fn deadline(&self) -> Option<Time> {
        let limit = self.info().end().map(|(at, _)| at);
        limit.into_iter().chain(self.info().deadline).min()
    }

    /// How long the code still has, as far as that is known.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline().map(|at| at.since(self.shared.clock.now()))
    }

    /// Runs a future beside the code. It ends with the attempt: it is dropped when the code ends
    /// or is aborted.
    pub fn spawn<T, F>(&self, future: F) -> Spawned<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let Some(begun) = self.shared.track(Kind::Spawned) else { return Spawned::new(receiver) };
        let (shared, abort) = (Arc::clone(&self.shared), self.shared.abort.clone());
        let future = Box::pin(future);
        self.shared.spawn.spawn(Box::pin(async move {
            let end = match cage(future, abort, || shared.may_be_polled()).await {
                Caged::Done(value) => Ok(value),
                Caged::Aborted => Err(Gone::Stopped),
                Caged::Panicked(failure) => Err(panicked(&shared, failure)),
            };
            // Nobody may be waiting.
            let _ = sender.send(end);
            drop(begun);
        }));
        Spawned::new(receiver)
    }

    /// Runs work that blocks its thread beside the code. Nothing can stop a thread from outside:
    /// the work must look at the context that it is given, and counts as leaked if it does not.
    pub fn spawn_blocking<T, F>(&self, work: F) -> Spawned<T>
    where
        T: Send + 'static,
        F: FnOnce(Self) -> T + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let Some(begun) = self.shared.track(Kind::Blocking) else { return Spawned::new(receiver) };
        let (shared, ctx) = (Arc::clone(&self.shared), self.clone());
        self.shared.spawn.spawn_blocking(Box::new(move || {
            let end = if shared.abort.is_cancelled() {
                // It waited for a thread until it was too late: it never begins.
                drop((work, ctx));
                Err(Gone::Stopped)
            } else {
                panic::catch(|| work(ctx)).map_err(|failure| panicked(&shared, failure))
            };
            // Nobody may be waiting.
            let _ = sender.send(end);
            drop(begun);
        }));
        Spawned::new(receiver)
    }

    /// Starts a process in a group of its own. The group is killed when the code ends or the
    /// ladder comes to it, and also when this whole program is killed.
    ///
    /// # Errors
    /// If the process cannot be started, or the code has ended already.
    pub fn spawn_process(&self, command: Command) -> io::Result<ChildProcess> {
        process::start(command, &self.shared)
    }
}

fn panicked(shared: &AttemptShared, failure: Box<Failure>) -> Gone {
    let (message, place) = (&failure.message, &failure.trace);
    log!(warn, shared.assignment, message, place, "code that the activity started panicked");
    Gone::Panicked(failure)
}
