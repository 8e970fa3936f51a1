//! Notes that break a rule.

use super::Tale;
use crate::*;

fn ids(ids: &[u64]) -> Ranges {
    ids.iter().copied().map(EventId).collect()
}

fn cancels(what: Cancelled, targets: &[u64]) -> Note {
    let cause = Cause::new(Code::FutureDropped);
    Note::Cancels(vec![Decision { scope: ScopeId(0), what, targets: ids(targets), cause }])
}

fn outstanding(closing: u64) -> Outstanding {
    Outstanding { closing: EventId(closing), ..Outstanding::default() }
}

#[test]
fn a_cancel_names_what_is_open_or_follows_in_its_turn() {
    let open = "a cancel names what is open";
    let tale = Tale::native().turn().activity("").timer("");
    let with = |what, targets: &[u64]| tale.clone().turn_noted(vec![cancels(what, targets)]);
    with(Cancelled::Activities, &[5]).is_lawful();
    with(Cancelled::Activities, &[6]).breaks(open);
    with(Cancelled::Activities, &[10]).activity("").is_lawful();
    with(Cancelled::Activities, &[10]).timer("").breaks(open);
    let unset = TimerCancelled { timer: EventId(6), turn: EventId(9), ..TimerCancelled::default() };
    with(Cancelled::Timers, &[6]).then(unset).is_lawful();
    with(Cancelled::Timers, &[6]).breaks(open);
    with(Cancelled::Children, &[6]).breaks(open);
    let one = |id| Note::CancelledOne(EventId(id), Cause::new(Code::Requested));
    let scheduled = || TurnScheduled { attempt: 1, ..TurnScheduled::default() };
    tale.clone().noted(scheduled(), vec![one(6)]).breaks(open);
}

#[test]
fn only_what_was_cancelled_is_skipped() {
    let skipped = |id: u64| vec![Note::Skipped(ids(&[id]))];
    let tale = Tale::native().turn().activity("").activity("");
    let turn = tale.turn_noted(vec![cancels(Cancelled::Activities, &[5])]);
    let then = |id| {
        let scheduled = TurnScheduled { attempt: 1, ..TurnScheduled::default() };
        let tale = turn.clone().noted(scheduled, skipped(id));
        let scheduled = EventId(10);
        tale.then(TurnStarted { scheduled, ..TurnStarted::default() }).then(TurnCompleted {
            scheduled,
            started: EventId(11),
            ..TurnCompleted::default()
        })
    };
    then(5).is_lawful();
    let broken = Tale(then(6).0[..10].to_vec());
    broken.breaks("only what was cancelled ends so");
}

#[test]
fn a_note_stands_where_it_belongs() {
    let rule = "a note stands where it belongs";
    let tale = Tale::native().turn().activity("");
    let signal = WorkflowSignalled::default;
    for note in [
        cancels(Cancelled::Activities, &[5]),
        Note::Scopes(vec![]),
        Note::Skipped(ids(&[5])),
        Note::Rung(Rung::Signal),
        Note::Outstanding(Outstanding::default()),
        Note::Detached(ids(&[5])),
    ] {
        tale.clone().noted(signal(), vec![note]).breaks(rule);
    }
    tale.noted(signal(), vec![Note::Cause(Cause::new(Code::Requested))]).is_lawful();
    Tale::remote().turn_noted(vec![cancels(Cancelled::Activities, &[])]).breaks(rule);
}

#[test]
fn what_is_let_go_of_is_open() {
    let rule = "what is let go of is open";
    let detached = |id| vec![Note::Detached(ids(&[id]))];
    Tale::native().turn_noted(detached(3)).breaks(rule);
    Tale::native().turn_noted(detached(5)).breaks(rule);
    Tale::native().turn_noted(detached(5)).activity("").is_lawful();
    Tale::native().turn_noted(detached(5)).child(ParentClose::Cancel).is_lawful();
}

#[test]
fn the_last_event_tells_what_was_open() {
    let rule = "the last event tells what was open";
    let tale = Tale::native()
        .turn_noted(vec![cancels(Cancelled::Activities, &[5]), Note::Detached(ids(&[7, 10]))])
        .activity("")
        .activity("")
        .activity("")
        .timer("")
        .child(ParentClose::Cancel)
        .child(ParentClose::Cancel)
        .child(ParentClose::Abandon);
    let told = Outstanding {
        activities: ids(&[6]),
        timers: ids(&[8]),
        children: ids(&[9]),
        left: ids(&[7, 10, 11]),
        ..outstanding(12)
    };
    tale.clone().closed(vec![Note::Outstanding(told.clone())]).is_lawful();
    for wrong in [
        Outstanding { activities: ids(&[5, 6]), ..told.clone() },
        Outstanding { timers: ids(&[]), ..told.clone() },
        Outstanding { children: ids(&[9, 10]), ..told.clone() },
        Outstanding { left: ids(&[7]), ..told.clone() },
        Outstanding { closing: EventId(11), ..told },
    ] {
        tale.clone().closed(vec![Note::Outstanding(wrong)]).breaks(rule);
    }
    tale.closed(vec![]).breaks(rule);
    let nothing = Tale::native().turn();
    nothing.closed(vec![Note::Outstanding(outstanding(5))]).breaks(rule);
}
