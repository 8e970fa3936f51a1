//! Every word, and the fact that it follows from.

use bowline_core::{ActivityLive, Cause, Code, EventId, RunId, Time};
use expect_test::expect;

use super::*;

/// A cancelled activity whose attempt has ended.
fn line(rung: Rung) -> AttemptLine {
    let live = ActivityLive::queued(Time(0), Time(0));
    let line = AttemptLine::of(RunId::default(), EventId(7), "ship".into(), &live, |_| None);
    AttemptLine {
        attempt: 1,
        cause: Some(Cause::new(Code::Requested)),
        ended: Some(EndKind::Cancelled),
        rung: Some(rung),
        ..line
    }
}

fn told(line: AttemptLine) -> AttemptLine {
    AttemptLine { delivered_at: Some(Time(1)), ..line }
}

fn looked(line: AttemptLine) -> AttemptLine {
    AttemptLine { observed_at: Some(Time(2)), ..told(line) }
}

fn unseen_as(sight: Sight) -> AttemptLine {
    let own =
        UnseenAttempt { attempt: 1, epoch: None, worker: "w@host".into(), since: Time(3), sight };
    AttemptLine { unseen: vec![own], ..line(Rung::Unknown) }
}

/// "Ignored it" is said of code that was told, "never started" of what never started, "killed" of
/// what was killed.
#[test]
fn how_far_it_was_pushed_is_told_with_what_it_was_told() {
    let rungs = [
        Rung::NeverStarted,
        Rung::Waiting,
        Rung::Signal,
        Rung::Reap,
        Rung::Abort,
        Rung::Kill,
        Rung::Cut,
        Rung::Died,
        Rung::Unknown,
        Rung::Abandon,
    ];
    let mut table = String::new();
    for rung in rungs {
        let all = [line(rung), told(line(rung)), looked(line(rung))].map(|line| fate(&line));
        table.push_str(&format!("{rung:?}\n  {}\n", all.join("\n  ")));
    }
    expect![[r#"
        NeverStarted
          had never started
          had never started
          had never started
        Waiting
          had been with a worker, and waited for another
          had been with a worker, and waited for another
          had been with a worker, and waited for another
        Signal
          stopped, not known to have been told
          was told, and stopped by itself
          was told, and stopped by itself
        Reap
          stopped, not known to have been told; processes that it left were ended
          was told, and stopped by itself; processes that it left were ended
          was told, and stopped by itself; processes that it left were ended
        Abort
          was aborted, not known to have been told
          ignored it, and was aborted
          looked, did not stop in time, and was aborted
        Kill
          was killed, not known to have been told
          ignored it, and was killed
          looked, did not stop in time, and was killed
        Cut
          its process lost contact with the store, and ended it, not known to have been told
          was told; its process lost contact with the store, and ended it
          was told; its process lost contact with the store, and ended it
        Died
          ended with its process, not known to have been told
          was told, and ended with its process
          was told, and ended with its process
        Unknown
          fell silent with its worker, and has ended since
          fell silent with its worker, and has ended since
          fell silent with its worker, and has ended since
        Abandon
          was given up, not known to have been told, and has ended since
          ignored it, and was given up, and has ended since
          looked, did not stop in time, and was given up, and has ended since
    "#]]
    .assert_eq(&table);
}

#[test]
fn an_end_that_is_no_stop_is_called_what_it_is() {
    let ended = |kind| AttemptLine { ended: Some(kind), ..line(Rung::Signal) };
    let all = [
        ended(EndKind::Completed),
        told(ended(EndKind::Completed)),
        ended(EndKind::Failed),
        told(ended(EndKind::Failed)),
        ended(EndKind::TimedOut),
        AttemptLine { late: true, ..line(Rung::Abandon) },
        AttemptLine { running: true, ..line(Rung::Signal) },
        AttemptLine { ended: None, rung: None, ..line(Rung::Signal) },
    ];
    expect![[r#"
        completed, not known to have been told
        completed although it was told
        failed, not known to have been told
        failed after it was told
        passed a limit
        succeeded too late
        is running
        waits to be tried again"#]]
    .assert_eq(&all.map(|line| fate(&line)).join("\n"));
}

#[test]
fn what_nobody_saw_end_is_called_so() {
    let leaked = AttemptLine { rung: Some(Rung::Abandon), ..unseen_as(Sight::RunsOn) };
    let all = [
        leaked,
        unseen_as(Sight::RunsOn),
        unseen_as(Sight::Silent),
        unseen_as(Sight::Presumed(Time(4))),
        unseen_as(Sight::SaidGone("ops".into(), Time(4))),
    ];
    expect![[r#"
        was given up, and its code runs on
        is over for its run, and its code runs on
        nobody saw it end: its worker w@host is silent
        presumed dead: its worker w@host has been silent too long
        ops says that its worker w@host is gone; nobody saw it end"#]]
    .assert_eq(&all.map(|line| fate(&line)).join("\n"));
}
