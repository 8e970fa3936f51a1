//! The one workflow: it does what the node says that its input names.

use std::{
    panic::resume_unwind,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};

use bowline_core::{
    ActivitySpec, ChildSpec, Code, ContinueAsNew, Failure, Ladder, Outcome, ParentClose, Payload,
    RetryPolicy, RunId, Span, Timeouts,
};
use bowline_replay::{
    Context, Delay, Ended, Handle, LocalFuture, Workflow, join_all, race, try_join_all, unfit,
};

use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;

use super::{Act, Cleanup, Close, Leaf, Node, What, notes::Notes};
use crate::{observer::Observer, process::Process, world::World};

/// The queue that everything waits in.
pub(crate) const QUEUE: &str = "work";

/// What refunds.
pub(crate) const REFUND: &str = "refund";

/// The queue that remote workers look at.
pub(crate) const FAR: &str = "far";

/// The workflow of a world.
pub(crate) struct Flow {
    pub(crate) world: Arc<World>,
    /// What the code says about itself.
    pub(crate) notes: Arc<Notes>,
    pub(crate) edition: Edition,
}

/// The code as one process has it.
#[derive(Clone, Default)]
pub(crate) struct Edition {
    /// This build does something more in some places.
    pub(crate) drifts: bool,
    /// In which order maps are walked here.
    pub(crate) turned: bool,
    /// Which activities are not registered in this process, a bit for each: code that calls one
    /// cannot go on here.
    pub(crate) lacks: u8,
    /// Where something comes from that no history has.
    pub(crate) outside: Option<Outside>,
}

/// Everything beside the histories.
#[derive(Clone)]
pub(crate) struct Outside {
    pub(crate) runtime: Runtime,
    pub(crate) process: Arc<Process>,
    pub(crate) observer: Arc<Observer>,
}

type Done = Result<(), Ended>;

impl Workflow for Flow {
    fn call(
        &self,
        ctx: Context,
        input: Option<Payload>,
    ) -> LocalFuture<'static, Result<Option<Payload>, Ended>> {
        let (world, notes, edition) =
            (self.world.clone(), self.notes.clone(), self.edition.clone());
        Box::pin(async move {
            ctx.expose("q", Ok);
            let node = input.as_ref().and_then(number).and_then(|id| world.find(id as u32));
            let Some(node) = node else { return Ok(None) };
            let at = At { ctx, notes, edition, scope: None };
            carry_out(at, node).await?;
            Ok(Some(Payload::json("\"done\"")))
        })
    }
}

/// A number as an input.
pub(crate) fn input(number: u64) -> Option<Payload> {
    Some(Payload::json(number.to_string()))
}

/// The number of an input.
pub(crate) fn number(input: &Payload) -> Option<u64> {
    std::str::from_utf8(input.bytes.as_slice()).ok()?.parse().ok()
}

/// The name of a workflow, by the program's number.
pub(crate) fn flow_name(node: u32) -> String {
    format!("flow{}", node % 2)
}

/// Where in a run the code is.
#[derive(Clone)]
struct At {
    ctx: Context,
    notes: Arc<Notes>,
    edition: Edition,
    /// The scope around that refunds.
    scope: Option<u32>,
}

impl At {
    /// An activity that this process can call by what it has registered, as typed code does. What
    /// is far needs no code here.
    fn registered(&self, act: &Act, id: u32) -> ActivitySpec {
        let spec = activity(act, id);
        if !act.far && self.edition.lacks >> act.name & 1 == 1 {
            unfit();
            // Not a panic of anybody's: nobody is told of it but the engine.
            resume_unwind(Box::new(format!("{} is not registered", spec.name)));
        }
        spec
    }
}

