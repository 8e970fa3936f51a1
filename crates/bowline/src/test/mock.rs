//! Other code in place of an activity's own: what the test says instead.
//!
//! A mock belongs to the test's own thread, so it may hold whatever the test holds. The attempt
//! that it stands in for asks for it and waits.

use std::{
    any::Any,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    future::{pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::Poll,
};

use bowline_engine::{
    core::{Name, Payload},
    worker::{
        activity::ActivityContext,
        registry::{ActivityCode, Answer},
    },
};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::{
    point::{Side, Step},
    world::World,
};
use crate::ActivityCtx;

/// How many calls may wait for their mock to be looked up.
const CALLS: usize = 1_024;

type LocalFuture = Pin<Box<dyn Future<Output = Answer>>>;

/// What stands in for an activity, without its types.
pub(super) type Mock = Rc<dyn Fn(ActivityCtx, Option<Payload>) -> LocalFuture>;

/// The test's side.
#[derive(Clone)]
pub(super) struct Mocks {
    by_name: Rc<RefCell<BTreeMap<Name, Mock>>>,
    mock_calls: Arc<MockCalls>,
}

/// The attempts' side.
pub(super) struct MockCalls {
    names: Mutex<BTreeSet<Name>>,
    calls: mpsc::Sender<Call>,
}

struct Call {
    name: Name,
    world: Arc<World>,
    ctx: ActivityContext,
    input: Option<Payload>,
    reply: oneshot::Sender<Result<Answer, Box<dyn Any + Send>>>,
}

impl Mocks {
    /// No mocks yet. Calls are served for as long as the test's own thread has the future that
    /// this spawns on it.
    pub(super) fn new() -> Self {
        let (calls, mut called) = mpsc::channel::<Call>(CALLS);
        let mock_calls = Arc::new(MockCalls { names: Mutex::default(), calls });
        let by_name: Rc<RefCell<BTreeMap<Name, Mock>>> = Rc::default();
        let mocks = by_name.clone();
        tokio::task::spawn_local(async move {
            while let Some(call) = called.recv().await {
                let mock = mocks.borrow().get(&call.name).cloned();
                // Without one, the caller sees that its call was dropped.
                if let Some(mock) = mock {
                    tokio::task::spawn_local(serve(mock, call));
                }
            }
        });
        Self { by_name, mock_calls }
    }

    pub(super) fn mock_calls(&self) -> &Arc<MockCalls> {
        &self.mock_calls
    }

    pub(super) fn set(&self, name: Name, mock: Mock) {
        self.mock_calls.names.lock().insert(name.clone());
        self.by_name.borrow_mut().insert(name, mock);
    }

    pub(super) fn unset(&self, name: &Name) {
        self.mock_calls.names.lock().remove(name);
        self.by_name.borrow_mut().remove(name);
    }
}

/// One call, until it is done or nobody waits for it any more.
async fn serve(mock: Mock, call: Call) {
    let Call { name, world, ctx, input, mut reply } = call;
    let mut answer = Box::pin(async move { mock(ActivityCtx::new(ctx), input).await });
    let mut begun = Begun { name, world, is_over: false };
    let done = poll_fn(|cx| {
        if reply.poll_closed(cx).is_ready() {
            return Poll::Ready(None);
        }
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx)));
        if !begun.goes_on() {
            return Poll::Ready(None);
        }
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Some(Ok(answer))),
            Err(panic) => Poll::Ready(Some(Err(panic))),
        }
    })
    .await;
    drop(answer);
    if let Some(done) = done {
        // Whoever waited may have gone.
        let _ = reply.send(done);
    }
}

/// An attempt that comes to its first await.
struct Begun {
    name: Name,
    world: Arc<World>,
    is_over: bool,
}

impl Begun {
    /// Called after each poll; false if the process is dead, and this is not polled again.
    fn goes_on(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.is_over, true);
        !is_first || self.world.passes(Side::After, Step::Begin, &self.name)
    }
}

impl MockCalls {
    fn is_mocked(&self, name: &Name) -> bool {
        self.names.lock().contains(name)
    }

    async fn call(
        &self,
        name: Name,
        world: Arc<World>,
        ctx: ActivityContext,
        input: Option<Payload>,
    ) -> Answer {
        let (reply, replied) = oneshot::channel();
        let sent = self.calls.send(Call { name, world, ctx, input, reply }).await;
        match (sent, replied.await) {
            (Ok(()), Ok(Ok(answer))) => answer,
            // The mock's panic is the attempt's.
            (Ok(()), Ok(Err(panic))) => resume_unwind(panic),
            // The test is over.
            _ => pending().await,
        }
    }
}

/// An activity's own code, or its mock; and the points that an attempt passes as it begins.
pub(super) struct Mockable {
    pub(super) name: Name,
    pub(super) code: Arc<dyn ActivityCode>,
    pub(super) world: Arc<World>,
    pub(super) mock_calls: Arc<MockCalls>,
}

impl ActivityCode for Mockable {
    fn call(
        &self,
        ctx: ActivityContext,
        input: Option<Payload>,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        let (name, world, mock_calls) =
            (self.name.clone(), self.world.clone(), self.mock_calls.clone());
        let code = self.code.clone();
        Box::pin(async move {
            if !world.passes(Side::Before, Step::Begin, &name) {
                return pending().await;
            }
            world.begins(&name);
            if mock_calls.is_mocked(&name) {
                return mock_calls.call(name, world, ctx, input).await;
            }
            let mut answer = code.call(ctx, input);
            let mut begun = Begun { name, world, is_over: false };
            poll_fn(move |cx| {
                let polled = answer.as_mut().poll(cx);
                if begun.goes_on() { polled } else { Poll::Pending }
            })
            .await
        })
    }
}
