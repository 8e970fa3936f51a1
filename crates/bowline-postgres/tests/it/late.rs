//! A change that nobody waits for any more: its answer was given up, and whoever had asked has
//! asked again, or has looked and found that it was not done. It never happens after that, and it
//! is in nobody's way.

use std::time::Duration;

use bowline_core::{Batch, CommitId, Epoch, Event, Fence, MarkerRecorded, Namespace, RunId, Time};
use bowline_postgres::PostgresStore;
use bowline_store::{
    ClaimRuns, ClaimedRun, Commit, Error, Head, Join, Posted, Posting, Read, RunKey, Store, Want,
};

use crate::{
    place::Place,
    proxy::{Cut, Proxy},
    takeover::starting,
    wait::wait,
};

const NOW: Time = Time(1_000_000);

fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

/// A store behind a proxy, that does not wait long.
struct Hasty {
    store: PostgresStore,
    proxy: Proxy,
    epoch: Epoch,
}

impl Hasty {
    fn join(place: &Place) -> Self {
        let (proxy, url) = Proxy::before(&place.url());
        let mut settings = place.settings();
        settings.patience = Duration::from_secs(2);
        let store = PostgresStore::open_with(&url, settings).expect("it opens");
        let join = Join::new("test", Duration::from_secs(600), NOW);
        let epoch = wait(store.join(join)).expect("it joins").epoch;
        Self { store, proxy, epoch }
    }

    fn start(&self, uuid: u128, hold: bool) -> Result<Posted, Error> {
        let mut posting = starting(uuid);
        let Posting::Start(start) = &mut posting else { panic!("it is a start") };
        start.hold = hold.then_some(Fence { epoch: self.epoch, counter: 1_000 });
        wait(self.store.post(vec![posting])).remove(0)
    }

    fn claim(&self) -> Result<Vec<ClaimedRun>, Error> {
        wait(self.store.claim_runs(ClaimRuns {
            epoch: self.epoch,
            namespace: Namespace(1),
            want: Want::Turn,
            queues: vec!["turns".into()],
            names: vec!["flow".into()],
            count: 4,
            now: NOW,
        }))
    }

    fn head(&self, uuid: u128) -> Option<Head> {
        let read = wait(self.store.read(Read::head(RunKey::Run(run(uuid))))).expect("it reads");
        read.map(|read| read.head)
    }
}

fn is_unknown<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Unknown(_)))
}

/// A claim that is asked again has taken what there was. What becomes ready afterwards is nobody's.
#[test]
fn a_claim_that_was_given_up_takes_nothing_later() {
    let place = Place::new();
    let own = Hasty::join(&place);
    own.start(1, false).expect("it starts");
    own.proxy.cut(Cut::Late);
    assert!(is_unknown(&own.claim()), "its answer does not come in time");
    let claimed = own.claim().expect("it is alive");
    assert_eq!(claimed.len(), 1, "the first one had taken nothing");
    own.start(2, false).expect("it starts");
    own.proxy.pass_on();
    let holder = own.head(2).expect("it is there").holder;
    assert_eq!(holder, None, "somebody holds it who was never told");
}

/// Whoever has looked for a run after its start was given up, and found none, need not look again.
#[test]
fn a_start_that_was_given_up_begins_nothing_later() {
    let place = Place::new();
    let own = Hasty::join(&place);
    own.proxy.cut(Cut::Late);
    assert!(is_unknown(&own.start(1, true)), "its answer does not come in time");
    assert!(own.head(1).is_none(), "it has not begun");
    own.proxy.pass_on();
    assert!(own.head(1).is_none(), "it has begun after somebody had looked");
}

/// The server has heard of a change, but not that this is all of it, and nobody has hung up on it:
/// it keeps what it has locked until it is told to end.
#[test]
fn half_a_change_is_in_nobodys_way() {
    let place = Place::new();
    let own = Hasty::join(&place);
    own.start(1, true).expect("it starts");
    let head = own.head(1).expect("it is there");
    let kind = MarkerRecorded::default().into();
    let event = Event { id: head.next_event, time: NOW, kind, notes: Vec::new(), wire: None };
    let turn = Commit {
        fence: head.holder,
        consumed: head.inbox,
        next_event: head.next_event.plus(1),
        batch: Batch::of(&vec![event]),
        ..Commit::unchanged(&head, CommitId(1), NOW)
    };
    own.proxy.cut(Cut::Half);
    let answer = wait(own.store.commit(vec![turn.clone()])).remove(0);
    assert!(is_unknown(&answer), "{answer:?}");
    let again = wait(own.store.commit(vec![turn])).remove(0);
    assert!(again.is_ok(), "{again:?}");
    assert_eq!(own.proxy.cuts(), 1);
}
