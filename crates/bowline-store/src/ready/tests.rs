//! The index as a store uses it: changes in, candidates and hints out.

use bowline_core::{Holder, Identity, Number, Ranges, RunAlarm};

use super::*;
use crate::{HolderKind, Want};

fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

fn ready(uuid: u128, queue: &str, name: &str) -> Change {
    Change::Run(Standing { turn: true, ..idle(uuid, queue, name) })
}

fn held(uuid: u128, epoch: u64, inbox: u64) -> Change {
    let holder = Some(Fence { epoch: Epoch(epoch), counter: 1 });
    Change::Run(Standing { holder, inbox: Number(inbox), ..idle(uuid, "q", "w") })
}

fn idle(uuid: u128, queue: &str, name: &str) -> Standing {
    Standing {
        run: run(uuid),
        name: name.into(),
        queue: queue.into(),
        inbox: Number(1),
        turn: false,
        remote_turn: None,
        intake: false,
        holder: None,
        withholds: false,
    }
}

fn withholds(uuid: u128, withholds: bool) -> Change {
    Change::Run(Standing { withholds, ..idle(uuid, "q", "w") })
}

fn runs(want: Want, queues: &[&str], names: &[&str], count: usize) -> ClaimRuns {
    ClaimRuns {
        epoch: Epoch(1),
        namespace: Namespace(1),
        want,
        queues: queues.iter().map(|queue| Queue::from(*queue)).collect(),
        names: names.iter().map(|name| Name::from(*name)).collect(),
        count,
        now: Time(0),
    }
}

fn queued(uuid: u128, activity: u64, name: &str, due: i64) -> Change {
    Change::Queued(Queued {
        run: run(uuid),
        activity: EventId(activity),
        queue: "q".into(),
        name: name.into(),
        due: Time(due),
        now: Time(100),
    })
}

fn activities(names: &[&str], count: usize, now: i64) -> ClaimActivities {
    ClaimActivities {
        epoch: Epoch(1),
        namespace: Namespace(1),
        queue: "q".into(),
        names: names.iter().map(|name| Name::from(*name)).collect(),
        count,
        holder: HolderKind::Native,
        worker: Identity::default(),
        now: Time(now),
    }
}

fn native(epoch: u64) -> Attempt {
    let fence = Fence { epoch: Epoch(epoch), counter: 1 };
    Attempt { number: 1, holder: Holder::Native(fence), cancel: None }
}

fn uuids(runs: Vec<RunId>) -> Vec<u128> {
    runs.into_iter().map(|run| run.uuid).collect()
}

fn numbers(found: Vec<(RunId, EventId)>) -> Vec<u64> {
    found.into_iter().map(|(_, activity)| activity.0).collect()
}

#[test]
fn runs_wait_in_line_across_queues_and_names() {
    let mut index = Index::default();
    index.apply([ready(3, "q", "a"), ready(1, "p", "b"), ready(2, "q", "b"), ready(9, "x", "a")]);
    let found = |claim| uuids(index.runs(&claim));
    assert_eq!(found(runs(Want::Turn, &["q", "p"], &["a", "b"], 9)), [3, 1, 2]);
    assert_eq!(found(runs(Want::Turn, &["q", "p"], &["a", "b"], 2)), [3, 1]);
    assert_eq!(found(runs(Want::Turn, &["q"], &["b"], 9)), [2]);
    assert_eq!(found(runs(Want::Turn, &["q"], &[], 9)), [0; 0], "no code, no runs");
    assert_eq!(found(runs(Want::Intake, &[], &[], 9)), [0; 0]);
}

#[test]
fn a_run_that_is_written_again_keeps_its_place_and_leaves_when_held() {
    let mut index = Index::default();
    index.apply([ready(1, "q", "a"), ready(2, "q", "a"), ready(1, "q", "a")]);
    assert_eq!(uuids(index.runs(&runs(Want::Turn, &["q"], &["a"], 9))), [1, 2]);
    index.apply([held(1, 4, 1)]);
    assert_eq!(uuids(index.runs(&runs(Want::Turn, &["q"], &["a"], 9))), [2]);
    assert_eq!(index.holder(run(1)).map(|fence| fence.epoch), Some(Epoch(4)));
}

