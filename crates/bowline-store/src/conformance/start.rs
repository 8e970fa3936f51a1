//! Runs begin: requests that are repeated, workflow ids that are taken.

use bowline_core::{Address, Conflict, EventKind, Message, Reuse, Status};

use super::{
    Harness,
    world::{
        NAMESPACE, World, refused,
        turn::{birth, names, signal, started},
        wait::block_on,
    },
};
use crate::{Error, Posted, Posting, Read, RunKey};

/// What the first event says stands on the run's row, and the first turn waits.
pub fn a_start_writes_its_events_and_waits_for_a_turn(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let read = world.read(Read::whole(run));
    assert_eq!(read.head.run, run);
    assert_eq!(read.head.workflow_id.as_str(), "order-1");
    assert_eq!(read.head.name.as_str(), "flow");
    assert_eq!(read.head.queue.as_str(), "turns");
    assert_eq!((read.head.status, read.head.root), (Status::Running, run));
    assert_eq!(read.head.started_at, world.now());
    assert_eq!((read.head.next_event.0, read.head.inbox.0, read.head.consumed.0), (2, 1, 0));
    assert_eq!(world.inbox(run), [Message::Wake]);
    let events = world.events(run);
    assert!(matches!(&events[..], [event] if matches!(event.kind, EventKind::WorkflowStarted(_))));
    assert_eq!(world.current("order-1"), Some(run));
    assert_eq!(world.take_runs(), [run]);
}

/// A client whose answer was lost sends the same start again: it is the same run, open or closed.
pub fn a_repeated_start_counts_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let begin = || {
        let mut birth = birth(world.run_id(), "order-1", world.now());
        started(&mut birth).expect("it begins").request_id = "request-1".into();
        let mut start = world.starting(birth);
        start.request_id = "request-1".into();
        world.try_start(start)
    };
    let Ok(Posted::Started(run)) = begin() else { panic!("the first start begins the run") };
    assert_eq!(begin().expect("it is the same"), Posted::Repeated(run));
    world.close(run, Status::Completed);
    assert_eq!(begin().expect("it is still the same"), Posted::Repeated(run));
    assert_eq!(world.current("order-1"), Some(run));
}

/// A start that waits for the call that follows it comes first, whatever that call is; and it does
/// not wait for ever. Stores without such an order say so.
pub fn a_start_that_is_put_off_comes_before_what_follows(harness: &dyn Harness) {
    let world = World::new(harness);
    let ahead = |id: &str| {
        let birth = birth(world.run_id(), id, world.now());
        let run = birth.run;
        let start = Posting::Start(Box::new(world.starting(birth)));
        world.store().post_ahead(vec![start]).map(|answer| (run, answer))
    };
    let Some((run, answer)) = ahead("order-1") else { return };
    world.post(run, signal("a", "")).expect("the run is there");
    assert!(matches!(block_on(answer)[..], [Ok(Posted::Started(begun))] if begun == run));
    assert_eq!(world.take_runs(), [run]);
    let (run, answer) = ahead("order-2").expect("there is an order");
    world.store().hurry(run);
    assert!(matches!(block_on(answer)[..], [Ok(Posted::Started(begun))] if begun == run));
    let (run, answer) = ahead("order-2").expect("there is an order");
    world.store().hurry(run);
    assert!(matches!(block_on(answer)[..], [Err(Error::IdTaken { .. })]), "as any other start");
}

/// What a thread asks for that is lent to the store is carried out, and what waited for it before.
pub fn calls_of_a_thread_that_is_lent_are_carried_out(harness: &dyn Harness) {
    let world = World::new(harness);
    let birth = birth(world.run_id(), "order-1", world.now());
    let run = birth.run;
    let begin = Posting::Start(Box::new(world.starting(birth)));
    let store = world.store();
    let (mut begun, mut told) = (None, None);
    store.lend(&mut || {
        let ahead = store.post_ahead(vec![begin.clone()]);
        begun = Some(ahead.unwrap_or_else(|| store.post(vec![begin.clone()])));
    });
    store.lend(&mut || {
        let (to, message) = (Address::Run(run), signal("a", ""));
        let post = Posting::Message { to, message, now: world.now(), receipt: None };
        told = Some(store.post(vec![post]));
    });
    let (begun, told) = (block_on(begun.expect("asked")), block_on(told.expect("asked")));
    assert!(matches!(begun[..], [Ok(Posted::Started(started))] if started == run), "{begun:?}");
    assert!(matches!(told[..], [Ok(Posted::Delivered(to, _))] if to == run), "{told:?}");
    assert_eq!(world.inbox(run).len(), 2);
}

