//! Clients: what is asked of the engine, by whom, and when.

use std::{fmt, sync::Arc, time::Duration};

use bowline_core::{
    Address, Cause, Ladder, Namespace, Payload, ReceiptId, RetryPolicy, RunId, Signal, Span,
    UpdateRequest, UpdateStage,
};
use bowline_engine::{CancelRequest, Engine, Error, StartOptions};
use bowline_store::{Phase, Whom};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    chance::Draw,
    host::Host,
    program::code::{QUEUE, flow_name, input},
};

/// One thing that a client wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// Its number.
    pub id: u64,
    /// When, in milliseconds.
    pub at: u64,
    /// Through which member, if it is there.
    pub via: usize,
    /// About which program's run.
    pub program: usize,
    /// What.
    pub request: Request,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// Start the program.
    Start {
        /// Whether the run is tried again when it fails.
        retries: bool,
        /// Every so many seconds, if it is on a schedule.
        every: Option<u64>,
    },
    /// Send a signal.
    Signal,
    /// Ask for an update, and wait for the answer.
    Update,
    /// Cancel, and wait for how far that has come.
    Cancel {
        /// How long activities have, in milliseconds.
        grace: Option<u64>,
        /// When runs that stay open are terminated, in milliseconds.
        terminate: Option<u64>,
        /// For which phase is waited: 0 for none, 6 for clean.
        phase: u8,
    },
    /// Cancel one of the things that the run started.
    CancelOne(u64),
    /// Cancel some run of the tree, not the first.
    CancelBelow(u64),
    /// Terminate.
    Terminate,
    /// Terminate and forget.
    Delete,
    /// Wait for the outcome.
    Outcome,
    /// Ask the run's code for something.
    Query,
    /// Begin again from an earlier turn.
    Fork(u64),
    /// Let everybody try a parked run again.
    Retry,
    /// Say that the process is gone which that member was before it was killed.
    Gone(usize),
}

impl Request {
    /// What is said of it when it was done, or refused.
    fn kind(&self, is_done: bool) -> &'static str {
        match self {
            _ if !is_done => "a request is refused",
            Self::Start { every: Some(_), .. } => "a schedule is started",
            Self::Start { .. } => "a start is answered",
            Self::Signal => "a signal is answered",
            Self::Update => "an update is answered",
            Self::Cancel { .. } => "a cancel is answered",
            Self::CancelOne(_) => "a cancel of one is answered",
            Self::CancelBelow(_) => "a cancel below is answered",
            Self::Terminate => "a termination is answered",
            Self::Delete => "a deletion is answered",
            Self::Outcome => "an outcome is answered",
            Self::Query => "a query is answered",
            Self::Fork(_) => "a fork is answered",
            Self::Retry => "a retry is answered",
            Self::Gone(_) => "a word about a member is answered",
        }
    }

    pub(crate) fn of(draw: Draw) -> Self {
        match draw.below(100) {
            0..30 => Self::Signal,
            30..38 => Self::Update,
            38..68 => Self::Cancel {
                grace: draw.next(1).per_mille(300).then(|| draw.next(2).between(0, 3_000)),
                terminate: draw.next(3).per_mille(250).then(|| draw.next(4).between(0, 12_000)),
                phase: draw.next(5).below(8).min(6) as u8,
            },
            68..76 => Self::CancelOne(draw.next(6).below(6)),
            76..84 => Self::CancelBelow(draw.next(7).below(4)),
            84..92 => Self::Terminate,
            92..94 => Self::Delete,
            94..96 => Self::Query,
            96 => Self::Retry,
            97 => Self::Fork(draw.next(8).below(6)),
            98 => Self::Gone(draw.next(9).below(3) as usize),
            _ => Self::Outcome,
        }
    }
}

const PHASES: [Phase; 7] = [
    Phase::Requested,
    Phase::Decided,
    Phase::Delivered,
    Phase::Observed,
    Phase::Stopped,
    Phase::Settled,
    Phase::Clean,
];

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, at, via, program, request } = self;
        write!(f, "{at} ms: client {id} through m{via}, program {program}: {request:?}")
    }
}

