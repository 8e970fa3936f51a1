//! A proxy before the database that makes trouble: connections are cut, delayed and half closed at
//! random, and cut off exactly between a commit and its answer. Under all that, the same promises.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    Chance,
    kill::Team,
    longer,
    messages::Messages,
    schema::{LEASE, Schema, required},
    soak,
    verify::verify,
};

/// One message in so many is troubled.
const SELDOM: u64 = 300;
/// One change in so many is.
const CHANGES: u64 = 25;

/// Passes on what both sides say, more or less.
struct Storm {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    blows: AtomicBool,
    connections: AtomicU64,
    /// Connections that were cut before the server had heard of a change.
    before: AtomicU64,
    /// Connections that were cut after it had done one, before anybody was told.
    after: AtomicU64,
    others: AtomicU64,
}

impl Storm {
    /// A proxy before the database behind a URL, and the URL of the proxy.
    fn before(url: &str) -> (Self, String) {
        let config: tokio_postgres::Config = url.parse().expect("it is a URL");
        let [tokio_postgres::config::Host::Tcp(host)] = config.get_hosts() else {
            panic!("one host, by name: {url}")
        };
        let target = (host.clone(), config.get_ports().first().copied().unwrap_or(5432));
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("it has a number").port();
        let storm = Self { port, state: Arc::default() };
        let state = storm.state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect((target.0.as_str(), target.1)) {
                    pass(client, server, &state);
                }
            }
        });
        let user = config.get_user().expect("the URL names a user").to_owned();
        let database = config.get_dbname().expect("the URL names a database").to_owned();
        let url = format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", storm.port);
        (storm, url)
    }

    fn blow(&self, blows: bool) {
        self.state.blows.store(blows, Ordering::SeqCst);
    }
}

/// Both ways of one connection.
fn pass(client: TcpStream, server: TcpStream, state: &Arc<State>) {
    let number = state.connections.fetch_add(1, Ordering::SeqCst);
    let doomed = Arc::new(AtomicBool::new(false));
    let back = (server.try_clone().expect("a handle"), client.try_clone().expect("a handle"));
    let (dooms, blows, mut chance) = (doomed.clone(), state.clone(), Chance(number << 1));
    thread::spawn(move || {
        let (mut from, mut to) = back;
        let mut buffer = [0; 65_536];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            // What the server says now is that it has done it.
            if dooms.load(Ordering::SeqCst)
                || trouble(&blows, &mut chance, &to)
                || to.write_all(&buffer[..read]).is_err()
            {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
    let (state, mut chance) = (state.clone(), Chance(number << 1 | 1));
    thread::spawn(move || {
        ask(&client, &server, &state, &doomed, &mut chance);
        // A server that is still at work is left to finish it.
        if !doomed.load(Ordering::SeqCst) {
            let _ = server.shutdown(Shutdown::Both);
        }
        let _ = client.shutdown(Shutdown::Both);
    });
}

/// What the client says, until somebody hangs up.
fn ask(
    mut from: &TcpStream,
    mut to: &TcpStream,
    state: &State,
    doomed: &AtomicBool,
    chance: &mut Chance,
) {
    let mut messages = Messages::default();
    while let Some(message) = messages.next(&mut from) {
        let blows = state.blows.load(Ordering::SeqCst);
        if messages.is_change(&message) && blows && chance.below(CHANGES) == 0 {
            if chance.below(2) == 0 {
                state.before.fetch_add(1, Ordering::SeqCst);
                return;
            }
            state.after.fetch_add(1, Ordering::SeqCst);
            doomed.store(true, Ordering::SeqCst);
        }
        if messages.is_note(&message) && blows && chance.below(CHANGES) == 0 {
            state.others.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if trouble(state, chance, to) || to.write_all(&message).is_err() {
            return;
        }
    }
}

/// Now and then something is late, cannot be said any more, or is the last of its connection: then
/// true.
fn trouble(state: &State, chance: &mut Chance, to: &TcpStream) -> bool {
    if !state.blows.load(Ordering::SeqCst) || chance.below(SELDOM) != 0 {
        return false;
    }
    state.others.fetch_add(1, Ordering::SeqCst);
    match chance.below(5) {
        0 => return true,
        1 => drop(to.shutdown(Shutdown::Write)),
        // The other end is gone, and nobody says so: longer than anybody waits for an answer.
        2 => thread::park_timeout(Duration::from_secs(6)),
        _ => thread::park_timeout(Duration::from_millis(chance.below(800))),
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_break_at_the_worst_moment_break_no_promise() {
    let (storm, url) = Storm::before(&required("BOWLINE_TEST_POSTGRES"));
    let mut schema = Schema::new();
    schema.life.url = url;
    let mut team = Team::up(&schema, 0xb10).await;
    storm.blow(true);
    for _ in 0..12 * longer() {
        team.work(25, LEASE).await;
    }
    storm.blow(false);
    team.calm().await;
    let after = verify(&schema, &team.engine, &team.promises).await;
    after.nothing_else_was_stopped();
    let of = |count: &AtomicU64| count.load(Ordering::SeqCst);
    let blows = (of(&storm.state.before), of(&storm.state.after), of(&storm.state.others));
    assert!(blows.0 > 0 && blows.1 > 0 && blows.2 > 0, "it was calm all the time: {blows:?}");
    assert!(after.promised("start ") > 20, "the children got somewhere");
    let faults = [
        ("connections cut before a commit", blows.0 as usize),
        ("connections cut after a commit", blows.1 as usize),
        ("connections cut, delayed, half closed, silent", blows.2 as usize),
    ];
    soak::tell("storm", &faults, &after);
    drop(team.workers);
    team.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}
