//! A cancel tree as text: what a person reads first when something was stopped.

use std::{collections::BTreeSet, fmt, time::Duration};

use bowline_engine::{
    core::{RunId, Rung, Time},
    store::{AttemptLine, Leftovers, RunLine},
};

use super::CancelTree;

impl fmt::Display for CancelTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = &self.left;
        if let Some(receipt) = &left.receipt {
            writeln!(f, "cancel {}", receipt.cause)?;
        }
        let mut shown = BTreeSet::new();
        for line in &left.runs {
            if shown.contains(&line.run) {
                continue;
            }
            self.branch(f, line, "", "", &mut shown)?;
        }
        if left.never_started > 0 {
            let s = if left.never_started == 1 { "y" } else { "ies" };
            writeln!(f, "{} activit{s} had never started", left.never_started)?;
        }
        if left.truncated {
            writeln!(f, "(there is more: lists are cut at a thousand lines)")?;
        }
        for line in remainder(left) {
            writeln!(f, "{line}")?;
        }
        match self.is_clean() {
            true => write!(f, "clean: nothing is left running"),
            false => write!(f, "phase: {:?}", self.phase()),
        }
    }
}

impl CancelTree {
    /// A run, its activities, and the runs below it.
    fn branch(
        &self,
        f: &mut fmt::Formatter<'_>,
        line: &RunLine,
        head: &str,
        below: &str,
        shown: &mut BTreeSet<RunId>,
    ) -> fmt::Result {
        shown.insert(line.run);
        let attempts: Vec<&AttemptLine> =
            self.left.attempts.iter().filter(|attempt| attempt.run == line.run).collect();
        let inside: Vec<&RunLine> =
            self.left.runs.iter().filter(|other| is_below(other, line)).collect();
        write!(f, "{head}{} ({}) {}", line.workflow_id, line.name, line.status)?;
        // The first line of all has the cause of the run that was asked.
        let told = self.left.receipt.as_ref().map(|receipt| &receipt.cause);
        if let Some(cause) = line.cancel.as_ref().map(|cancel| &cancel.cause)
            && Some(cause) != told
        {
            write!(f, " [{}]", cause.code)?;
        }
        let decided = line.cancel.as_ref().and_then(|cancel| cancel.decided_at);
        self.hops(f, &[("decided", decided), ("closed", line.closed_at)])?;
        let mut rest = attempts.len() + inside.len();
        for attempt in attempts {
            rest -= 1;
            let (fork, _) = forks(rest);
            self.attempt(f, attempt, &format!("{below}{fork}"))?;
        }
        for child in inside {
            rest -= 1;
            let (fork, trunk) = forks(rest);
            if !shown.contains(&child.run) {
                let (head, below) = (format!("{below}{fork}"), format!("{below}{trunk}"));
                self.branch(f, child, &head, &below, shown)?;
            }
        }
        Ok(())
    }

    fn attempt(&self, f: &mut fmt::Formatter<'_>, line: &AttemptLine, head: &str) -> fmt::Result {
        write!(f, "{head}{} #{}", line.name, line.activity)?;
        if line.attempt > 1 {
            write!(f, " attempt {}", line.attempt)?;
        }
        write!(f, " {}", fate(line))?;
        if let Some(cause) = &line.cause {
            write!(f, " [{}]", cause.code)?;
        }
        self.hops(
            f,
            &[
                ("decided", line.decided_at),
                ("delivered", line.delivered_at),
                ("observed", line.observed_at),
                ("stopped", line.stopped_at),
            ],
        )
    }

    /// When each hop was taken, counted from the request; what an earlier request or decision had
    /// stopped already, says so.
    fn hops(&self, f: &mut fmt::Formatter<'_>, hops: &[(&str, Option<Time>)]) -> fmt::Result {
        for (hop, at) in hops {
            let (Some(at), Some(from)) = (*at, self.from) else { continue };
            match at < from {
                true => write!(f, "  {hop} before")?,
                false => write!(f, "  {hop} +{}", short(at.since(from)))?,
            }
        }
        writeln!(f)
    }
}

fn is_below(line: &RunLine, parent: &RunLine) -> bool {
    line.parent.is_some_and(|(run, ..)| run == parent.run) || parent.successor == Some(line.run)
}

fn forks(rest: usize) -> (&'static str, &'static str) {
    match rest {
        0 => ("└─ ", "   "),
        _ => ("├─ ", "│  "),
    }
}

/// A span that a person can compare: a few digits and a unit.
fn short(span: Duration) -> String {
    let ms = span.as_secs_f64() * 1000.0;
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1000.0),
    }
}

fn fate(line: &AttemptLine) -> &'static str {
    match line.rung {
        _ if line.leaked => "was given up, and its code runs on",
        _ if line.lost => "was lost with its worker",
        _ if line.running => "is running",
        _ if line.late => "had succeeded before it could stop",
        Some(Rung::NeverStarted) => "had never started",
        Some(Rung::Signal) => "was told, and stopped by itself",
        Some(Rung::Abort) => "ignored it, and was aborted",
        Some(Rung::Kill) => "ignored it, and was killed",
        Some(Rung::Abandon) => "ignored it, and was given up",
        _ => "is over",
    }
}

/// What keeps a tree from being clean, in words.
pub(super) fn remainder(left: &Leftovers) -> Vec<String> {
    let rest = left.remainder();
    let attempt = |what: &str, line: &AttemptLine| {
        format!("{what}: {} #{} of run {}", line.name, line.activity, line.run)
    };
    let leaked = rest.leaked.iter().map(|line| attempt("leaked", line));
    let lost = rest.lost.iter().map(|line| attempt("lost", line));
    let left_alone =
        rest.left.iter().map(|line| format!("left alone: {} ({})", line.workflow_id, line.name));
    leaked.chain(lost).chain(left_alone).collect()
}
