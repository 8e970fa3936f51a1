//! What is counted of calls, and how many may be in flight.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tonic::{Code, codegen::http::HeaderMap};

use super::connection::Connection;
use crate::limits::{self, Limits};

/// Names of methods that are counted apart; a caller may make up any number of them.
const METHODS_MAX: usize = 256;

/// What this door has counted since it opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Calls {
    /// Calls in flight, polls that wait among them.
    pub in_flight: u64,
    /// How many were answered, by method and status.
    pub answered: BTreeMap<(String, &'static str), u64>,
    /// How many bytes are in memory for them.
    pub bytes: u64,
    /// How many connections there are.
    pub connections: u64,
    /// How often no further connection was let in for a while.
    pub pauses: u64,
    /// How many connections were ended at once, because their address had as many as it may.
    pub crowded: u64,
    /// How many were refused because too many were in flight, or too many bytes of them.
    pub refused: u64,
    /// Turns and activities that were taken for somebody who had gone, and given back.
    pub given_back: u64,
}

/// How much room there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Calls in flight.
    calls: usize,
    /// Of one connection.
    pub(super) calls_each: usize,
    pub(super) connections: usize,
    /// Of one address.
    pub(super) connections_each: usize,
    bytes: usize,
    pub(super) hello: Duration,
    pub(super) arrival: Duration,
}

impl Room {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            calls: limits.calls,
            calls_each: limits.calls_each.min(limits.calls / 2).max(1),
            connections: limits.connections.max(1),
            connections_each: limits.connections_each.max(1),
            bytes: limits.bytes,
            hello: limits.hello,
            arrival: limits.arrival,
        }
    }
}

/// The same while it grows.
#[derive(Debug)]
pub(crate) struct Meter {
    room: Room,
    in_flight: AtomicUsize,
    bytes: AtomicUsize,
    connections: AtomicU64,
    pauses: AtomicU64,
    crowded: AtomicU64,
    answered: Mutex<BTreeMap<(String, &'static str), u64>>,
    refused: AtomicU64,
    given_back: AtomicU64,
}

impl Meter {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            room,
            in_flight: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            connections: AtomicU64::new(0),
            pauses: AtomicU64::new(0),
            crowded: AtomicU64::new(0),
            answered: Mutex::default(),
            refused: AtomicU64::new(0),
            given_back: AtomicU64::new(0),
        }
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    pub(super) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Nobody is let in for a while.
    pub(super) fn paused(&self) {
        self.pauses.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection was ended because its address had enough of them.
    pub(super) fn crowds(&self) {
        self.crowded.fetch_add(1, Ordering::Relaxed);
    }

    /// One more call; false if that is too many. Each connection has a few of its own, so that
    /// others cannot take them all.
    pub(super) fn enter(&self, of: Option<&Connection>) -> bool {
        let own = of.map_or(usize::MAX, |of| of.calls.fetch_add(1, Ordering::AcqRel));
        let all = self.in_flight.fetch_add(1, Ordering::AcqRel);
        let fits = all < self.room.calls || own < limits::CALLS_OWN;
        if !fits {
            self.out(of);
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    fn out(&self, of: Option<&Connection>) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        if let Some(of) = of {
            of.calls.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// It is over, and left so much behind.
    pub(super) fn leave(&self, of: Option<&Connection>, given_back: usize) {
        self.out(of);
        self.given_back.fetch_add(given_back as u64, Ordering::Relaxed);
    }

    /// So many bytes more are in memory for a call; false if that is too many.
    pub(super) fn charge(&self, of: Option<&Connection>, bytes: usize) -> bool {
        let (own, all) = self.carry(of, bytes);
        let fits = match own {
            Some(own) => {
                own <= limits::BYTES_OWN || (own <= self.room.bytes / 2 && all <= self.room.bytes)
            }
            None => all <= self.room.bytes,
        };
        if !fits {
            self.discharge(of, bytes);
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    /// The same for what is there already, and cannot be refused.
    pub(super) fn carry(&self, of: Option<&Connection>, bytes: usize) -> (Option<usize>, usize) {
        let own = of.map(|of| of.bytes.fetch_add(bytes, Ordering::AcqRel) + bytes);
        (own, self.bytes.fetch_add(bytes, Ordering::AcqRel) + bytes)
    }

    /// They are not in memory any more.
    pub(super) fn discharge(&self, of: Option<&Connection>, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        if let Some(of) = of {
            of.bytes.fetch_sub(bytes, Ordering::AcqRel);
        }
    }

    /// The method that a path names.
    pub(super) fn method(path: &str) -> String {
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }

    pub(super) fn answered(&self, method: String, headers: &HeaderMap) {
        // An answer that is not an error says how it went in its last frame only.
        let status =
            headers.get("grpc-status").map_or(Code::Ok, |s| Code::from_bytes(s.as_bytes()));
        let mut answered = self.answered.lock();
        let key = match (method, name(status)) {
            // Whatever is not implemented may have any name.
            (_, "UNIMPLEMENTED") => ("other".to_owned(), "UNIMPLEMENTED"),
            key => key,
        };
        if answered.len() < METHODS_MAX || answered.contains_key(&key) {
            *answered.entry(key).or_default() += 1;
        }
    }

    pub(crate) fn snapshot(&self) -> Calls {
        Calls {
            in_flight: self.in_flight.load(Ordering::Acquire) as u64,
            bytes: self.bytes.load(Ordering::Acquire) as u64,
            connections: self.connections.load(Ordering::Relaxed),
            pauses: self.pauses.load(Ordering::Relaxed),
            crowded: self.crowded.load(Ordering::Relaxed),
            answered: self.answered.lock().clone(),
            refused: self.refused.load(Ordering::Relaxed),
            given_back: self.given_back.load(Ordering::Relaxed),
        }
    }
}

/// A status, as gRPC writes it.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