fn carry_out(at: At, node: &Node) -> LocalFuture<'static, Done> {
    let node = node.clone();
    Box::pin(async move {
        match node.what {
            What::Nothing => Ok(()),
            What::Await(ref leaf) => leaf.start(&at, node.id).end(&at).await,
            What::Start(ref leaf) => {
                let _started = leaf.start(&at, node.id);
                Ok(())
            }
            What::Detach(ref leaf) => {
                leaf.detach(&at, node.id);
                Ok(())
            }
            What::Cancel(ref leaf) => leaf.start(&at, node.id).cancelled(&at).await,
            What::Signal => hear(at, node.id).await,
            What::Update => answer(at, node.id).await,
            What::Fail => Err(Failure::new("planned").into()),
            What::Sequence(parts) => sequence(at, &parts).await,
            What::Join(parts) => {
                let parts = parts.iter().map(|part| carry_out(at.clone(), part));
                join_all(parts).await.into_iter().collect()
            }
            What::TryJoin(parts) => {
                let parts = parts.iter().map(|part| carry_out(at.clone(), part));
                try_join_all(parts).await.map(drop)
            }
            What::Race(parts) => race(parts.iter().map(|part| carry_out(at.clone(), part))).await.1,
            What::Scope { body, deadline, cleanup } => {
                scope(at, node.id, &body, deadline, cleanup).await
            }
            What::Shield(body) => at.ctx.clone().shield(carry_out(at, &body)).await,
            What::Guard(body) => {
                let _guard = Guard(at.ctx.clone());
                carry_out(at, &body).await
            }
            What::Foreign => {
                let edition = at.edition.clone();
                let (notes, run) = (at.notes.clone(), at.ctx.info().run);
                Foreign { notes, node: node.id, run, edition, waits: None }.await;
                Ok(())
            }
            What::Shuffle(mut parts) => {
                if at.edition.turned {
                    parts.reverse();
                }
                let parts = parts.iter().map(|part| carry_out(at.clone(), part));
                join_all(parts).await.into_iter().collect()
            }
            What::Drift(body) => {
                if at.edition.drifts {
                    at.ctx.timer(Duration::from_millis(1)).await.map_err(Ended::Cancelled)?;
                }
                carry_out(at, &body).await
            }
            What::Continue(next) => {
                at.notes.say(|said| said.continues = true);
                let next =
                    ContinueAsNew { input: input(u64::from(next.id)), ..ContinueAsNew::default() };
                match at.ctx.continue_as_new(next).await {}
            }
        }
    })
}

async fn hear(at: At, node: u32) -> Done {
    at.notes.say(|said| said.awaits.insert(node));
    let signal = at.ctx.signals("s").recv().await;
    at.notes.say(|said| {
        said.awaits.remove(&node);
        said.received.extend(signal.input.as_ref().and_then(number));
    });
    Ok(())
}

async fn answer(at: At, node: u32) -> Done {
    at.notes.say(|said| said.awaits.insert(node));
    at.ctx.updates("u").recv().await.reply(Ok(None));
    at.notes.say(|said| said.awaits.remove(&node));
    Ok(())
}

/// What comes from elsewhere, after a while: in no history, so it would not come again.
struct Foreign {
    notes: Arc<Notes>,
    node: u32,
    run: RunId,
    edition: Edition,
    /// There as long as it waits: whom to wake.
    waits: Option<Arc<Mutex<task::Waker>>>,
}

impl Future for Foreign {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
        if let Some(waits) = &self.waits {
            waits.lock().clone_from(cx.waker());
        } else {
            let waits = Arc::new(Mutex::new(cx.waker().clone()));
            let (waiting, run) = (Arc::downgrade(&waits), self.run);
            self.waits = Some(waits);
            self.notes.say(|said| said.foreign.insert(self.node));
            if let Some(Outside { runtime, process, observer }) = self.edition.outside.clone() {
                runtime.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(80)).await;
                    process.thawed().await;
                    // Who has left memory is woken in vain.
                    if let Some(waits) = waiting.upgrade().filter(|_| !process.is_dead()) {
                        observer.intrudes(run, process.life);
                        let waker = waits.lock().clone();
                        drop(waits);
                        waker.wake();
                    }
                });
            }
        }
        Poll::Pending
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.notes.say(|said| said.foreign.remove(&self.node));
    }
}

/// Asks for something when it is dropped, whenever that is.
struct Guard(Context);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.random();
    }
}

/// What an earlier part has started stays until the last one is done.
async fn sequence(at: At, parts: &[Node]) -> Done {
    let mut beside = Vec::new();
    for part in parts {
        match &part.what {
            What::Start(leaf) => beside.push(leaf.start(&at, part.id)),
            _ => carry_out(at.clone(), part).await?,
        }
    }
    Ok(())
}

async fn scope(
    at: At,
    id: u32,
    body: &Node,
    deadline: Option<u64>,
    cleanup: Option<Cleanup>,
) -> Done {
    let refunds = matches!(cleanup, Some(Cleanup::Refund));
    // Another clean-up takes what is inside out of the hands of an outer one.
    let around = if cleanup.is_some() { None } else { at.scope };
    let inside = At { scope: if refunds { Some(id) } else { around }, ..at.clone() };
    let (body, notes) = (carry_out(inside, body), at.notes.clone());
    let mut scope = at.ctx.scope(async move {
        body.await?;
        notes.say(|said| said.succeeded.insert(id));
        Ok(())
    });
    if let Some(ms) = deadline {
        scope = scope.deadline(Duration::from_millis(ms));
    }
    if let Some(cleanup) = cleanup {
        let after = At { scope: None, ..at.clone() };
        scope = scope.cleanup(async move |ctx, stopped| {
            let completed: Vec<_> = stopped.completed.iter().map(|item| item.number).collect();
            match cleanup {
                Cleanup::Run(node) => carry_out(after, &node).await,
                Cleanup::Refund => {
                    let told = completed.iter().copied().collect();
                    after.notes.say(|said| said.refunds.insert(id, told));
                    for number in completed {
                        let spec = ActivitySpec {
                            name: REFUND.into(),
                            queue: QUEUE.into(),
                            input: input(number.0),
                            ..ActivitySpec::default()
                        };
                        // How it ends is no reason to leave the others.
                        drop(ctx.activity(spec).await);
                    }
                    Ok(())
                }
            }
        });
    }
    let ended = scope.await;
    let cause = ended.as_ref().err().and_then(|stopped| stopped.why.cause());
    if cause.is_some_and(|cause| cause.code == Code::Deadline) && deadline.is_some() {
        at.notes.say(|said| said.succeeded.contains(&id).then(|| said.robbed.insert(id)));
    }
    Ok(ended?)
}

