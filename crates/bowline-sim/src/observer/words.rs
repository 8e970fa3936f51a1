//! Every word of a receipt, beside what the observer saw.

use std::collections::BTreeSet;

use bowline_core::{EventId, ReceiptId, RunId, Rung};
use bowline_store::{AttemptLine, EndKind, Leftovers, Phase, RunKey, RunLine};

use super::{Known, Observer, probe::Probe};
use crate::far;

/// A rule that a receipt breaks, and how.
type Wrong = (&'static str, String);

const CLEAN: &str = "clean is said only when nothing is left running";
const NAMED: &str = "a receipt names everything that runs";
const NEVER: &str = "a receipt says never started only of what never began";
const TOLD: &str = "a receipt says told only of what was told";
const ENDED: &str = "a receipt says ended only of what has ended";
const RUNG: &str = "a receipt says how far something was pushed, and it was";

impl Observer {
    /// What a receipt says now, and what of it is not true.
    pub(super) fn read_out(&self, receipt: ReceiptId, run: RunId) -> Option<Wrong> {
        let left = self.left(receipt)?;
        let unheard = self.unheard();
        let mut known = self.known.lock();
        known.reach(phase(left.phase()));
        for line in &left.attempts {
            known.reach(line.rung.map_or("an attempt has no rung", rung));
        }
        let named = [
            (left.never_started > 0, "never started is said"),
            (left.attempts.iter().any(|line| line.lost), "something is lost"),
            (left.attempts.iter().any(|line| line.leaked), "something leaks"),
            (left.attempts.iter().any(|line| line.late), "something comes too late"),
            (left.runs.iter().any(RunLine::left_alone), "a run is left alone"),
        ];
        for (_, what) in named.into_iter().filter(|(is_so, _)| *is_so) {
            known.reach(what);
        }
        known.wrong(&left, run, &unheard)
    }

    /// Runs of which nothing is left but code at a remote worker. Nobody ever heard of its end, and
    /// nobody who could ever say more keeps the run, or those above it, from expiring.
    fn unheard(&self) -> BTreeSet<RunId> {
        let far: BTreeSet<RunId> = {
            let known = self.known.lock();
            let far = known.running.values().filter(|probe| probe.life.member >= far::FIRST);
            far.map(|probe| probe.run).collect()
        };
        let is_gone = |run: &RunId| self.head(RunKey::Run(*run)).is_none();
        let is_cut_off = |run: &RunId| {
            let parents = self.known.lock().parents(*run);
            is_gone(run) || parents.iter().any(is_gone)
        };
        far.into_iter().filter(is_cut_off).collect()
    }

    /// A termination was answered: its run is closed.
    pub(crate) fn terminated(&self, receipt: ReceiptId) {
        let Some(run) = self.receipt_run(receipt) else { return };
        let Some(head) = self.head(RunKey::Run(run)) else { return };
        if head.status.is_open() {
            let name = self.known.lock().name(run);
            let what = format!("that of {name} was answered, and it is {:?}", head.status);
            self.broke("a termination is answered when its run is closed", what);
        }
    }
}

impl Known {
    /// The first word that is not true.
    fn wrong(&self, left: &Leftovers, run: RunId, unheard: &BTreeSet<RunId>) -> Option<Wrong> {
        let tree = self.tree(run);
        let name = self.name(run);
        let is_asked = |probe: &Probe| tree.contains(&probe.run) && !unheard.contains(&probe.run);
        let runs: Vec<&Probe> = self.running.values().filter(|probe| is_asked(probe)).collect();
        let told = |probe: &Probe| {
            format!(
                "attempt {} of activity {} of {} runs on {}",
                probe.attempt,
                probe.activity,
                self.name(probe.run),
                probe.life
            )
        };
        if let (Phase::Clean, Some(probe)) = (left.phase(), runs.first()) {
            return Some((CLEAN, format!("the receipt of {name} says clean, but {}", told(probe))));
        }
        if let Some(probe) = runs.iter().find(|probe| !self.names(left, probe)) {
            let rest = left.remainder();
            let names = |lines: &[RunLine]| {
                let names: Vec<_> = lines.iter().map(|line| self.name(line.run)).collect();
                names.join(", ")
            };
            let what = format!(
                "that of {name} does not say that {}; it has {}; open: {}; left: {}",
                told(probe),
                names(&left.runs),
                names(&rest.open),
                names(&rest.left)
            );
            return Some((NAMED, what));
        }
        let never: u64 = tree.iter().map(|run| self.never_begun(*run)).sum();
        if left.never_started > never {
            let said = left.never_started;
            let what = format!("that of {name} says it of {said} activities; {never} did not");
            return Some((NEVER, what));
        }
        left.attempts.iter().find_map(|line| {
            let (rule, what) = self.untrue(line)?;
            let (activity, run) = (line.activity, self.name(line.run));
            Some((rule, format!("activity {activity} of {run}, in that of {name}: {what}")))
        })
    }

    /// Whether a receipt names code that runs, or a run above it that it was left with.
    fn names(&self, left: &Leftovers, probe: &Probe) -> bool {
        let is_named = |line: &AttemptLine| {
            let may_run = line.leaked || line.lost;
            let is_it = (line.run, line.activity) == (probe.run, probe.activity);
            is_it && (line.running || may_run || !line.unseen.is_empty())
        };
        let rest = left.remainder();
        let listed = rest.running.iter().chain(&rest.leaked).chain(&rest.lost);
        if left.truncated || listed.clone().any(is_named) {
            return true;
        }
        // Said to be gone by somebody: it is listed, and no remainder.
        if left.attempts.iter().any(|line| !line.running && is_named(line)) {
            return true;
        }
        let above = self.above(probe.run);
        rest.left.iter().any(|line| line.run == probe.run || above.contains(&line.run))
    }

    /// Every run above, and the first one of each chain.
    /// The runs that a run is a child of, up to the top.
    fn parents(&self, run: RunId) -> Vec<RunId> {
        let parent = |run: &RunId| {
            let first = self.runs.get(run)?.first;
            self.runs.get(&first)?.parent
        };
        std::iter::successors(parent(&run), parent).collect()
    }

    fn above(&self, run: RunId) -> Vec<RunId> {
        let (mut above, mut next) = (Vec::new(), Some(run));
        while let Some(story) = next.and_then(|run| self.runs.get(&run)) {
            next = self.runs.get(&story.first).and_then(|first| first.parent);
            above.extend(Some(story.first).filter(|first| *first != run));
            above.extend(next);
        }
        above
    }

    fn begun(&self, run: RunId, activity: EventId) -> bool {
        let bounds = (run, activity, 0)..=(run, activity, u32::MAX);
        self.begun.range(bounds).next().is_some()
    }

    /// What is not true about one attempt.
    fn untrue(&self, line: &AttemptLine) -> Option<Wrong> {
        let one = (line.run, line.activity, line.attempt);
        let any = |set: &BTreeSet<(RunId, EventId, u32)>| {
            let bounds = (line.run, line.activity, 0)..=(line.run, line.activity, u32::MAX);
            set.range(bounds).next().is_some()
        };
        let home = self.begun.get(&one);
        let is_far = home.is_some_and(|life| life.member >= far::FIRST);
        let is_told = any(&self.delivered) || is_far;
        if line.delivered_at.is_some() && !is_told && home.is_some() {
            return Some((TOLD, "it was not told to stop".to_owned()));
        }
        if line.observed_at.is_some() && !any(&self.observed) && !is_far {
            return Some((TOLD, "its code has not heard of it".to_owned()));
        }
        let runs = |probe: &&Probe| (probe.run, probe.activity) == (line.run, line.activity);
        if let (Some(_), Some(probe)) = (line.stopped_at, self.running.values().find(runs)) {
            return Some((ENDED, format!("stopped, but it runs on {}", probe.life)));
        }
        if line.ended == Some(EndKind::Completed) && !any(&self.completed) {
            return Some((ENDED, "completed, but its code has not".to_owned()));
        }
        if line.late && !any(&self.completed) {
            return Some((ENDED, "a late success, but there was none".to_owned()));
        }
        // How far something was pushed is said of what its cancel has ended.
        let wrong = match line.rung.filter(|_| line.ended == Some(EndKind::Cancelled))? {
            Rung::NeverStarted if self.begun(line.run, line.activity) => "it never ran, but it did",
            Rung::Kill if !is_told => "it was killed, and never told",
            Rung::Signal | Rung::Reap if home.is_none() => "it stopped by itself, and never ran",
            Rung::Died if home.is_some_and(|life| !self.dead.contains(life)) => {
                "it died with its process, which is alive"
            }
            _ => return None,
        };
        Some((RUNG, wrong.to_owned()))
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Requested => "phase requested",
        Phase::Decided => "phase decided",
        Phase::Delivered => "phase delivered",
        Phase::Observed => "phase observed",
        Phase::Stopped => "phase stopped",
        Phase::Settled => "phase settled",
        Phase::Clean => "phase clean",
        _ => "another phase",
    }
}

fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::NeverStarted => "rung never started",
        Rung::Waiting => "rung waiting",
        Rung::Signal => "rung signal",
        Rung::Reap => "rung reap",
        Rung::Abort => "rung abort",
        Rung::Kill => "rung kill",
        Rung::Died => "rung died",
        Rung::Unknown => "rung unknown",
        Rung::Abandon => "rung abandon",
        _ => "another rung",
    }
}
