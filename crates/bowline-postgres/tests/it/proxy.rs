//! A small proxy before the database. It understands as much of the protocol as it takes to know
//! when a change is on its way, and can then cut the connection: before the server has heard of it,
//! in the middle of it, or after it was done and before anybody was told. Or it keeps the change
//! back, and has the server hear of it when nobody waits for it any more.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU8, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::messages::Messages;

/// When the next change is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cut {
    Never,
    /// The server never hears of it.
    Before,
    /// The server has done it, and nobody is told.
    After,
    /// The same as before, for the next notification instead of a change.
    Note,
    /// The server hears of all of it but that it is over, and nobody hangs up on it.
    Half,
    /// The server hears of it when it is let go.
    Late,
}

impl Cut {
    fn from(number: u8) -> Self {
        let all = [Self::Before, Self::After, Self::Note, Self::Half, Self::Late];
        all.into_iter().find(|cut| *cut as u8 == number).unwrap_or(Self::Never)
    }

    fn of(kept: &AtomicU8) -> Self {
        Self::from(kept.load(Ordering::SeqCst))
    }
}

pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
    over: mpsc::Receiver<()>,
}

/// What all connections share.
struct State {
    next: AtomicU8,
    cuts: AtomicU64,
    looks: AtomicU64,
    statements: AtomicU64,
    /// What was kept back may go.
    is_free: Mutex<bool>,
    was_freed: Condvar,
    /// Told twice of a connection on which something was kept back: both ways are used no more.
    over: mpsc::Sender<()>,
    /// Servers that nobody has hung up on.
    left: Mutex<Vec<TcpStream>>,
}

impl Drop for Proxy {
    /// With it, everybody hangs up.
    fn drop(&mut self) {
        let left = std::mem::take(&mut *self.state.left.lock().expect("nobody panics with it"));
        for server in left {
            let _ = server.shutdown(Shutdown::Both);
        }
    }
}

impl State {
    /// Waits until what is kept back may go.
    fn wait(&self) {
        let is_free = self.is_free.lock().expect("nobody panics with it");
        drop(self.was_freed.wait_while(is_free, |is_free| !*is_free));
    }

    /// One way of a connection is not used any more.
    fn is_over(&self, doomed: &AtomicU8) {
        if Cut::of(doomed) == Cut::Late {
            // Nobody may want to know.
            let _ = self.over.send(());
        }
    }
}

impl Proxy {
    /// A proxy before the database behind a URL.
    pub(crate) fn before(url: &str) -> (Self, String) {
        let config: tokio_postgres::Config = url.parse().expect("it is a URL");
        let [tokio_postgres::config::Host::Tcp(host)] = config.get_hosts() else {
            panic!("one host, by name: {url}")
        };
        let target = (host.clone(), config.get_ports().first().copied().unwrap_or(5432));
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("it has a number").port();
        let (told, over) = mpsc::channel();
        let state = Arc::new(State {
            next: AtomicU8::new(Cut::Never as u8),
            cuts: AtomicU64::new(0),
            looks: AtomicU64::new(0),
            statements: AtomicU64::new(0),
            is_free: Mutex::default(),
            was_freed: Condvar::new(),
            over: told,
            left: Mutex::default(),
        });
        let proxy = Self { port, state: state.clone(), over };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((target.0.as_str(), target.1)) else {
                    continue;
                };
                pass(client, server, &state);
            }
        });
        let user = config.get_user().expect("the URL names a user").to_owned();
        let database = config.get_dbname().expect("the URL names a database").to_owned();
        let url = format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", proxy.port);
        (proxy, url)
    }

    /// The next change is cut off.
    pub(crate) fn cut(&self, cut: Cut) {
        self.state.next.store(cut as u8, Ordering::SeqCst);
    }

    /// How many statements have read rows of runs, and changed none.
    pub(crate) fn looks(&self) -> u64 {
        self.state.looks.load(Ordering::SeqCst)
    }

    /// How many statements the server was asked to carry out.
    pub(crate) fn statements(&self) -> u64 {
        self.state.statements.load(Ordering::SeqCst)
    }

    /// How often that has happened.
    pub(crate) fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// Lets the one change go that was kept back, and waits until the server has done with it
    /// whatever it does.
    pub(crate) fn pass_on(&self) {
        *self.state.is_free.lock().expect("nobody panics with it") = true;
        self.state.was_freed.notify_all();
        for _ in 0..2 {
            self.over.recv_timeout(Duration::from_secs(60)).expect("both ways come to an end");
        }
    }
}