/// Something that was started.
enum Started {
    Activity(Handle<ActivitySpec>, u32),
    Timer(Handle<Delay>),
    Child(Handle<ChildSpec>),
}

impl Leaf {
    fn start(&self, at: &At, id: u32) -> Started {
        match self {
            Self::Activity(act) => {
                let handle = at.ctx.activity(at.registered(act, id)).start();
                let around = at.scope.map(|scope| (handle.number(), scope));
                at.notes.say(|said| said.inside.extend(around));
                Started::Activity(handle, id)
            }
            Self::Timer(ms) => Started::Timer(at.ctx.timer(Duration::from_millis(*ms)).start()),
            Self::Child { node, close, retries } => {
                Started::Child(at.ctx.child(child(node, *close, *retries)).start())
            }
        }
    }

    fn detach(&self, at: &At, id: u32) {
        match self {
            Self::Activity(act) => _ = at.ctx.activity(at.registered(act, id)).detach(),
            Self::Timer(ms) => _ = at.ctx.timer(Duration::from_millis(*ms)).detach(),
            Self::Child { node, close, retries } => {
                let _ = at.ctx.child(child(node, *close, *retries)).detach();
            }
        }
    }
}

impl Started {
    async fn end(self, at: &At) -> Done {
        match self {
            Self::Activity(handle, id) => match handle.await {
                Outcome::Completed(result) => {
                    let answers = result.as_ref().and_then(number);
                    if answers.is_some_and(|own| own != u64::from(id)) {
                        at.notes.say(|said| said.swapped.insert(id));
                    }
                    Ok(())
                }
                Outcome::Cancelled(cause, ..) => Err(Ended::Cancelled(cause)),
                Outcome::TimedOut(timeout) => Err(Ended::TimedOut(timeout)),
                Outcome::Failed(failure) => Err(Ended::Failed(failure)),
                other => Err(Failure::new(format!("{other:?}")).into()),
            },
            Self::Timer(handle) => handle.await.map_err(Ended::Cancelled),
            Self::Child(handle) => handle.await.map(drop),
        }
    }

    async fn cancelled(self, at: &At) -> Done {
        let cancelled = match self {
            Self::Activity(handle, id) => Self::Activity(handle.cancel(), id),
            Self::Timer(handle) => Self::Timer(handle.cancel()),
            Self::Child(handle) => Self::Child(handle.cancel()),
        };
        // How it ended is no reason to fail.
        drop(cancelled.end(at).await);
        Ok(())
    }
}

fn span(ms: u64) -> Span {
    Span(Duration::from_millis(ms))
}

/// Quick, so that worlds stay short.
fn retry(attempts_max: u32) -> RetryPolicy {
    RetryPolicy {
        initial: span(300),
        coefficient: 2.0,
        interval_max: None,
        attempts_max,
        non_retryable: Vec::new(),
    }
}

fn activity(act: &Act, id: u32) -> ActivitySpec {
    let silent = act.beats.map(|ms| span(ms * 3 + 2_000));
    ActivitySpec {
        name: format!("act{}", act.name).into(),
        queue: if act.far { FAR } else { QUEUE }.into(),
        remote: act.far,
        input: input(u64::from(id)),
        timeouts: Timeouts {
            start_to_close: act.limit.map(span),
            heartbeat: silent,
            ..Timeouts::default()
        },
        retry: (act.fails > 0).then(|| retry(3)),
        ladder: Ladder { grace: span(act.grace), step: span(500), detach: false },
        ..ActivitySpec::default()
    }
}

fn child(node: &Node, close: Close, retries: bool) -> ChildSpec {
    ChildSpec {
        name: flow_name(node.id).into(),
        queue: QUEUE.into(),
        input: input(u64::from(node.id)),
        close: match close {
            Close::Cancel => ParentClose::Cancel,
            Close::Terminate => ParentClose::Terminate,
            Close::Abandon => ParentClose::Abandon,
        },
        retry: retries.then(|| retry(2)),
        ..ChildSpec::default()
    }
}
