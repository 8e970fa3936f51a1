//! Words of a receipt. Each one follows from something that was recorded, which is named beside it;
//! what is not known is said to be not known.

use bowline_core::{Rung, Sight, UnseenAttempt};

use crate::{AttemptLine, EndKind};

/// What became of the newest attempt of an activity.
pub fn fate(line: &AttemptLine) -> String {
    if let Some(own) = line.unseen.iter().find(|own| own.attempt == line.attempt) {
        let given_up = own.sight == Sight::RunsOn && line.rung == Some(Rung::Abandon);
        return if given_up { "was given up, and its code runs on".into() } else { unseen(own).1 };
    }
    let said = match line.ended {
        // A worker has it.
        _ if line.running => "is running",
        // Its outcome stood when its success was reported.
        _ if line.late => "succeeded too late",
        None => "waits to be tried again",
        Some(_) if line.cause.is_none() => "is over",
        // A result is a result, however late: the rung says nothing about it.
        Some(EndKind::Completed) if is_told(line) => "completed although it was told",
        Some(EndKind::Completed) => "completed, not known to have been told",
        Some(EndKind::Failed) if is_told(line) => "failed after it was told",
        Some(EndKind::Failed) => "failed, not known to have been told",
        Some(EndKind::TimedOut) => "passed a limit",
        Some(_) => return stopped(line),
    };
    said.to_owned()
}

/// An activity that ended by its cancel: how far it had to be pushed. That it was told follows from
/// `delivered`, that it looked from `observed`.
fn stopped(line: &AttemptLine) -> String {
    let untold = "not known to have been told";
    let pushed = |how: &str| match (is_told(line), line.observed_at) {
        (true, None) => format!("ignored it, and was {how}"),
        (true, Some(_)) => format!("looked, did not stop in time, and was {how}"),
        (false, _) => format!("was {how}, {untold}"),
    };
    match line.rung {
        Some(Rung::NeverStarted) => "had never started".into(),
        Some(Rung::Waiting) => "had been with a worker, and waited for another".into(),
        Some(Rung::Signal) if is_told(line) => "was told, and stopped by itself".into(),
        Some(Rung::Signal) => format!("stopped, {untold}"),
        Some(Rung::Reap) if is_told(line) => {
            "was told, and stopped by itself; processes that it left were ended".into()
        }
        Some(Rung::Reap) => format!("stopped, {untold}; processes that it left were ended"),
        Some(Rung::Abort) => pushed("aborted"),
        Some(Rung::Kill) => pushed("killed"),
        Some(Rung::Abandon) => format!("{}, and has ended since", pushed("given up")),
        Some(Rung::Cut) if is_told(line) => {
            "was told; its process lost contact with the store, and ended it".into()
        }
        Some(Rung::Cut) => {
            format!("its process lost contact with the store, and ended it, {untold}")
        }
        Some(Rung::Died) if is_told(line) => "was told, and ended with its process".into(),
        Some(Rung::Died) => format!("ended with its process, {untold}"),
        Some(Rung::Unknown) => "fell silent with its worker, and has ended since".into(),
        _ => "is over".into(),
    }
}

fn is_told(line: &AttemptLine) -> bool {
    line.delivered_at.is_some()
}

/// What an attempt is called of which nobody saw the end, and what is known of it.
pub fn unseen(own: &UnseenAttempt) -> (&'static str, String) {
    let worker = &own.worker;
    match &own.sight {
        Sight::RunsOn => ("leaked", "is over for its run, and its code runs on".into()),
        Sight::Silent => ("lost", format!("nobody saw it end: its worker {worker} is silent")),
        Sight::Presumed(_) => {
            ("lost", format!("presumed dead: its worker {worker} has been silent too long"))
        }
        Sight::SaidGone(by, _) => {
            ("gone", format!("{by} says that its worker {worker} is gone; nobody saw it end"))
        }
        _ => ("lost", format!("nobody saw it end: its worker is {worker}")),
    }
}

#[cfg(test)]
mod tests;
