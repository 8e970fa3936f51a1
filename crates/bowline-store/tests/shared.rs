//! The memory store keeps the contract for many processes too, and gives members up as a database
//! does: by its own clock, and never by the word of one who was out of reach as well.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bowline_core::{Epoch, Time};
use bowline_store::{
    Answer, Error, Join, Renewal, Renewed, Store, Sweep, conformance::Harness, memory::MemoryStore,
};

const LEASE: Duration = Duration::from_secs(9);

struct Many(MemoryStore);

impl Harness for Many {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.opening())
    }

    /// The process that had it is gone, and somebody who knows has said so.
    fn reopen(&self) -> Arc<dyn Store> {
        self.0.bury();
        self.open()
    }
}

fn open() -> Many {
    Many(MemoryStore::shared(|| Time(0)))
}

bowline_store::conformance!(open);

/// Two processes on one store, whose clock the test moves.
struct Two {
    now: Arc<AtomicI64>,
    stores: [MemoryStore; 2],
    epochs: [Epoch; 2],
}

/// Answers of this store are ready at once.
fn at_once<T>(mut answer: Answer<T>) -> T {
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store never waits"),
    }
}

impl Two {
    fn new() -> Self {
        let now = Arc::new(AtomicI64::new(0));
        let hands = now.clone();
        let store = MemoryStore::shared(move || Time(hands.load(Ordering::SeqCst)));
        let stores = [store.opening(), store.opening()];
        let epochs = [0, 1].map(|process: usize| join(&stores[process], None).expect("it enters"));
        Self { now, stores, epochs }
    }

    fn passes(&self, seconds: i64) {
        self.now.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    fn renews(&self, process: usize) -> Result<Renewed, Error> {
        let renewal = Renewal {
            epoch: self.epochs[process],
            lease: LEASE,
            now: Time(0),
            heartbeats: vec![],
            sightings: vec![],
            controls: vec![],
            inventory: false,
            leave: false,
            runs_on: false,
        };
        at_once(self.stores[process].renew(renewal))
    }

    fn sweeps(&self, process: usize) {
        let epoch = self.epochs[process];
        let sweep = Sweep { epoch, now: Time(0), limit: 100, retention: vec![], presume: None };
        at_once(self.stores[process].sweep(sweep)).expect("it is alive");
    }
}

fn join(store: &MemoryStore, again: Option<Epoch>) -> Result<Epoch, Error> {
    let join = Join { again, ..Join::new("suite", LEASE, Time(0)) };
    at_once(store.join(join)).map(|joined| joined.epoch)
}

#[test]
fn nobody_dies_of_somebody_else_who_enters() {
    let two = Two::new();
    two.renews(0).expect("it is alive");
    two.renews(1).expect("it is alive");
}

#[test]
fn whoever_is_silent_for_a_lease_is_given_up_and_enters_again() {
    let mut two = Two::new();
    for _ in 0..4 {
        two.passes(3);
        two.renews(1).expect("it is alive");
        two.sweeps(1);
    }
    assert!(matches!(two.renews(0), Err(Error::Fenced)));
    two.epochs[0] = join(&two.stores[0], Some(two.epochs[0])).expect("it was not replaced");
    two.renews(0).expect("it is somebody new");
}

#[test]
fn after_an_outage_nobody_loses_anything() {
    let two = Two::new();
    two.passes(60);
    two.renews(1).expect("nobody gave it up");
    two.sweeps(1);
    two.renews(0).expect("nobody gave it up either");
}
