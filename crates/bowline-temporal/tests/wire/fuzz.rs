//! Mutated real requests, to every method that is answered: each gets an answer, in time, and a
//! good client is served afterwards as before.
//!
//! `BOWLINE_FUZZ=1000` sends a thousand times as many; `BOWLINE_FUZZ_SEED` begins elsewhere.

mod request;
mod wire;

use std::{
    collections::BTreeMap,
    error::Error as _,
    sync::{
        Arc, Once,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_engine::{
    Engine,
    store::{Store, memory::MemoryStore},
};
use bowline_temporal::{Door, Listening, limits::Limits};
use temporalio_protos::temporal::api::workflowservice::v1::*;
use tokio::task::JoinSet;
use tonic::{Code, Request, Status, client::Grpc, transport::Channel};

use crate::world::{SPACE, World, complete, queue, start};
use request::{Live, Seed};
use wire::{Choices, Raw};

/// How many are sent in the tests.
const TRIES: u64 = 4_000;
/// How many are sent at once, and for how many runs there are tokens that were right once.
const AT_ONCE: u64 = 50;
/// How long a client waits, and how long it may take until it is told so.
const PATIENCE: Duration = Duration::from_millis(200);
const HANGS: Duration = Duration::from_secs(30);
/// How often a call is made again whose connection has ended.
const CONNECTIONS: usize = 5;
/// A queue that no mutated request knows.
const QUIET: &str = "a quiet queue";

fn setting(name: &str, unset: u64) -> u64 {
    std::env::var(name).map_or(unset, |text| text.parse().expect("a whole number"))
}

/// How many threads and tasks have panicked so far.
fn panics() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            COUNT.fetch_add(1, Ordering::Relaxed);
            before(info);
        }));
    });
    COUNT.load(Ordering::Relaxed)
}

/// The most memory that this process had so far, in KiB; nothing where nobody says so.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

async fn world() -> World {
    let store = MemoryStore::new();
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let engine = Engine::builder(shared).identity("server").start().await.expect("it starts");
    let limits = Limits { poll: PATIENCE / 4, ..Limits::default() };
    let door = Door::with(engine.clone(), SPACE, limits);
    let address = "127.0.0.1:0".parse().expect("an address");
    let listening = bowline_temporal::serve(door.clone(), address).await.expect("it listens");
    let channel = channel(&listening);
    World { engine, door, channel, listening, store }
}

fn channel(listening: &Listening) -> Channel {
    let channel = Channel::from_shared(format!("http://{}", listening.address));
    channel.expect("a uri").connect_lazy()
}

/// Sends bytes to a method, whatever they are. A server that has much else to do ends the
/// connection of somebody who gives up many calls before it has looked at them, and all others go
/// with it: they are made again. A request that ends connections by itself is never answered.
async fn send(channel: Channel, method: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Status> {
    let mut answer = send_once(channel.clone(), method, bytes.clone()).await;
    for _ in 0..CONNECTIONS {
        if !answer.as_ref().is_err_and(is_cut_off) {
            break;
        }
        answer = send_once(channel.clone(), method, bytes.clone()).await;
    }
    match answer {
        Err(status) if is_cut_off(&status) => Err(Status::unavailable(status.to_string())),
        answer => answer,
    }
}

/// Whether the connection ended before there was an answer. Who gave up by the own clock was
/// not cut off.
fn is_cut_off(status: &Status) -> bool {
    status.source().is_some_and(|source| source.is::<tonic::transport::Error>())
        && status.message() != "Timeout expired"
}

async fn send_once(channel: Channel, method: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Status> {
    let path = format!("/temporal.api.workflowservice.v1.WorkflowService/{method}");
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.map_err(|why| Status::unavailable(why.to_string()))?;
    let mut request = Request::new(bytes);
    request.set_timeout(PATIENCE);
    let path = path.parse().expect("a path");
    grpc.unary(request, path, Raw).await.map(tonic::Response::into_inner)
}

/// What a wrong request may be told. An answer in other words is a mistake of ours.
fn is_fair(status: &Status) -> bool {
    match status.code() {
        // What is no message at all is refused before anybody here sees it.
        Code::Internal => status.message().contains("decode"),
        Code::Unknown | Code::DataLoss | Code::Unavailable | Code::Aborted => false,
        _ => true,
    }
}

/// A client that does everything right.
async fn serves(world: &World, id: &str) {
    let begin =
        StartWorkflowExecutionRequest { task_queue: Some(queue(QUIET)), ..start(SPACE, id) };
    world.start(begin).await;
    let poll = PollWorkflowTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUIET)),
        identity: "good".into(),
        ..Default::default()
    };
    let turn: PollWorkflowTaskQueueResponse = world.call(poll).await.expect("a turn");
    assert_eq!(turn.workflow_execution.as_ref().expect("a run").workflow_id, id);
    world.answer(SPACE, &turn, vec![complete()]).await.expect("it is taken");
    let events = world.history(SPACE, id).await;
    assert_eq!(events.last().expect("events").event_type().as_str_name(), COMPLETED);
}

