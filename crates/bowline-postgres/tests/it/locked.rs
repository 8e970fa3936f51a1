//! A run that somebody else's transaction has locked, for as long as it pleases: whoever needs that
//! run waits, and nobody else does.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Address, Alarm, AlarmKind, Epoch, EventId, Fence, Holder, Message, Namespace,
    RunId, Signal, Time,
};
use bowline_postgres::PostgresStore;
use bowline_store::{
    AttemptRef, ClaimActivities, ClaimedActivity, Heartbeat, HeartbeatReply, HolderKind, Join,
    Posted, Posting, Proof, Read, Renewal, RunKey, Store, Sweep,
};

use crate::{
    crowd::{locked, undoing},
    place::Place,
    takeover::starting,
    wait::{look_until, wait},
};

const NOW: Time = Time(1_000_000);
/// How long a statement may wait: whoever stands behind a lock does not come back before it is
/// gone, and an answer that comes while it is held has waited for nobody.
const PATIENCE: Duration = Duration::from_secs(3_600);

fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

fn signal(to: u128) -> Posting {
    let message = Message::Signal(Box::new(Signal { name: "go".into(), ..Signal::default() }));
    Posting::Message { to: Address::Run(run(to)), message, now: NOW, receipt: None }
}

/// A run that waits for a timer, and whose activity waits for a worker.
fn busy(uuid: u128) -> Posting {
    let mut posting = starting(uuid);
    let Posting::Start(start) = &mut posting else { panic!("it is a start") };
    let spec = ActivitySpec { name: "work".into(), queue: "work".into(), ..Default::default() };
    start.birth.activities.push((EventId(1), Arc::new(spec)));
    start.birth.alarms.push(Alarm { due: NOW, what: AlarmKind::Timer(EventId(7)) });
    posting
}

fn open(place: &Place) -> (PostgresStore, Epoch) {
    let mut settings = place.settings();
    (settings.lanes, settings.patience) = (2, PATIENCE);
    let store = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    let join = Join::new("test", Duration::from_secs(600), NOW);
    let epoch = wait(store.join(join)).expect("it joins").epoch;
    (store, epoch)
}

fn claim(store: &PostgresStore, epoch: Epoch) -> Vec<ClaimedActivity> {
    let claim = ClaimActivities {
        epoch,
        namespace: Namespace(1),
        queue: "work".into(),
        names: vec!["work".into()],
        count: 10,
        holder: HolderKind::Native,
        worker: "test".into(),
        now: NOW,
    };
    wait(store.claim_activities(claim)).expect("it is alive")
}

fn inbox(store: &PostgresStore, uuid: u128) -> u64 {
    let read = wait(store.read(Read::head(RunKey::Run(run(uuid))))).expect("it reads");
    read.expect("it is there").head.inbox.0
}

/// An application has sent a signal in its own transaction, and is in no hurry to commit. Others
/// send more to that run, again and again, and wait; what is about other runs is done meanwhile.
#[test]
fn a_locked_run_keeps_nobody_else_waiting() {
    let place = Place::new();
    let (store, _) = open(&place);
    for uuid in 1..=3 {
        wait(store.post(vec![starting(uuid)])).remove(0).expect("it starts");
    }
    let late = locked(&place, 1, || {
        let mut late = Vec::new();
        for round in 0..40 {
            late.push(store.post(vec![signal(1)]));
            let both = [store.post(vec![signal(2)]), store.post(vec![signal(3)])];
            for posted in both {
                wait(posted).remove(0).expect("it is sent");
            }
            wait(store.post(vec![starting(100 + round)])).remove(0).expect("it starts");
        }
        assert_eq!(inbox(&store, 1), 1, "it is locked");
        late
    });
    for posted in late {
        let posted = wait(posted).remove(0);
        assert!(matches!(posted, Ok(Posted::Delivered(..))), "{posted:?}");
    }
    assert_eq!([1, 2, 3].map(|uuid| inbox(&store, uuid)), [41, 41, 41], "each once");
}

