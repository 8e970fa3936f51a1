//! A cancel tree as text: what a person reads first when something was stopped.

use std::{collections::BTreeSet, fmt, time::Duration};

use bowline_engine::{
    core::{RunId, Time},
    store::{AttemptLine, Leftovers, RunLine, word},
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
            writeln!(f, "{} had never started", activities(left.never_started))?;
        }
        if left.truncated {
            writeln!(f, "(there is more: lists are cut at a thousand lines)")?;
        }
        for line in remainder(left, self.from) {
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
            let (fork, trunk) = forks(rest);
            self.attempt(f, attempt, &format!("{below}{fork}"), &format!("{below}{trunk}"))?;
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

    /// An activity by its newest attempt, and earlier ones whose end nobody saw.
    fn attempt(
        &self,
        f: &mut fmt::Formatter<'_>,
        line: &AttemptLine,
        head: &str,
        below: &str,
    ) -> fmt::Result {
        self.newest(f, line, head)?;
        for own in line.unseen.iter().filter(|own| own.attempt != line.attempt) {
            writeln!(f, "{below}attempt {}: {}", own.attempt, word::unseen(own).1)?;
        }
        Ok(())
    }

    fn newest(&self, f: &mut fmt::Formatter<'_>, line: &AttemptLine, head: &str) -> fmt::Result {
        write!(f, "{head}{} #{}", line.name, line.activity)?;
        if line.attempt > 1 {
            write!(f, " attempt {}", line.attempt)?;
        }
        write!(f, " {}", word::fate(line))?;
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

/// What keeps a tree from being clean, in words.
pub(super) fn remainder(left: &Leftovers, from: Option<Time>) -> Vec<String> {
    let rest = left.remainder();
    let name = |line: &AttemptLine| format!("{} #{}", line.name, line.activity);
    let open = rest.open.iter().map(|line| format!("open: {} ({})", line.workflow_id, line.name));
    let running = rest.running.iter().map(|line| {
        format!("running: {} attempt {} of run {}", name(line), line.attempt, line.run)
    });
    let waiting = (rest.queued > 0).then(|| format!("waiting: {}", activities(rest.queued)));
    let unswept = (rest.unswept > 0).then(|| format!("to be swept: {}", rows(rest.unswept)));
    let unseen = rest.leaked.iter().chain(rest.lost.iter().filter(|line| !line.leaked));
    let unseen = unseen.flat_map(|line| {
        let may_run = line.unseen.iter().filter(|own| own.may_run());
        may_run.map(move |own| {
            let (what, known) = word::unseen(own);
            let since = from.map(|from| format!(" since +{}", short(own.since.since(from))));
            let (attempt, run, since) = (own.attempt, line.run, since.unwrap_or_default());
            format!("{what}: {} attempt {attempt} of run {run}: {known}{since}", name(line))
        })
    });
    let left_alone =
        rest.left.iter().map(|line| format!("left alone: {} ({})", line.workflow_id, line.name));
    let all = open.chain(running).chain(waiting).chain(unswept);
    all.chain(unseen).chain(left_alone).collect()
}

fn activities(count: u64) -> String {
    format!("{count} activit{}", if count == 1 { "y" } else { "ies" })
}

fn rows(count: u64) -> String {
    format!("{count} row{}", if count == 1 { "" } else { "s" })
}
