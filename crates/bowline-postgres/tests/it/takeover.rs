//! Several stores on the same tables: who is given up, by whom, and what becomes of its work.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Birth, Conflict, Ending, Epoch, Event, EventId, Fence, Holder, Link, Namespace,
    Queue, RequestId, Reuse, RunId, Time, TurnRecord, WorkflowStarted,
};
use bowline_postgres::{PostgresStore, Settings};
use bowline_store::{
    ClaimActivities, ClaimRuns, ClaimedRun, Error, Hint, HolderKind, Join, Posted, Posting, Proof,
    Renewal, Settle, StartRun, Store, Subtree, Sweep, Want,
};

use crate::{
    crowd::{locked, undoing, until_waiting},
    place::Place,
    proxy::{Cut, Proxy},
    wait::{hear, look_until, wait},
};

/// Long enough for a loaded machine to renew in time, short enough to wait for.
const LEASE: Duration = Duration::from_secs(3);
const NAMESPACE: Namespace = Namespace(1);

fn now() -> Time {
    Time(1_000_000)
}

pub(crate) fn starting(uuid: u128) -> Posting {
    starting_in(uuid, "turns".into())
}

fn starting_in(uuid: u128, queue: Queue) -> Posting {
    let run = RunId { namespace: NAMESPACE, uuid };
    let started = WorkflowStarted {
        workflow_id: format!("flow-{uuid}").as_str().into(),
        name: "flow".into(),
        queue,
        first_run: run,
        original_run: run,
        attempt: 1,
        ..WorkflowStarted::default()
    };
    let kind = started.into();
    let first = Event { id: EventId(1), time: now(), kind, notes: Vec::new(), wire: None };
    let birth = Birth {
        run,
        events: vec![first],
        record: TurnRecord::default(),
        alarms: Vec::new(),
        activities: Vec::new(),
        wake: true,
        reuse: Reuse::Allow,
        link: Link::None,
    };
    let request_id = RequestId::default();
    let conflict = Conflict::Refuse;
    Posting::Start(Box::new(StartRun {
        birth,
        request_id,
        conflict,
        otherwise: None,
        hold: None,
        now: now(),
    }))
}

pub(crate) struct Member {
    pub(crate) store: PostgresStore,
    pub(crate) epoch: Epoch,
}

impl Member {
    fn join(place: &Place) -> Self {
        Self::join_with(place, place.settings())
    }

    fn join_with(place: &Place, settings: Settings) -> Self {
        Self::join_at(&place.url(), settings, LEASE)
    }

    pub(crate) fn join_at(url: &str, settings: Settings, lease: Duration) -> Self {
        let store = PostgresStore::open_with(url, settings).expect("it opens");
        let join = Join::new("test", lease, now());
        let epoch = wait(store.join(join)).expect("it may enter").epoch;
        Self { store, epoch }
    }

    pub(crate) fn claim(&self) -> Result<Vec<ClaimedRun>, Error> {
        wait(self.store.claim_runs(ClaimRuns {
            epoch: self.epoch,
            namespace: NAMESPACE,
            want: Want::Turn,
            queues: vec!["turns".into()],
            names: vec!["flow".into()],
            count: 10,
            now: now(),
        }))
    }

    fn claiming(&self) -> ClaimActivities {
        ClaimActivities {
            epoch: self.epoch,
            namespace: NAMESPACE,
            queue: "work".into(),
            names: vec!["work".into()],
            count: 1,
            holder: HolderKind::Native,
            worker: "test".into(),
            now: now(),
        }
    }

    pub(crate) fn sweep(&self) {
        let (epoch, now) = (self.epoch, now());
        let sweep = Sweep { epoch, now, limit: 100, retention: Vec::new(), presume: None };
        wait(self.store.sweep(sweep)).expect("it is alive");
    }

    fn renew(&self) -> Result<(), Error> {
        let renewal = Renewal::new(self.epoch, LEASE, now());
        wait(self.store.renew(renewal)).map(drop)
    }