#[test]
fn what_nobody_holds_goes_to_the_back_when_it_is_handed_out() {
    let mut index = Index::default();
    for uuid in [1, 2, 3] {
        index.apply([Change::Run(Standing {
            remote_turn: Some("own".into()),
            intake: true,
            ..idle(uuid, "q", "w")
        })]);
    }
    for want in [Want::RemoteTurn, Want::Intake] {
        let claim = runs(want, if want == Want::Intake { &[] } else { &["own"] }, &[], 2);
        for expected in [[1, 2], [3, 1], [2, 3]] {
            let found = index.runs(&claim);
            found.iter().for_each(|run| index.rotate(&claim, *run));
            assert_eq!(uuids(found), expected, "{want:?}");
        }
    }
}

#[test]
fn hints_name_what_became_ready_once() {
    let mut index = Index::default();
    index.apply([ready(1, "q", "a"), ready(1, "q", "a"), queued(1, 5, "n", 100)]);
    let (namespace, queue) = (Namespace(1), Queue::from("q"));
    let expected = [Hint::Turn(namespace, queue.clone()), Hint::Activity(namespace, queue)];
    assert_eq!(index.take_hints(), expected);
    index.apply([ready(1, "q", "a")]);
    assert_eq!(index.take_hints(), [], "it was ready before");
    index.apply([held(1, 4, 1), held(1, 4, 2), held(1, 4, 2)]);
    assert_eq!(index.take_hints(), [Hint::Inbox(run(1))]);
}

#[test]
fn activities_wait_by_due_time_and_then_arrival() {
    let mut index = Index::default();
    index.apply([queued(1, 5, "a", 50), queued(2, 6, "b", 40), queued(1, 7, "a", 40)]);
    index.apply([queued(1, 8, "a", 900)]);
    let mut found =
        |names: &[&str], count, now| numbers(index.activities(&activities(names, count, now)));
    assert_eq!(found(&[], 9, 100), [6, 7, 5]);
    assert_eq!(found(&["a"], 1, 100), [7]);
    assert_eq!(found(&["a"], 9, 45), [7], "what is not due waits");
    assert_eq!(found(&["a"], 9, 900), [7, 5, 8]);
    assert_eq!(found(&["c"], 9, 900), [0; 0]);
}

#[test]
fn a_mark_hides_what_it_covers_and_the_first_mark_wins() {
    let mut index = Index::default();
    index.apply((1..=100).map(|activity| queued(1, activity, "a", 50)));
    index.apply([queued(2, 1, "a", 50)]);
    let mark = |number, from: u64| Mark {
        number,
        ranges: (from..=99).map(EventId).collect::<Ranges>(),
        cause: Cause::requested("", format!("{number}")),
        at: Time(100),
    };
    index.apply([Change::Marked(run(1), mark(1, 2)), Change::Marked(run(1), mark(2, 1))]);
    assert!(index.take_hints().contains(&Hint::Sweep));
    assert_eq!(numbers(index.activities(&activities(&[], 9, 100))), [100, 1]);
    assert_eq!(index.mark(run(1), EventId(2)).map(|mark| mark.number), Some(1));
    assert_eq!(index.mark(run(1), EventId(1)).map(|mark| mark.number), Some(2));
    index.apply([Change::Folded(run(1), 1)]);
    assert_eq!(index.mark(run(1), EventId(2)).map(|mark| mark.number), Some(2));
}

