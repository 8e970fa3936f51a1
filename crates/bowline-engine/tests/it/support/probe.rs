//! Activities that a test can watch: how often they began, what they were told, and when they end.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use bowline_core::{Cause, Failure, Payload};
use bowline_engine::worker::{
    activity::ActivityContext,
    registry::{ActivityCode, Answer, activity_fn},
};
use tokio::sync::{Semaphore, watch};

use crate::world::within;

/// Watches all attempts of one activity. Clones are the same.
#[derive(Clone)]
pub(crate) struct Probe(Arc<Inner>);

struct Inner {
    begun: watch::Sender<usize>,
    ended: watch::Sender<usize>,
    running: Mutex<(usize, usize)>,
    causes: watch::Sender<Vec<Cause>>,
    log: Mutex<Vec<String>>,
    go: Semaphore,
}

/// Counts an attempt as ended, however it ends.
struct Running(Probe);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.running.lock().unwrap().0 -= 1;
        self.0.0.ended.send_modify(|ended| *ended += 1);
    }
}

impl Probe {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            begun: watch::Sender::new(0),
            ended: watch::Sender::new(0),
            running: Mutex::default(),
            causes: watch::Sender::new(Vec::new()),
            log: Mutex::default(),
            go: Semaphore::new(0),
        }))
    }

    fn begin_attempt(&self, ctx: &ActivityContext) -> Running {
        let mut running = self.0.running.lock().unwrap();
        running.0 += 1;
        running.1 = running.1.max(running.0);
        drop(running);
        self.0.log.lock().unwrap().push(format!("attempt {}", ctx.info().attempt));
        self.0.begun.send_modify(|begun| *begun += 1);
        Running(self.clone())
    }

    /// Code that runs until it is let go, or told to stop; then it stops at once.
    pub(crate) fn obeys(&self) -> Arc<dyn ActivityCode> {
        let probe = self.clone();
        activity_fn(move |ctx, _| {
            let probe = probe.clone();
            async move {
                let _running = probe.begin_attempt(&ctx);
                tokio::select! {
                    biased;
                    cause = ctx.cancelled() => {
                        probe.hears(cause);
                        Err(Failure::new("stopped"))
                    }
                    () = probe.gone() => Ok(Some(Payload::json("\"done\""))),
                }
            }
        })
    }

    /// Code that hears that it must stop, and completes nevertheless when it is let go.
    pub(crate) fn completes_late(&self) -> Arc<dyn ActivityCode> {
        let probe = self.clone();
        activity_fn(move |ctx, _| {
            let probe = probe.clone();
            async move {
                let _running = probe.begin_attempt(&ctx);
                let cause = ctx.cancelled().await;
                probe.hears(cause);
                probe.gone().await;
                Ok(Some(Payload::json("\"late\"")))
            }
        })
    }

    /// Code that panics when it is told to stop.
    pub(crate) fn panics(&self) -> Arc<dyn ActivityCode> {
        let probe = self.clone();
        activity_fn(move |ctx, _| {
            let probe = probe.clone();
            async move {
                let _running = probe.begin_attempt(&ctx);
                let cause = ctx.cancelled().await;
                panic!("told to stop: {cause}");
            }
        })
    }

    /// Code that never looks, and never ends by itself.
    pub(crate) fn ignores(&self) -> Arc<dyn ActivityCode> {
        let probe = self.clone();
        activity_fn(move |ctx, _| {
            let probe = probe.clone();
            async move {
                let _running = probe.begin_attempt(&ctx);
                pending::<Answer>().await
            }
        })
    }

    /// Code that ends as soon as it is let go, whatever it is told, with an answer made of its
    /// context.
    pub(crate) fn answers(
        &self,
        answer: impl Fn(&ActivityContext) -> Answer + Send + Sync + 'static,
    ) -> Arc<dyn ActivityCode> {
        let (probe, answer) = (self.clone(), Arc::new(answer));
        activity_fn(move |ctx, _| {
            let (probe, answer) = (probe.clone(), answer.clone());
            async move {
                let _running = probe.begin_attempt(&ctx);
                probe.gone().await;
                answer(&ctx)
            }
        })
    }

    /// The same, of code that has said something about its progress: its end is written by itself,
    /// since the worker cannot foresee what its row will say.
    pub(crate) fn speaks_and_answers(
        &self,
        answer: impl Fn(&ActivityContext) -> Answer + Send + Sync + 'static,
    ) -> Arc<dyn ActivityCode> {
        let (probe, answer) = (self.clone(), Arc::new(answer));
        activity_fn(move |ctx, _| {
            let (probe, answer) = (probe.clone(), answer.clone());
            async move {
                ctx.heartbeat(None);
                let _running = probe.begin_attempt(&ctx);
                probe.gone().await;
                answer(&ctx)
            }
        })
    }

    fn hears(&self, cause: Cause) {
        self.0.causes.send_modify(|causes| causes.push(cause));
    }

    async fn gone(&self) {
        self.0.go.acquire().await.expect("it is never closed").forget();
    }

    /// Lets so many attempts finish.
    pub(crate) fn finish(&self, count: usize) {
        self.0.go.add_permits(count);
    }

    /// Waits until so many attempts have begun, of all that ever did.
    pub(crate) async fn has_begun(&self, count: usize) {
        let mut begun = self.0.begun.subscribe();
        let enough = begun.wait_for(|begun| *begun >= count);
        within("code to begin", enough).await.expect("the probe is there");
    }

    /// Waits until so many attempts have ended, of all that ever did.
    pub(crate) async fn has_ended(&self, count: usize) {
        let mut ended = self.0.ended.subscribe();
        let enough = ended.wait_for(|ended| *ended >= count);
        within("code to end", enough).await.expect("the probe is there");
    }

    /// Waits until so many attempts were told to stop, of all that ever were.
    pub(crate) async fn was_told(&self, count: usize) {
        let mut causes = self.0.causes.subscribe();
        let enough = causes.wait_for(|causes| causes.len() >= count);
        within("code to be told", enough).await.expect("the probe is there");
    }

    /// How many attempts have begun.
    pub(crate) fn begun(&self) -> usize {
        *self.0.begun.borrow()
    }

    /// How many attempts run now.
    pub(crate) fn running(&self) -> usize {
        self.0.running.lock().unwrap().0
    }

    /// What the code was told, in order.
    pub(crate) fn causes(&self) -> Vec<Cause> {
        self.0.causes.borrow().clone()
    }

    /// Which attempts began, in order.
    pub(crate) fn attempts(&self) -> Vec<String> {
        self.0.log.lock().unwrap().clone()
    }
}