    /// Starts a run whose only activity is given up here while its code runs on.
    fn leak(&self, uuid: u128) -> RunId {
        let mut posting = starting(uuid);
        let Posting::Start(start) = &mut posting else { panic!("it is a start") };
        let spec = ActivitySpec { name: "work".into(), queue: "work".into(), ..Default::default() };
        start.birth.activities.push((EventId(1), Arc::new(spec)));
        wait(self.store.post(vec![posting])).remove(0).expect("it starts");
        let claimed = wait(self.store.claim_activities(self.claiming()));
        let claimed = claimed.expect("alive").remove(0);
        let Some(Holder::Native(fence)) = claimed.live.started().map(|start| &start.holder) else {
            panic!("{claimed:?}")
        };
        for ending in [Ending::RunsOn, Ending::Abandoned] {
            let settle = Settle {
                run: claimed.run,
                activity: claimed.activity,
                attempt: claimed.live.attempt,
                proof: Proof::Native(*fence),
                ending,
                rung: None,
                delivered_at: None,
                observed_at: None,
                now: now(),
            };
            wait(self.store.settle(vec![settle])).remove(0).expect("it is its own");
        }
        claimed.run
    }

    /// Of how many attempts of a run the code is known to run on.
    fn leaked(&self, run: RunId) -> usize {
        let left = wait(self.store.leftovers(Subtree::Run(run))).expect("it is there");
        left.attempts.iter().filter(|line| line.leaked).count()
    }

    pub(crate) fn start(&self, uuid: u128) {
        let posted = wait(self.store.post(vec![starting(uuid)])).remove(0);
        assert!(matches!(posted, Ok(Posted::Started(_))), "{posted:?}");
    }
}

/// Waits for hints until something is so.
pub(crate) fn until(member: &Member, mut is_so: impl FnMut() -> bool) {
    let mut hints = member.store.watch();
    look_until("it never came to be so", || {
        let is_so = is_so();
        if !is_so {
            wait(hints.next());
        }
        is_so
    });
}

#[test]
fn a_silent_member_is_given_up_and_its_runs_go_on() {
    let place = Place::new();
    let mut settings = place.settings();
    // By its lease alone.
    settings.sessions = false;
    let (dead, other) = (Member::join_with(&place, settings), Member::join(&place));
    dead.start(1);
    assert_eq!(dead.claim().expect("alive").len(), 1);
    assert!(other.claim().expect("alive").is_empty(), "somebody holds it");
    let epoch = dead.epoch;
    // The process is killed: nothing renews any more, and nobody says goodbye.
    drop(dead);
    other.sweep();
    assert!(other.claim().expect("alive").is_empty(), "its lease has not run out");
    let mut taken = Vec::new();
    until(&other, || {
        other.sweep();
        taken = other.claim().expect("alive");
        !taken.is_empty()
    });
    assert_eq!(taken[0].fence.expect("held").epoch, other.epoch);
    other.sweep();
    let rows = format!("{}.members WHERE epoch = {}", place.schema(), epoch.0);
    assert_eq!(place.count(&rows), 0, "nothing is held in its name, so it is forgotten");
}

/// Of a member that fell silent nobody has seen the end: it is not forgotten while code runs on in
/// it, for all that is known.
#[test]
fn a_silent_member_is_remembered_while_its_code_may_run_on() {
    let place = Place::new();
    let (dead, other) = (Member::join(&place), Member::join(&place));
    let run = dead.leak(1);
    let rows = format!("{}.members WHERE epoch = {} AND state = 2", place.schema(), dead.epoch.0);
    let epoch = dead.epoch;
    drop(dead);
    until(&other, || {
        other.sweep();
        place.count(&rows) == 1
    });
    other.sweep();
    assert_eq!(place.count(&rows), 1, "its code may run on");
    assert_eq!(other.leaked(run), 1);
    assert!(wait(other.store.evict(epoch)).expect("somebody knows that it is gone"));
    assert_eq!(other.leaked(run), 0, "code dies with its process");
    other.sweep();
    let rows = format!("{}.members WHERE epoch = {}", place.schema(), epoch.0);
    assert_eq!(place.count(&rows), 0, "there is nothing to remember it for");
}

