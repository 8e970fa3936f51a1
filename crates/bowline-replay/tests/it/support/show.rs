//! Commands as a few short lines, with the numbers that they will have in history.

use std::fmt::Write as _;

use bowline_core::{Cancelled, Cause, Command, EventId, ScopeStep, UpdateAnswer};

use super::text;

/// One line for each command; `completed` is the turn's `TurnCompleted`.
pub(crate) fn show(completed: EventId, commands: &[Command]) -> String {
    let mut lines = String::new();
    let mut number = completed;
    // What was received is seen from what is done with it.
    let shown = commands.iter().filter(|command| !matches!(command, Command::Receive(_)));
    for command in shown {
        let is_event = !matches!(
            command,
            Command::RejectUpdate(_) | Command::Scopes(_) | Command::Detach(_) | Command::Drop(_)
        );
        if is_event {
            number = number.plus(1);
            write!(lines, "{number}: ").unwrap();
        }
        if let Command::Drop(decisions) = command {
            let events = decisions.iter().filter(|d| d.what != Cancelled::Activities);
            number = number.plus(events.map(|decision| decision.targets.count()).sum());
        }
        line(&mut lines, command);
        lines.push('\n');
    }
    lines
}

fn line(out: &mut String, command: &Command) {
    match command {
        Command::ScheduleActivity(spec) => {
            write!(out, "activity {}", broken(&spec.name, "; ")).unwrap();
            if let Some(limit) = spec.timeouts.schedule_to_close {
                write!(out, " within {:?}", limit.0).unwrap();
            }
            if let Some(deadline) = spec.deadline {
                write!(out, " until {deadline:?}").unwrap();
            }
        }
        Command::StartTimer(_, after) => write!(out, "timer {:?}", after.0).unwrap(),
        Command::StartChild(spec, _) => {
            write!(out, "child {}", spec.name).unwrap();
            if let Some(deadline) = spec.deadline {
                write!(out, " until {deadline:?}").unwrap();
            }
        }
        Command::RecordMarker(marker) => {
            write!(out, "marker {} {:?}", marker.name, marker.details).unwrap();
        }
        Command::SignalExternal(signal) => write!(out, "signal {}", signal.name).unwrap(),
        Command::CancelExternal(cancel) => {
            write!(out, "cancel {}", cancel.target.workflow_id).unwrap();
        }
        Command::AcceptUpdate(accept) => write!(out, "accept {}", accept.request.id).unwrap(),
        Command::RejectUpdate(reject) => {
            write!(out, "reject {}: {}", reject.request.id, reject.failure).unwrap();
        }
        Command::CompleteUpdate(done) => match &done.answer {
            UpdateAnswer::Done(answer) => {
                write!(out, "answer {}: {}", done.request.id, text(answer)).unwrap();
            }
            UpdateAnswer::Failed(failure) => {
                write!(out, "answer {}: {failure}", done.request.id).unwrap();
            }
        },
        Command::Detach(ranges) => write!(out, "detach {ranges:?}").unwrap(),
        Command::Complete(result) => write!(out, "complete {}", text(result)).unwrap(),
        Command::Fail(failure) => write!(out, "fail {failure}").unwrap(),
        Command::Cancel(_, Some(cause)) => write!(out, "cancelled: {}", chain(cause)).unwrap(),
        Command::Drop(_) | Command::Scopes(_) => lists(out, command),
        other => write!(out, "{other:?}").unwrap(),
    }
}

fn lists(out: &mut String, command: &Command) {
    match command {
        Command::Drop(decisions) => {
            let texts = decisions.iter().map(|d| {
                format!("drop {:?} {:?} in {}: {}", d.what, d.targets, d.scope, chain(&d.cause))
            });
            out.push_str(&texts.collect::<Vec<_>>().join("\n"));
        }
        Command::Scopes(steps) => {
            let texts = steps.iter().map(|step| match step {
                ScopeStep::Opened { scope, parent, name } => {
                    format!("scope {scope} in {parent} {name:?}")
                }
                ScopeStep::Left { scope, cause: None } => format!("left {scope}"),
                ScopeStep::Left { scope, cause: Some(cause) } => {
                    format!("left {scope}: {}", chain(cause))
                }
            });
            out.push_str(&texts.collect::<Vec<_>>().join("\n"));
        }
        _ => unreachable!("only lists come here"),
    }
}

/// A cause, each link of its chain on a line of its own.
fn chain(cause: &Cause) -> String {
    broken(cause, ", because ").replace("    ", "    because ")
}

fn broken(text: &impl ToString, at: &str) -> String {
    text.to_string().replace(at, "\n    ")
}