const COMPLETED: &str = "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED";

/// Every request that the door declares has its seed.
#[test]
fn every_method_is_tried() {
    let door = include_str!("../../src/door.rs");
    let calls = door.split("calls! {").nth(1).expect("the list of calls");
    let calls = calls.split("\n}\n").next().expect("its end");
    let declared = calls.split(['(', ')']).filter_map(|word| word.strip_suffix("Request"));
    let seeds = request::seeds(&Live::default());
    let tried: Vec<_> = seeds.iter().map(|seed| seed.method).collect();
    let missing: Vec<_> = declared.filter(|method| !tried.contains(method)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert!(tried.len() > 40, "{tried:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutated_requests_are_answered() {
    let world = world().await;
    let (panicked, before) = (panics(), peak());
    serves(&world, "before").await;
    let first = setting("BOWLINE_FUZZ_SEED", 1);
    let rounds = TRIES * setting("BOWLINE_FUZZ", 1) / AT_ONCE;
    let mut told = BTreeMap::<String, u64>::new();
    // Connections of its own: the good client keeps its one.
    let hostile = channel(&world.listening);
    for round in first..first + rounds {
        let seeds = request::seeds(&request::live(&world, round).await);
        let mut sent = JoinSet::new();
        for number in 0..AT_ONCE {
            let mut choices = Choices::new(round * AT_ONCE + number);
            let Seed { method, bytes } = &seeds[choices.below(seeds.len())];
            let other = &seeds[choices.below(seeds.len())];
            let (method, bytes) = (*method, wire::mutated(bytes, &other.bytes, &mut choices));
            let call = send(hostile.clone(), method, bytes.clone());
            sent.spawn(async move {
                let answer = tokio::time::timeout(HANGS, call).await;
                (method, bytes, answer)
            });
        }
        while let Some(answer) = sent.join_next().await {
            let (method, bytes, answer) = answer.expect("the client lives");
            let shown = &bytes[..bytes.len().min(300)];
            let Ok(answer) = answer else { panic!("round {round}: {method} hangs: {shown:02x?}") };
            let fair = answer.as_ref().err().is_none_or(is_fair);
            assert!(fair, "round {round}: {method} answers {answer:?} to {shown:02x?}");
            let code = answer.err().map_or(Code::Ok, |status| status.code());
            *told.entry(format!("{code:?}")).or_default() += 1;
        }
        assert_eq!(panics(), panicked, "round {round}: somebody panicked, see above");
    }
    println!("{told:?}, {} KiB more", peak() - before);
    assert!(told.len() > 3, "only {told:?}: they all look alike");
    serves(&world, "after").await;
    let grown = peak() - before;
    let most = 512 * 1024 * setting("BOWLINE_FUZZ", 1).min(4);
    assert!(grown < most, "{grown} KiB are kept of small requests");
}