/// Timers ring, activities begin, attempts of the dead are given back and heartbeats are heard, of
/// all runs but the one that is locked; and of that one when it is free.
#[test]
fn whatever_is_done_for_many_runs_is_done_for_the_others() {
    let place = Place::new();
    let ((store, own), (dead, gone)) = (open(&place), open(&place));
    for uuid in 1..=4 {
        wait(store.post(vec![busy(uuid)])).remove(0).expect("it starts");
    }
    let mine = claim(&store, own);
    assert_eq!(mine.len(), 4);
    for uuid in 11..=14 {
        wait(dead.post(vec![busy(uuid)])).remove(0).expect("it starts");
    }
    assert_eq!(claim(&dead, gone).len(), 4);
    assert!(wait(store.evict(gone)).expect("it can be said"));
    let sweep = || Sweep { epoch: own, now: NOW, limit: 100, retention: Vec::new(), presume: None };
    let held = format!("{}.activities WHERE epoch = {}", place.schema(), gone.0);
    locked(&place, 1, || {
        locked(&place, 11, || {
            let fired = wait(store.fire(NOW, 100)).expect("it fires");
            assert_eq!(fired.rang, 6, "{fired:?}");
            wait(store.sweep(sweep())).expect("it sweeps");
            assert_eq!(place.count(&held), 1, "all but one are given back");
            assert_eq!(claim(&store, own).len(), 3, "they are begun again");
            let beats = beats(&store, own, &mine);
            assert_eq!(beats, [const { HeartbeatReply::Alive }; 4]);
        });
    });
    let mut rang = 0;
    look_until("the rest is never done", || {
        rang += wait(store.fire(NOW, 100)).expect("it fires").rang;
        wait(store.sweep(sweep())).expect("it sweeps");
        rang >= 2 && place.count(&held) == 0
    });
    let heard = format!("{}.activities WHERE epoch = {}", place.schema(), own.0);
    assert_eq!(place.count(&heard), 4 + 3);
}

fn beats(store: &PostgresStore, epoch: Epoch, mine: &[ClaimedActivity]) -> Vec<HeartbeatReply> {
    let fence = |own: &ClaimedActivity| match own.live.started().map(|start| &start.holder) {
        Some(Holder::Native(fence)) => *fence,
        other => panic!("{other:?}"),
    };
    let heartbeats = mine.iter().map(|own| Heartbeat {
        attempt: AttemptRef { run: own.run, activity: own.activity, attempt: own.live.attempt },
        proof: Proof::Native(fence(own)),
        details: None,
    });
    let renewal = Renewal::new(epoch, Duration::from_secs(600), NOW);
    let renewal = Renewal { heartbeats: heartbeats.collect(), ..renewal };
    wait(store.renew(renewal)).expect("it is alive").heartbeats
}

/// An application begins a run in its own transaction, and somebody else one of the same workflow
/// id: only that one waits, and is answered when the other is taken back.
#[test]
fn a_workflow_id_that_somebody_is_taking_keeps_nobody_else_waiting() {
    let place = Place::new();
    let (store, epoch) = open(&place);
    let row = format!(
        "INSERT INTO {}.labels (namespace, run, workflow_id, name, queue, serial, started_at, \
         deleted, origin) VALUES (1, '{}', 'flow-1', 'flow', 'turns', 1, 1, false, 'x')",
        place.schema(),
        uuid::Uuid::from_u128(77)
    );
    let late = undoing(&place, &row, || {
        let mut first = starting(1);
        let Posting::Start(start) = &mut first else { panic!("it is a start") };
        start.hold = Some(Fence { epoch, counter: 1_000 });
        let late = store.post(vec![first]);
        for uuid in 2..30 {
            wait(store.post(vec![starting(uuid)])).remove(0).expect("it starts");
        }
        late
    });
    let posted = wait(late).remove(0);
    assert!(matches!(posted, Ok(Posted::Started(_))), "{posted:?}");
}