#[test]
fn what_a_mark_covers_is_dropped_bit_by_bit() {
    let mut index = Index::default();
    index.apply((1..=5_000).map(|activity| queued(1, activity, "a", 50)));
    index.apply([queued(2, 1, "a", 50)]);
    let ranges = (1..=5_000).map(EventId).collect::<Ranges>();
    let mark = Mark { number: 1, ranges, cause: Cause::requested("", ""), at: Time(100) };
    index.apply([Change::Marked(run(1), mark)]);
    let mut claims = 0;
    loop {
        index.take_hints();
        let found = index.activities(&activities(&[], 9, 100));
        if found == [(run(2), EventId(1))] {
            break;
        }
        assert_eq!(found, []);
        let again = Hint::Activity(Namespace(1), "q".into());
        assert_eq!(index.take_hints(), [again], "whoever claims must come again");
        claims += 1;
    }
    assert_eq!(claims, 2);
    assert_eq!(index.take_hints(), []);
}

#[test]
fn what_a_run_withholds_is_set_aside_and_comes_back_in_its_place() {
    let mut index = Index::default();
    index.apply([withholds(1, true)]);
    index.apply([queued(1, 5, "a", 50), queued(1, 6, "a", 50), queued(2, 7, "a", 60)]);
    index.take_hints();
    assert_eq!(numbers(index.activities(&activities(&[], 9, 100))), [7]);
    assert_eq!(index.take_hints(), []);
    // It is cancelled where it was set aside, or by the mark that comes with the decision.
    index.apply([queued(1, 8, "a", 70), queued(1, 9, "a", 40)]);
    assert_eq!(numbers(index.activities(&activities(&[], 9, 100))), [7]);
    let mark = Mark {
        number: 1,
        ranges: Ranges::from(EventId(6)),
        cause: Cause::requested("", ""),
        at: Time(9),
    };
    index.apply([Change::Over { run: run(1), activity: EventId(8) }, Change::Marked(run(1), mark)]);
    index.take_hints();
    index.apply([withholds(1, false)]);
    assert_eq!(index.take_hints(), [Hint::Activity(Namespace(1), "q".into())]);
    assert_eq!(numbers(index.activities(&activities(&[], 9, 100))), [9, 5, 7]);
    // What nobody came across never left.
    index.apply([withholds(2, true)]);
    index.apply([withholds(2, false)]);
    assert_eq!(index.take_hints(), []);
    assert_eq!(numbers(index.activities(&activities(&[], 9, 100))), [9, 5, 7]);
}

#[test]
fn a_started_activity_leaves_its_queue_and_a_retry_comes_back() {
    let mut index = Index::default();
    index.apply([queued(1, 5, "a", 50)]);
    let (run, activity) = (run(1), EventId(5));
    index.apply([Change::Started { run, activity, attempt: native(3) }]);
    assert_eq!(numbers(index.activities(&activities(&[], 9, 100))), [0; 0]);
    assert_eq!(index.attempts_by(Epoch(3)).count(), 1);
    assert_eq!(index.attempts_outside(Epoch(4)).collect::<Vec<_>>(), [(run, activity)]);
    index.take_hints();
    index.apply([queued(1, 5, "a", 700)]);
    assert_eq!(index.take_hints(), [Hint::Alarm(Time(700))], "somebody must look again then");
    assert_eq!(index.attempts_of(run).count(), 0);
    assert_eq!(index.attempts_outside(Epoch(4)).count(), 0);
    index.wake(Time(699));
    assert_eq!(index.take_hints(), []);
    index.wake(Time(700));
    assert_eq!(index.take_hints(), [Hint::Activity(Namespace(1), "q".into())]);
    assert_eq!(index.next_due(), None);
    assert_eq!(numbers(index.activities(&activities(&[], 9, 700))), [5]);
}