/// The store itself says that its process lives, whether or not the engine has something to say.
#[test]
fn an_idle_member_is_not_given_up() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.poll = Duration::from_millis(200);
    let (idle, other) = (Member::join(&place), Member::join_with(&place, settings));
    let row = format!("{}.members WHERE epoch = {} AND state = 0", place.schema(), idle.epoch.0);
    let later = format!("{row} AND renewed_at > joined_at + 2 * lease");
    until(&other, || {
        // In touch, whatever its store does by itself, it may say of others that they are not.
        other.renew().expect("it is alive");
        other.sweep();
        assert_eq!(place.count(&row), 1, "it was given up");
        place.count(&later) == 1
    });
    idle.renew().expect("it is alive");
}

/// After an outage everybody is late, and nobody may say so of others before having been in touch
/// for as long as their lease.
#[test]
fn an_outage_takes_nobodys_work_away() {
    let place = Place::new();
    let (one, two) = (Member::join(&place), Member::join(&place));
    one.start(1);
    assert_eq!(one.claim().expect("alive").len(), 1);
    // The database was away for an hour: that is how long ago anybody was heard of.
    let schema = place.schema();
    place.execute(&format!(
        "UPDATE {schema}.members SET renewed_at = renewed_at - interval '1 hour'"
    ));
    two.renew().expect("it comes back first");
    two.sweep();
    one.renew().expect("it has lost nothing");
    assert!(two.claim().expect("alive").is_empty(), "it is still held");
}

/// Whoever was given up changes nothing any more, whatever it still tries.
#[test]
fn whoever_was_given_up_is_refused() {
    let place = Place::new();
    let (given_up, other) = (Member::join(&place), Member::join(&place));
    given_up.start(1);
    let held = given_up.claim().expect("alive").remove(0);
    assert!(wait(other.store.evict(given_up.epoch)).expect("it can be said"));
    other.sweep();
    assert!(matches!(given_up.claim(), Err(Error::Fenced)));
    assert!(matches!(given_up.renew(), Err(Error::Fenced)));
    let taken = other.claim().expect("alive");
    assert_eq!(taken[0].read.head.run, held.read.head.run);
    assert!(held.fence < taken[0].fence, "fences only rise");
}

/// A claim waits for a run that somebody has locked, and does not know that its member was given up
/// meanwhile. The member is not forgotten before it is over, and what it has begun is given to
/// others.
#[test]
fn what_is_begun_for_a_member_that_was_given_up_is_handed_on() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.locks = Duration::from_secs(20);
    let (dead, other) = (Member::join_with(&place, settings), Member::join(&place));
    let mut posting = starting(1);
    let Posting::Start(start) = &mut posting else { panic!("it is a start") };
    let spec = ActivitySpec { name: "work".into(), queue: "work".into(), ..Default::default() };
    start.birth.activities.push((EventId(1), Arc::new(spec)));
    wait(dead.store.post(vec![posting])).remove(0).expect("it starts");
    let members = format!("{}.members WHERE epoch = {}", place.schema(), dead.epoch.0);
    let claimed = locked(&place, 1, || {
        let claimed = dead.store.claim_activities(dead.claiming());
        until_waiting(&place, 1);
        assert!(wait(other.store.evict(dead.epoch)).expect("it can be said"));
        other.sweep();
        assert_eq!(place.count(&members), 1, "not everybody knows that it was given up");
        claimed
    });
    let answer = wait(claimed).expect("it did not know");
    assert_eq!(answer.len(), 1);
    other.sweep();
    let begun = format!("{}.activities WHERE epoch IS NOT NULL", place.schema());
    assert_eq!(place.count(&begun), 0, "it is handed on");
    let taken = wait(other.store.claim_activities(other.claiming())).expect("it is alive");
    assert_eq!(taken.len(), 1);
}