/// Names of prepared statements that read rows of runs, and change none.
#[derive(Default)]
struct Looks(BTreeSet<Vec<u8>>);

impl Looks {
    /// Whether a message has the server read what decisions are made on; remembers what was
    /// prepared to do so.
    fn is_look(&mut self, message: &[u8]) -> bool {
        let mut texts = message.get(5..).unwrap_or_default().split(|byte| *byte == 0);
        let (first, second) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
        match message[0] {
            b'P' => {
                let sql = String::from_utf8_lossy(second);
                let tables =
                    [".runs", ".activities", ".inbox", ".labels", ".members WHERE epoch = ANY"];
                if sql.starts_with("SELECT") && tables.iter().any(|table| sql.contains(table)) {
                    self.0.insert(first.to_vec());
                }
                false
            }
            b'B' => self.0.contains(second),
            _ => false,
        }
    }
}

fn pass(client: TcpStream, server: TcpStream, state: &Arc<State>) {
    // Nothing waits for more to be sent along with it.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let doomed = Arc::new(AtomicU8::new(Cut::Never as u8));
    let (mut answers, mut back) =
        (server.try_clone().expect("a handle"), client.try_clone().expect("a handle"));
    let (dooms, told) = (doomed.clone(), state.clone());
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(read @ 1..) = answers.read(&mut buffer) {
            // What the server says now is that it has done it.
            if dooms.load(Ordering::SeqCst) == Cut::After as u8
                || back.write_all(&buffer[..read]).is_err()
            {
                break;
            }
        }
        let _ = answers.shutdown(Shutdown::Both);
        let _ = back.shutdown(Shutdown::Both);
        told.is_over(&dooms);
    });
    let state = state.clone();
    thread::spawn(move || {
        let (from, to) = (client, server);
        ask(&from, &to, &state, &doomed);
        let _ = match Cut::of(&doomed) {
            // A server that is still at work is left to finish it.
            Cut::After => Ok(()),
            Cut::Half => {
                let left = to.try_clone().expect("a handle");
                state.left.lock().expect("nobody panics with it").push(left);
                Ok(())
            }
            Cut::Late => to.shutdown(Shutdown::Write),
            _ => to.shutdown(Shutdown::Both),
        };
        let _ = from.shutdown(Shutdown::Both);
        state.is_over(&doomed);
    });
}

/// What the client says, until somebody hangs up.
fn ask(mut from: &TcpStream, mut to: &TcpStream, state: &State, doomed: &AtomicU8) {
    let (mut messages, mut looked) = (Messages::default(), Looks::default());
    while let Some(message) = messages.next(&mut from) {
        if matches!(message[0], b'B' | b'Q') {
            state.statements.fetch_add(1, Ordering::SeqCst);
        }
        if looked.is_look(&message) {
            state.looks.fetch_add(1, Ordering::SeqCst);
        }
        let notes = Cut::of(&state.next) == Cut::Note;
        if (notes && messages.is_note(&message)) || (!notes && messages.is_change(&message)) {
            let cut = Cut::from(state.next.swap(Cut::Never as u8, Ordering::SeqCst));
            if cut != Cut::Never {
                doomed.store(cut as u8, Ordering::SeqCst);
                state.cuts.fetch_add(1, Ordering::SeqCst);
            }
            match cut {
                Cut::Before | Cut::Note => return,
                Cut::Late => state.wait(),
                Cut::Never | Cut::After | Cut::Half => {}
            }
        }
        // With this the server would end what came before it, and commit.
        if Cut::of(doomed) == Cut::Half && message[0] == b'S' {
            return;
        }
        if to.write_all(&message).is_err() {
            return;
        }
    }
}