#[test]
fn the_first_cancel_of_an_attempt_stays() {
    let mut index = Index::default();
    let (run, activity) = (run(1), EventId(5));
    let control = ControlQueue::default();
    let holder = Holder::Remote { token: Default::default(), control };
    let attempt = Attempt { number: 2, holder, cancel: None };
    index.apply([Change::Started { run, activity, attempt }]);
    for who in ["first", "second"] {
        let cause = Cause::requested("", who);
        index.apply([Change::Cancelled { run, activity, cause, at: Time(7) }]);
        let hints = index.take_hints();
        assert_eq!(hints.contains(&Hint::Cancelled), who == "first");
    }
    let stands = index.attempt(run, activity).and_then(|attempt| attempt.cancel.clone());
    assert_eq!(stands, Some((Cause::requested("", "first"), Time(7))));
    assert_eq!(index.attempts_outside(Epoch(1)).count(), 0, "remote attempts outlive members");
}

#[test]
fn alarms_ring_in_order_and_only_an_earlier_one_is_hinted_at() {
    let mut index = Index::default();
    let timer = |due, id| Alarm { due: Time(due), what: AlarmKind::Timer(EventId(id)) };
    let limit = Alarm { due: Time(60), what: AlarmKind::Run(RunAlarm::Run) };
    index.apply([Change::Armed(run(1), timer(70, 3)), Change::Armed(run(2), limit)]);
    index.apply([Change::Armed(run(1), timer(80, 4))]);
    assert_eq!(index.take_hints(), [Hint::Alarm(Time(60)), Hint::Alarm(Time(70))]);
    assert_eq!(index.due(Time(75), 9), [(run(2), limit), (run(1), timer(70, 3))]);
    assert_eq!(index.due(Time(75), 1).len(), 1);
    index.apply([Change::Disarmed(run(2), limit)]);
    assert_eq!(index.next_due(), Some(Time(70)));
    assert_eq!(index.alarms_of(run(1)).count(), 2);
    index.apply([Change::RunGone(run(1))]);
    assert_eq!(index.next_due(), None);
}

#[test]
fn the_deadline_of_an_activity_is_the_earliest_one() {
    let mut index = Index::default();
    let limit = |due| Alarm { due: Time(due), what: AlarmKind::Activity(EventId(5)) };
    index.apply([limit(90), limit(40), limit(50)].map(|alarm| Change::Armed(run(1), alarm)));
    assert_eq!(index.deadline(run(1), EventId(5)), Some(Time(40)));
    assert_eq!(index.deadline(run(1), EventId(6)), None);
}

#[test]
fn a_new_member_has_fences_of_its_own_and_finds_what_the_dead_held() {
    let mut index = Index::default();
    index.joined(Epoch(1));
    let first = index.fence(Epoch(1)).expect("the member is in");
    assert!(index.fence(Epoch(1)).expect("the member is in") > first);
    index.apply([held(1, 1, 1)]);
    index.take_hints();
    index.joined(Epoch(2));
    assert_eq!(index.take_hints(), [Hint::Sweep]);
    assert_eq!(index.fence(Epoch(1)), None, "dead");
    assert!(index.fence(Epoch(2)).expect("the member is in") > first);
    assert_eq!(index.held_outside(Epoch(2)).collect::<Vec<_>>(), [run(1)]);
    assert_eq!(index.held_by(Epoch(1)).count(), 1);
    index.left();
    assert_eq!(index.fence(Epoch(2)), None);
}

#[test]
fn nothing_of_a_run_is_left_once_it_is_gone() {
    let mut index = Index::default();
    index.apply([ready(1, "q", "a"), queued(1, 5, "a", 900), Change::Owing(run(1))]);
    let attempt = native(1);
    index.apply([Change::Started { run: run(1), activity: EventId(6), attempt }]);
    index.apply([Change::RunGone(run(1))]);
    assert_eq!(index.runs(&runs(Want::Turn, &["q"], &["a"], 9)), []);
    assert_eq!(index.activities(&activities(&[], 9, 900)), []);
    assert_eq!((index.next_due(), index.owing().count()), (None, 0));
    assert_eq!(index.attempts_by(Epoch(1)).count(), 0);
}
