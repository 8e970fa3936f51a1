//! Work that is begun on the thread that asks for it: as far as it comes without waiting there, the
//! rest in the background.
//!
//! In:    work that must be finished.
//! Out:   the same work, done. Nobody is woken to begin it: whoever has the answer that it waits
//!        for wakes the thread that goes on with it.
//! Never: waits, or polls anything twice at once.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::EngineInner;

type Ongoing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Work that waits for its first answer.
struct Ahead {
    runtime: Handle,
    stage: Mutex<Stage>,
}

enum Stage {
    /// Whoever asked for it is polling it; and whether the answer has come meanwhile.
    Begun { is_woken: bool },
    /// It waits, and nothing runs it.
    Waits(Ongoing),
    /// It is over, or the runtime has it.
    Passed,
}

impl Ahead {
    /// Polls the work once, where this is called.
    fn poll_once(runtime: &Handle, mut work: Ongoing) {
        let stage = Mutex::new(Stage::Begun { is_woken: false });
        let ahead = Arc::new(Self { runtime: runtime.clone(), stage });
        let waker = Waker::from(ahead.clone());
        let poll = {
            let _here = runtime.enter();
            work.as_mut().poll(&mut Context::from_waker(&waker))
        };
        let mut stage = ahead.stage.lock();
        let is_woken = matches!(*stage, Stage::Begun { is_woken: true });
        *stage = match poll {
            Poll::Pending if !is_woken => return *stage = Stage::Waits(work),
            _ => Stage::Passed,
        };
        drop(stage);
        if poll.is_pending() {
            drop(runtime.spawn(work));
        }
    }
}

impl Wake for Ahead {
    fn wake(self: Arc<Self>) {
        let mut stage = self.stage.lock();
        match std::mem::replace(&mut *stage, Stage::Passed) {
            Stage::Begun { .. } => *stage = Stage::Begun { is_woken: true },
            Stage::Waits(work) => {
                drop(stage);
                drop(self.runtime.spawn(work));
            }
            Stage::Passed => {}
        }
    }
}

/// Work that somebody waits for. Once begun it is finished, whether or not they still do.
pub(crate) struct Insisted<T: Send + 'static> {
    inner: Arc<EngineInner>,
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    is_begun: bool,
}

impl<T: Send + 'static> Future for Insisted<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.is_begun = true;
        let work = self.work.as_mut().expect("nobody polls what has ended");
        let poll = work.as_mut().poll(cx);
        if poll.is_ready() {
            self.work = None;
        }
        poll
    }
}

impl<T: Send + 'static> Drop for Insisted<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take().filter(|_| self.is_begun) {
            self.inner.finish(async move { drop(work.await) });
        }
    }
}

impl EngineInner {
    /// Work that goes on in the background if whoever waits for it goes away in the middle.
    pub(crate) fn insist<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Insisted<T> {
        Insisted { inner: self.clone(), work: Some(Box::pin(work)), is_begun: false }
    }

    /// Runs something that must be finished, even while the engine stops. It is begun at once, on
    /// this thread, which does not wait for it.
    pub(crate) fn finish_here(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        match &self.killable {
            // What may be killed at any moment is never polled but by the runtime.
            Some(_) => self.finish(work),
            None => Ahead::poll_once(&self.runtime, Box::pin(self.background.track_future(work))),
        }
    }

    /// The same, of a thread that has nothing else to do until the work is answered: the store may
    /// have it meanwhile.
    pub(crate) fn finish_lending(
        self: &Arc<Self>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut work = Some(work);
        self.store.lend(&mut || work.take().into_iter().for_each(|work| self.finish_here(work)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn it_begins_at_once_and_goes_on_when_it_is_answered() {
        let (answer, waits) = oneshot::channel();
        let (done, ended) = oneshot::channel();
        let (said, begun) = std::sync::mpsc::sync_channel(1);
        Ahead::poll_once(
            &Handle::current(),
            Box::pin(async move {
                said.send(()).expect("somebody looks");
                done.send(waits.await).expect("somebody waits");
            }),
        );
        begun.try_recv().expect("it has begun already");
        answer.send(7).expect("it waits");
        assert_eq!(ended.await.expect("it ends"), Ok(7));
    }

    #[tokio::test]
    async fn an_answer_that_comes_while_it_begins_is_not_lost() {
        let (done, ended) = oneshot::channel();
        Ahead::poll_once(
            &Handle::current(),
            Box::pin(async move {
                tokio::task::yield_now().await;
                done.send(()).expect("somebody waits");
            }),
        );
        ended.await.expect("it ends");
    }

    #[tokio::test]
    async fn what_nobody_will_answer_is_dropped_with_who_would() {
        let (answer, waits) = oneshot::channel::<()>();
        let (alive, dropped) = oneshot::channel::<()>();
        Ahead::poll_once(
            &Handle::current(),
            Box::pin(async move {
                let _alive = alive;
                let _ = waits.await;
            }),
        );
        drop(answer);
        dropped.await.expect_err("it has ended");
    }
}