/// Does what an op says, through one member after the other, until one has answered.
pub(crate) async fn act(host: Arc<Host>, op: Op) {
    sleep_until(host.began + Duration::from_millis(op.at)).await;
    let mut via = op.via;
    for _ in 0..TRIES_MAX {
        let (life, engine) = host.engine(via).await;
        let answered = host.through(life, ask(&host, &engine, &op)).await;
        host.observer.client(op.id, life, answered.as_deref());
        match answered {
            Some(answer) => {
                let is_done = !answer.starts_with("refused") && !answer.starts_with("there is");
                return host.observer.reach(op.request.kind(is_done));
            }
            // Its process is gone, or cannot do it: another one may.
            None => {
                via += 1;
                sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// Deletes a program's first run; none if nobody has it.
async fn delete(host: &Host, engine: &Engine, op: &Op) -> Option<Result<String, Error>> {
    let run = host.observer.root(op.program)?;
    host.observer.deletes(run);
    let deleted = engine.delete(run, Cause::requested("simulated", "client")).await;
    Some(deleted.map(|receipt| {
        if let Some(receipt) = receipt {
            host.observer.receipt(receipt, false);
            host.observer.terminated(receipt);
        }
        said("told")
    }))
}

/// How often a client tries.
const TRIES_MAX: u32 = 1_000;

/// What came of it; none if it should be tried again.
async fn ask(host: &Host, engine: &Engine, op: &Op) -> Option<String> {
    let done = match &op.request {
        Request::Start { retries, every } => start(host, engine, op, *retries, *every).await,
        Request::Signal => signal(host, engine, op).await,
        Request::Update => update(host, engine, op).await,
        Request::Cancel { grace, terminate, phase } => {
            let mut request = request(op);
            if let Some(ms) = grace {
                let (grace, step) = (span(*ms), span(300));
                request = request.ladder(Ladder { grace, step, detach: false });
            }
            if let Some(ms) = terminate {
                request = request.terminate_after(Duration::from_millis(*ms));
            }
            cancel(host, engine, address(op), request, *phase).await
        }
        Request::CancelOne(nth) => cancel_one(host, engine, op, *nth).await,
        Request::CancelBelow(nth) => {
            let Some(run) = host.observer.below(op.program, *nth) else { return nothing() };
            cancel(host, engine, Address::Run(run), request(op), 6).await
        }
        Request::Terminate => {
            let cause = Cause::requested("simulated", "client");
            let receipt = engine.terminate(address(op), cause).await;
            receipt.map(|receipt| {
                host.observer.receipt(receipt, false);
                host.observer.terminated(receipt);
                said("closed")
            })
        }
        Request::Delete => match delete(host, engine, op).await {
            Some(deleted) => deleted,
            None => return nothing(),
        },
        Request::Outcome => {
            let Some(run) = host.observer.root(op.program) else { return nothing() };
            engine.outcome(run).await.map(|(_, ending)| format!("{ending:?}"))
        }
        Request::Query => {
            let Some(run) = host.observer.root(op.program) else { return nothing() };
            engine.query(run, "q", input(op.id)).await.map(|answer| format!("{answer:?}"))
        }
        Request::Fork(nth) => {
            let Some((run, turn)) = host.observer.turn(op.program, *nth) else { return nothing() };
            let cause = Cause::requested("simulated", "client");
            engine.fork(run, turn, cause).await.map(|run| format!("forked as {run}"))
        }
        Request::Retry => {
            let Some(run) = host.observer.root(op.program) else { return nothing() };
            engine.retry(run).await.map(|()| said("told"))
        }
        Request::Gone(member) => {
            let Some(life) = host.dead_life(*member) else { return nothing() };
            let whom = Whom::Identity(format!("{life}").into());
            engine.member_gone(whom, "operator").await.map(|attested| format!("{attested:?}"))
        }
    };
    match done {
        Ok(answer) => Some(answer),
        Err(error) if is_passing(&error) => None,
        Err(error) => Some(format!("refused: {error}")),
    }
}

fn said(what: &str) -> String {
    what.to_owned()
}

fn nothing() -> Option<String> {
    Some(said("there is nothing to ask it of"))
}

fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Store(_) | Error::ShuttingDown | Error::TimedOut(_))
}

fn span(ms: u64) -> Span {
    Span(Duration::from_millis(ms))
}

fn address(op: &Op) -> Address {
    Address::Current(Namespace(1), workflow_id(op.program).into())
}

/// What the user calls the run of a program.
pub(crate) fn workflow_id(program: usize) -> String {
    format!("r{program}")
}

fn request(op: &Op) -> CancelRequest {
    let request = CancelRequest::new("simulated", "client");
    CancelRequest { request_id: format!("op{}", op.id).into(), ..request }
}

async fn start(
    host: &Host,
    engine: &Engine,
    op: &Op,
    retries: bool,
    every: Option<u64>,
) -> Result<String, Error> {
    let Some(node) = host.world.programs.get(op.program).map(|node| node.id) else {
        return Ok(said("there is no such program"));
    };
    let id = workflow_id(op.program);
    let mut options = StartOptions::new(flow_name(node), id, QUEUE, input(u64::from(node)));
    if retries {
        let retry = RetryPolicy { initial: span(400), attempts_max: 2, ..RetryPolicy::default() };
        options.started.retry = Some(retry);
    }
    if let Some(seconds) = every {
        options.started.cron = seconds.to_string();
    }
    let run = engine.start(options.request(format!("op{}", op.id))).await?;
    host.observer.acknowledges_start(op.program, run);
    Ok(said("started"))
}

async fn signal(host: &Host, engine: &Engine, op: &Op) -> Result<String, Error> {
    let signal = Signal {
        name: "s".into(),
        input: Some(Payload::json(op.id.to_string())),
        header: Default::default(),
        identity: "client".into(),
        request_id: format!("op{}", op.id).into(),
        external: None,
        wire: None,
    };
    let run = engine.signal(address(op), signal).await?;
    host.observer.acknowledges_signal(op.id, run);
    Ok(said("acknowledged"))
}

async fn update(host: &Host, engine: &Engine, op: &Op) -> Result<String, Error> {
    let Some(run) = host.observer.root(op.program) else {
        return Ok(said("there is nothing to ask it of"));
    };
    let request = UpdateRequest {
        id: format!("op{}", op.id).into(),
        name: "u".into(),
        input: None,
        header: Default::default(),
        identity: "client".into(),
        only: None,
    };
    let stage = engine.update(run, request).await?;
    if let UpdateStage::Completed(_) = stage {
        host.observer.answers_update(op.id, run);
    }
    Ok(format!("{stage:?}"))
}

async fn cancel(
    host: &Host,
    engine: &Engine,
    to: Address,
    request: CancelRequest,
    phase: u8,
) -> Result<String, Error> {
    let receipt = engine.cancel(to, request).await?;
    host.observer.receipt(receipt, true);
    wait(engine, receipt, phase).await
}

async fn wait(engine: &Engine, receipt: ReceiptId, phase: u8) -> Result<String, Error> {
    // What keeps a receipt from being clean may be left for good: nobody waits for ever.
    let patience = Duration::from_secs(60);
    let phase = PHASES[usize::from(phase).min(6)];
    match tokio::time::timeout(patience, engine.wait(receipt, phase)).await {
        Ok(Ok(left)) => Ok(format!("{:?}", left.phase())),
        Ok(Err(Error::NotFound(_))) => Ok(said("the receipt has expired")),
        Ok(Err(error)) => Err(error),
        Err(_) => Ok(said("it took too long")),
    }
}

async fn cancel_one(host: &Host, engine: &Engine, op: &Op, nth: u64) -> Result<String, Error> {
    let Some((run, target)) = host.observer.started(op.program, nth) else {
        return Ok(said("there is nothing to cancel"));
    };
    engine.cancel_one(run, target, request(op)).await.map(|met| format!("{met:?}"))
}

/// Cancels whatever is still open when a world comes to its end.
pub(crate) async fn close(host: Arc<Host>, run: RunId, nth: u64) {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        let (life, engine) = host.engine(0).await;
        let request = CancelRequest::new("the world ends", "observer")
            .terminate_after(Duration::from_secs(15))
            .ladder(Ladder { grace: span(1_000), step: span(500), detach: false });
        let request = CancelRequest { request_id: format!("close{nth}").into(), ..request };
        let asked = host.through(life, async {
            match engine.cancel(Address::Run(run), request).await {
                Ok(receipt) => {
                    host.observer.receipt(receipt, true);
                    Some(())
                }
                Err(error) if is_passing(&error) => None,
                Err(_) => Some(()),
            }
        });
        match asked.await {
            Some(()) => return,
            None => sleep(Duration::from_millis(200)).await,
        }
    }
}
