//! A small proxy before the database. It understands as much of the protocol as it takes to know
//! when a change is on its way, and can then cut the connection: before the server has heard of it,
//! or after it was done and before anybody was told.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    thread,
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
}

pub(crate) struct Proxy {
    port: u16,
    next: Arc<AtomicU8>,
    cuts: Arc<AtomicU64>,
    looks: Arc<AtomicU64>,
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
        let (next, cuts) = (Arc::new(AtomicU8::new(0)), Arc::new(AtomicU64::new(0)));
        let looks = Arc::new(AtomicU64::new(0));
        let proxy = Self { port, next: next.clone(), cuts: cuts.clone(), looks: looks.clone() };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((target.0.as_str(), target.1)) else {
                    continue;
                };
                pass(client, server, next.clone(), cuts.clone(), looks.clone());
            }
        });
        let user = config.get_user().expect("the URL names a user").to_owned();
        let database = config.get_dbname().expect("the URL names a database").to_owned();
        let url = format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", proxy.port);
        (proxy, url)
    }

    /// The next change is cut off.
    pub(crate) fn cut(&self, cut: Cut) {
        self.next.store(cut as u8, Ordering::SeqCst);
    }

    /// How many statements have read rows of runs, and changed none.
    pub(crate) fn looks(&self) -> u64 {
        self.looks.load(Ordering::SeqCst)
    }

    /// How often that has happened.
    pub(crate) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::SeqCst)
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

fn pass(
    client: TcpStream,
    server: TcpStream,
    next: Arc<AtomicU8>,
    cuts: Arc<AtomicU64>,
    looks: Arc<AtomicU64>,
) {
    let doomed = Arc::new(AtomicU8::new(Cut::Never as u8));
    let (mut answers, mut back) =
        (server.try_clone().expect("a handle"), client.try_clone().expect("a handle"));
    let dooms = doomed.clone();
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
    });
    thread::spawn(move || {
        let (mut from, mut to) = (client, server);
        let (mut messages, mut looked) = (Messages::default(), Looks::default());
        while let Some(message) = messages.next(&mut from) {
            if looked.is_look(&message) {
                looks.fetch_add(1, Ordering::SeqCst);
            }
            let notes = next.load(Ordering::SeqCst) == Cut::Note as u8;
            if (notes && messages.is_note(&message)) || (!notes && messages.is_change(&message)) {
                let cut = next.swap(Cut::Never as u8, Ordering::SeqCst);
                if cut != Cut::Never as u8 {
                    doomed.store(cut, Ordering::SeqCst);
                    cuts.fetch_add(1, Ordering::SeqCst);
                }
                if cut == Cut::Before as u8 || cut == Cut::Note as u8 {
                    break;
                }
            }
            if to.write_all(&message).is_err() {
                break;
            }
        }
        // A server that is still at work is left to finish it.
        if doomed.load(Ordering::SeqCst) != Cut::After as u8 {
            let _ = to.shutdown(Shutdown::Both);
        }
        let _ = from.shutdown(Shutdown::Both);
    });
}
