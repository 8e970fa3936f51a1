//! History: batches in order, cut where somebody wants them cut, from a snapshot if there is one.

use bowline_core::{Blob, EventId, EventKind, MarkerRecorded, TurnStart};

use super::{
    Harness,
    world::{World, turn::remote},
};
use crate::{Read, RunKey, Snapshot};

fn three_batches(world: &World<'_>) -> bowline_core::RunId {
    let run = world.start("a");
    for _ in 0..2 {
        world.run_turn(run, |turn| {
            turn.event(MarkerRecorded::default());
            turn.event(MarkerRecorded::default());
        });
    }
    run
}

fn firsts(world: &World<'_>, read: Read) -> Vec<u64> {
    world.read(read).batches.iter().map(|batch| batch.first.0).collect()
}

/// History reads back as it was written, one batch for each commit.
pub fn history_reads_back_as_written(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = three_batches(&world);
    let read = world.read(Read::whole(run));
    let ids: Vec<(u64, u64)> = read.batches.iter().map(|b| (b.first.0, b.last.0)).collect();
    assert_eq!(ids, [(1, 1), (2, 4), (5, 7)]);
    let events = world.events(run);
    assert!(events.iter().map(|event| event.id.0).eq(1..=7));
    assert!(matches!(events[0].kind, EventKind::WorkflowStarted(_)));
}

/// Whoever wants to begin inside a batch gets that batch whole.
pub fn a_cut_inside_a_batch_brings_it_whole(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = three_batches(&world);
    let from = |id: u64| Read { events_from: Some(EventId(id)), ..Read::whole(run) };
    for (id, expected) in
        [(1, vec![1, 2, 5]), (2, vec![2, 5]), (3, vec![2, 5]), (4, vec![2, 5]), (7, vec![5])]
    {
        assert_eq!(firsts(&world, from(id)), expected, "from event {id}");
    }
    assert_eq!(firsts(&world, from(8)), [0; 0]);
    let page = Read { batches_max: 1, ..from(3) };
    assert_eq!(firsts(&world, page), [2], "no more than asked for");
}

/// Without events, without inbox: only the row of the run.
pub fn a_head_comes_alone(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = three_batches(&world);
    world.post(run, bowline_core::Message::Wake).expect("delivered");
    let read = world.read(Read::head(RunKey::Run(run)));
    assert_eq!((read.batches.len(), read.inbox.len(), read.activities.len()), (0, 0, 0));
    assert!(read.snapshot.is_none());
    assert_eq!(world.read(Read::inbox(run)).inbox.len(), 1);
}

/// Deciding on a long run begins at its newest snapshot, and reads only what came after.
pub fn a_snapshot_stands_for_what_was_before(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = three_batches(&world);
    assert_eq!(firsts(&world, Read::state(run)), [1, 2, 5], "there is none yet");
    for text in ["old", "new"] {
        world.run_turn(run, |turn| {
            let at = EventId(turn.commit.next_event.0 - 1);
            turn.commit.snapshot = Some(Snapshot { at, bytes: Blob::from(text.as_bytes()) });
        });
    }
    world.run_turn(run, |_| {});
    let read = world.read(Read::state(run));
    let snapshot = read.snapshot.expect("there is one");
    assert_eq!((snapshot.at.0, snapshot.bytes.as_slice()), (9, &b"new"[..]));
    assert_eq!(read.batches.iter().map(|batch| batch.first.0).collect::<Vec<_>>(), [10]);
    assert_eq!(firsts(&world, Read::whole(run)), [1, 2, 5, 8, 9, 10], "history is all there");
    let newer = Read { events_from: Some(EventId(10)), ..Read::state(run) };
    let read = world.read(newer);
    assert!(read.snapshot.is_none(), "it is older than what is wanted");
    assert_eq!(read.batches.len(), 1);
}

/// The rows of activities come in order, and no more than asked for.
pub fn rows_of_activities_are_read(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(5, &super::world::turn::spec("work"));
    world.commit(turn).expect("nobody else writes");
    let rows = world.rows(run);
    assert!(rows.iter().map(|row| row.activity).eq(ids.ids()));
    assert!(rows.iter().all(|row| row.run == run && row.spec == super::world::turn::spec("work")));
    let some = Read { activities_max: 2, ..Read::head(RunKey::Run(run)) };
    assert_eq!(world.read(some).activities.len(), 2);
}

/// A retried turn is shown to its worker before it is written: its ids stand only in the turn
/// record. If it comes to nothing, they are used again, and history knows only what was written.
pub fn a_provisional_turn_leaves_no_trace(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.begin_run(remote(world.run_id(), "a", world.now()));
    let mut turn = world.turn(run).silent();
    let shown = turn.commit.record.turn.as_mut().expect("one waits");
    (shown.provisional, shown.attempt, shown.scheduled) = (true, 2, EventId(2));
    shown.started = Some(TurnStart {
        event: EventId(3),
        at: world.now(),
        worker: "sdk".into(),
        request_id: "poll".into(),
        control: "".into(),
        suggest_continue: true,
        history_bytes: 99,
        wire: Some(Blob::from(&b"wire"[..])),
    });
    let record = turn.commit.record.clone();
    world.commit(turn).expect("nobody else writes");
    world.reopen();
    assert_eq!(world.head(run).record, record, "the record is durable, field by field");
    assert_eq!(world.head(run).next_event, EventId(2), "and no event was written");
    assert_eq!(world.events(run).len(), 1);
    world.run_turn(run, |turn| {
        turn.commit.record.turn = None;
        turn.event(MarkerRecorded::default());
    });
    let events = world.events(run);
    assert!(events.iter().map(|event| event.id.0).eq(1..=3));
    assert!(events[1..].iter().all(|event| matches!(event.kind, EventKind::MarkerRecorded(_))));
    assert_eq!(world.head(run).record.turn, None);
}

/// A run that does not exist is none, not an error.
pub fn a_missing_run_reads_as_none(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let nobody = bowline_core::RunId { uuid: 404, ..run };
    assert!(world.exists(run) && !world.exists(nobody));
    assert_eq!(world.current("stranger"), None);
}
