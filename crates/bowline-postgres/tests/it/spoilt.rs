//! Rows that do not read, and cancels that come at the last moment: nobody else waits for the
//! first, and nothing is begun in spite of the second.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Batch, Cause, CommitId, Epoch, Event, EventId, MarkerRecorded, Namespace, RunId,
    Time,
};
use bowline_postgres::PostgresStore;
use bowline_store::{
    ClaimActivities, ClaimedActivity, Commit, HolderKind, Join, Posting, Read, RunKey, Store, Sweep,
};

use crate::{place::Place, takeover::starting, wait::wait};

const NOW: Time = Time(1_000_000);

fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

/// A run that begins with activities which wait.
fn start(store: &PostgresStore, uuid: u128, activities: std::ops::Range<u64>) {
    let Posting::Start(mut start) = starting(uuid) else { panic!("it is a start") };
    let spec =
        ActivitySpec { name: "work".into(), queue: "work".into(), ..ActivitySpec::default() };
    start.birth.activities = activities.map(|id| (EventId(id), Arc::new(spec.clone()))).collect();
    wait(store.post(vec![Posting::Start(start)])).remove(0).expect("it starts");
}

fn join(store: &PostgresStore) -> Epoch {
    let join = Join::new("test", Duration::from_secs(60), NOW);
    wait(store.join(join)).expect("it joins").epoch
}

fn claim(store: &PostgresStore, epoch: Epoch, count: usize) -> Vec<ClaimedActivity> {
    wait(store.claim_activities(ClaimActivities {
        epoch,
        namespace: Namespace(1),
        queue: "work".into(),
        names: vec!["work".into()],
        count,
        holder: HolderKind::Native,
        worker: "test".into(),
        now: NOW,
    }))
    .expect("it is alive")
}

/// A member dies with attempts of three runs, of which one does not read and one has a broken
/// activity. The third goes on, the others are put where people see them, and no sweep meets them
/// again.
#[test]
fn what_does_not_read_keeps_nobody_from_being_taken_over() {
    let place = Place::new();
    let open = || PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    let (dead, other) = (open(), open());
    let (epoch, taker) = (join(&dead), join(&other));
    (1..=3).for_each(|uuid| start(&dead, uuid, 2..3));
    assert_eq!(claim(&dead, epoch, 3).len(), 3);
    let schema = place.schema();
    let of = |uuid| format!("run = '{}'", uuid::Uuid::from_u128(uuid));
    place.execute(&format!("UPDATE {schema}.labels SET origin = '\\x00' WHERE {}", of(1)));
    place.execute(&format!("UPDATE {schema}.activities SET live = '\\x00' WHERE {}", of(2)));
    assert!(wait(other.evict(epoch)).expect("it can be said"));
    let sweep = Sweep { epoch: taker, now: NOW, limit: 100, retention: Vec::new(), presume: None };
    wait(other.sweep(sweep)).expect("the rest is not held up");
    let taken = claim(&other, taker, 3);
    assert_eq!(taken.iter().map(|own| own.run).collect::<Vec<_>>(), [run(3)]);
    let read = wait(other.read(Read::head(RunKey::Run(run(2))))).expect("its own row reads");
    let head = read.expect("it is there").head;
    assert!(head.parked.is_some(), "people see it");
    let held = format!("{schema}.activities WHERE epoch = {}", epoch.0);
    assert_eq!(place.count(&held), 0, "the dead member has nothing any more");
}

/// A cancel that is decided when the claim is already written is known to whoever gets the claim.
#[test]
fn a_claim_reads_cancels_once_more() {
    let place = Place::new();
    let store = PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    let epoch = join(&store);
    start(&store, 1, 2..4);
    let first = claim(&store, epoch, 1).remove(0);
    assert_eq!(first.activity, EventId(2));
    cancel(&store, first.activity);
    // Nothing is as fast as the database itself: the moment the second one is started, it is
    // cancelled as the first one was.
    let schema = place.schema();
    place.execute(&format!(
        "CREATE FUNCTION {schema}.late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         NEW.cancelled := true; \
         NEW.live := (SELECT live FROM {schema}.activities WHERE number = 2); RETURN NEW; END $$; \
         CREATE TRIGGER late BEFORE UPDATE ON {schema}.activities FOR EACH ROW \
         WHEN (NEW.number = 3 AND NEW.place = 1) EXECUTE FUNCTION {schema}.late()"
    ));
    let second = claim(&store, epoch, 1).remove(0);
    assert_eq!(second.activity, EventId(3));
    let record = second.live.cancel.expect("it is known");
    assert_eq!(record.cause.detail, "enough");
}

fn cancel(store: &PostgresStore, activity: EventId) {
    let read = wait(store.read(Read::head(RunKey::Run(run(1))))).expect("it reads");
    let head = read.expect("it is there").head;
    let kind = MarkerRecorded::default().into();
    let events =
        vec![Event { id: head.next_event, time: NOW, kind, notes: Vec::new(), wire: None }];
    let commit = Commit {
        consumed: head.inbox,
        next_event: head.next_event.plus(1),
        batch: Batch::of(&events),
        cancels: vec![([activity].into_iter().collect(), Cause::requested("enough", "alice"))],
        ..Commit::unchanged(&head, CommitId(7), NOW)
    };
    wait(store.commit(vec![commit])).remove(0).expect("nobody else writes");
}