/// Two requests without an id are two requests.
pub fn starts_without_a_request_id_are_never_the_same(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let again = world.try_start(world.starting(birth(world.run_id(), "order-1", world.now())));
    match again {
        Err(Error::IdTaken { run: holder, status }) => {
            assert_eq!((holder, status), (run, Status::Running));
        }
        other => panic!("{other:?}"),
    }
}

/// What a start does if a run of that workflow id is open.
pub fn an_open_run_is_in_the_way_as_the_caller_wishes(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let again = |conflict| {
        let mut start = world.starting(birth(world.run_id(), "order-1", world.now()));
        start.conflict = conflict;
        world.try_start(start)
    };
    refused!(again(Conflict::Refuse), Error::IdTaken { .. });
    refused!(again(Conflict::TerminateExisting), Error::IdTaken { .. });
    assert_eq!(again(Conflict::UseExisting).expect("it serves"), Posted::Existing(run));
    assert_eq!(world.inbox(run).len(), 1, "nothing came of any of them");
}

/// Whether a workflow id may be used again hangs on how its last run closed.
pub fn a_closed_run_is_in_the_way_as_its_policy_says(harness: &dyn Harness) {
    use Reuse::{Allow, AllowUnlessCompleted, Refuse};
    let table = [
        (Status::Completed, Allow, true),
        (Status::Completed, AllowUnlessCompleted, false),
        (Status::Completed, Refuse, false),
        (Status::Failed, AllowUnlessCompleted, true),
        (Status::Cancelled, AllowUnlessCompleted, true),
        (Status::Failed, Refuse, false),
    ];
    let world = World::new(harness);
    for (at, (status, reuse, free)) in table.into_iter().enumerate() {
        let id = format!("order-{at}");
        let first = world.start(&id);
        world.close(first, status);
        let mut birth = birth(world.run_id(), &id, world.now());
        birth.reuse = reuse;
        let second = birth.run;
        let answer = world.try_start(world.starting(birth));
        let newest = if free { second } else { first };
        assert_eq!(answer.is_ok(), free, "{status:?} {reuse:?}: {answer:?}");
        assert_eq!(world.current(&id), Some(newest), "{status:?} {reuse:?}");
    }
}

/// Signal-with-start: the message goes to the open run, and a repetition of it counts once.
pub fn a_message_goes_to_the_open_run_instead(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let again = || {
        let mut start = world.starting(birth(world.run_id(), "order-1", world.now()));
        start.otherwise = Some(signal("paid", "request-9"));
        world.try_start(start)
    };
    let Ok(Posted::Delivered(to, number)) = again() else { panic!("it is delivered") };
    assert_eq!((to, number.0), (run, 2));
    assert_eq!(again().expect("it is there already"), Posted::Repeated(run));
    assert_eq!(names(&world.inbox(run)), ["Wake", "paid"]);
    world.close(run, Status::Completed);
    let Ok(Posted::Started(next)) = again() else { panic!("nothing is in the way any more") };
    assert_ne!(next, run);
}

/// The same workflow id in two namespaces names two chains.
pub fn namespaces_do_not_see_each_other(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let mut other = birth(world.run_id(), "order-1", world.now());
    other.run.namespace.0 = NAMESPACE.0 + 1;
    let elsewhere = world.begin_run(other);
    assert_eq!(world.current("order-1"), Some(run));
    let key = RunKey::Current(elsewhere.namespace, "order-1".into());
    assert_eq!(world.read(Read::head(key)).head.run, elsewhere);
    assert_eq!(world.take_runs(), [run]);
}

/// A posting that is refused leaves the others of its batch alone.
pub fn each_start_of_a_batch_has_its_own_answer(harness: &dyn Harness) {
    let world = World::new(harness);
    let start = |id: &str| {
        let birth = birth(world.run_id(), id, world.now());
        Posting::Start(Box::new(world.starting(birth)))
    };
    let batch = vec![start("a"), start("a"), start("b")];
    let answers = block_on(world.store().post(batch));
    assert!(matches!(answers[0], Ok(Posted::Started(_))), "{answers:?}");
    refused!(&answers[1], Error::IdTaken { .. });
    assert!(matches!(answers[2], Ok(Posted::Started(_))), "{answers:?}");
}