/// A run that begins, and is held from the beginning, waits for another transaction that begins a
/// run of the same workflow id. Its member was given up meanwhile, which it does not know: the
/// member is not forgotten before it is over, and whatever it has begun is given to others.
#[test]
fn what_is_held_for_a_member_that_was_given_up_is_freed() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.locks = Duration::from_secs(20);
    let (dead, other) = (Member::join_with(&place, settings), Member::join(&place));
    let schema = place.schema();
    // What somebody else's transaction has written and taken back in the end.
    let row = format!(
        "INSERT INTO {schema}.labels (namespace, run, workflow_id, name, queue, serial, \
         started_at, deleted, origin) \
         VALUES (1, '{}', 'flow-1', 'flow', 'turns', 1, 1, false, 'x')",
        uuid::Uuid::from_u128(77)
    );
    let posted = undoing(&place, &row, || {
        let mut posting = starting(1);
        let Posting::Start(start) = &mut posting else { panic!("it is a start") };
        start.hold = Some(Fence { epoch: dead.epoch, counter: 1_000 });
        let posted = dead.store.post(vec![posting]);
        until_waiting(&place, 1);
        assert!(wait(other.store.evict(dead.epoch)).expect("it can be said"));
        other.sweep();
        posted
    });
    let answer = wait(posted).remove(0);
    let held = format!(
        "{schema}.runs r WHERE epoch IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM {schema}.members m WHERE m.epoch = r.epoch)"
    );
    assert_eq!(place.count(&held), 0, "nobody would ever free it: {answer:?}");
    other.sweep();
    assert_eq!(other.claim().expect("alive").len(), usize::from(answer.is_ok()));
}

#[test]
fn hints_reach_other_processes() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.poll = Duration::from_secs(3_600);
    let open = || PostgresStore::open_with(&place.url(), settings.clone()).expect("it opens");
    let (one, two) = (open(), open());
    let mut hints = two.watch();
    let mut uuid = 0;
    hear(&mut hints, || {
        uuid += 1;
        wait(one.post(vec![starting(uuid)])).remove(0).expect("it starts");
        Hint::Turn(NAMESPACE, Queue::from("turns"))
    });
}

/// What could not be sent is sent again.
#[test]
fn a_hint_that_was_cut_off_reaches_other_processes_nevertheless() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.poll = Duration::from_secs(3_600);
    let (proxy, url) = Proxy::before(&place.url());
    let one = PostgresStore::open_with(&url, settings.clone()).expect("it opens");
    let two = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    let mut hints = two.watch();
    let mut uuid = 0;
    // Each in a queue of its own: a hint of something earlier may be very late.
    let mut start = || {
        uuid += 1;
        let queue = Queue::from(format!("turns-{uuid}").as_str());
        let posting = starting_in(uuid, queue.clone());
        wait(one.post(vec![posting])).remove(0).expect("it starts");
        Hint::Turn(NAMESPACE, queue)
    };
    hear(&mut hints, &mut start);
    for cut in 1..=3 {
        proxy.cut(Cut::Note);
        let wanted = start();
        while !wait(hints.next()).contains(&wanted) {}
        assert_eq!(proxy.cuts(), cut, "it was never cut off");
    }
}

/// Without a single notification the same is found, by looking.
#[test]
fn without_hints_everything_is_found_later() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.hints = false;
    settings.poll = Duration::from_millis(200);
    let open = || PostgresStore::open_with(&place.url(), settings.clone()).expect("it opens");
    let (one, two) = (open(), open());
    let join = Join::new("test", LEASE, now());
    let epoch = wait(two.join(join)).expect("it may enter").epoch;
    let two = Member { store: two, epoch };
    wait(one.post(vec![starting(7)])).remove(0).expect("it starts");
    let mut taken = Vec::new();
    until(&two, || {
        taken = two.claim().expect("alive");
        !taken.is_empty()
    });
    assert_eq!(taken.len(), 1);
}
