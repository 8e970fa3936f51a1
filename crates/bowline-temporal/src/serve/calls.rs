//! What is counted of calls, and how many may be in flight.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tonic::{Code, codegen::http::HeaderMap};

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
    /// How many were refused because too many were in flight.
    pub refused: u64,
    /// Turns and activities that were taken for somebody who had gone, and given back.
    pub given_back: u64,
}

/// The same while it grows.
#[derive(Debug)]
pub(crate) struct Meter {
    most: u64,
    in_flight: AtomicU64,
    answered: Mutex<BTreeMap<(String, &'static str), u64>>,
    refused: AtomicU64,
    given_back: AtomicU64,
}

impl Meter {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: most as u64,
            in_flight: AtomicU64::new(0),
            answered: Mutex::default(),
            refused: AtomicU64::new(0),
            given_back: AtomicU64::new(0),
        }
    }

    /// One more call; false if that is too many.
    pub(super) fn enter(&self) -> bool {
        let before = self.in_flight.fetch_add(1, Ordering::AcqRel);
        let fits = before < self.most;
        if !fits {
            self.in_flight.fetch_sub(1, Ordering::AcqRel);
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    /// It is over, and left so much behind.
    pub(super) fn leave(&self, given_back: usize) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.given_back.fetch_add(given_back as u64, Ordering::Relaxed);
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
            in_flight: self.in_flight.load(Ordering::Acquire),
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
