//! What happens to the fleet: it is started, partly stopped, killed, resumed, and stopped.

use std::{
    collections::BTreeMap,
    os::unix::process::ExitStatusExt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use super::{
    alive::alive,
    keeper::{Keeper, Started},
    line::{Ask, Said, Seen},
    print::{Look, Teller},
    workflow::Kind,
};

/// How long anything may take, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the worker is asked where the runs stand.
const PAUSE: Duration = Duration::from_millis(50);

const ORDER: &str = "order-1001";
const AGENT: &str = "agent-7";
const NIGHTLY: &str = "nightly-3";
const TRAINING: &str = "training-2";
const VIDEO: &str = "video-5";

/// Every run that is started, and what it is about.
const FLEET: [(Kind, &str, &str); 7] = [
    (Kind::Order, ORDER, "an order: reserve, charge, ship; undone if it is stopped"),
    (Kind::Agent, AGENT, "an agent that starts agents, which start agents"),
    (Kind::Report, "report-q3", "six shards at once, and a deadline"),
    (Kind::Quote, "quote-9", "two suppliers race, the slower one is called off"),
    (Kind::Nightly, NIGHTLY, "a refresh that can do without one of its steps"),
    (Kind::Training, TRAINING, "code that never looks whether it should stop"),
    (Kind::Video, VIDEO, "a program of its own, which starts another one"),
];

/// What the proof must know of the story.
#[derive(Default)]
pub(super) struct Told {
    /// The receipts, each with the id of its run.
    pub(super) receipts: Vec<(String, String)>,
    /// The workers' processes.
    pub(super) workers: Vec<u32>,
    /// Every process that an activity has started.
    pub(super) processes: Vec<Started>,
}

impl Told {
    pub(super) fn groups(&self) -> Vec<i32> {
        self.processes.iter().map(|started| started.group).collect()
    }
}

/// Plays it all, up to the moment when nobody has the file open any more.
pub(super) async fn tell(file: &Path, tell: &Teller) -> Result<Told> {
    let mut story = Story::with_worker(file, tell).await?;
    story.start().await?;
    story.stop_some().await?;
    story.kill().await?;
    story.go_on().await?;
    story.stop_the_rest().await?;
    story.end().await
}

struct Story<'a> {
    file: &'a Path,
    tell: &'a Teller,
    /// Unset between two lives.
    worker: Option<Keeper>,
    seen: BTreeMap<String, Seen>,
    told: Told,
}

impl<'a> Story<'a> {
    async fn with_worker(file: &'a Path, tell: &'a Teller) -> Result<Self> {
        tell.heading("The fleet starts")?;
        let (seen, told) = (BTreeMap::new(), Told::default());
        let mut story = Self { file, tell, worker: None, seen, told };
        story.employ().await?;
        Ok(story)
    }

    /// Starts a worker.
    async fn employ(&mut self) -> Result<()> {
        let worker = Keeper::start(self.file).await?;
        self.told.workers.push(worker.pid());
        let (life, pid) = (self.told.workers.len(), worker.pid());
        let text = format!("worker {life} has the file open, as process {pid}");
        self.tell.moment("worker", &text, json!({ "life": life, "pid": pid }))?;
        self.worker = Some(worker);
        Ok(())
    }

    async fn ask(&mut self, ask: &Ask) -> Result<Said> {
        let worker = self.worker.as_mut().context("there is no worker")?;
        let said = worker.ask(ask).await?;
        let processes = std::mem::take(&mut worker.processes);
        self.note(processes)?;
        Ok(said)
    }

    fn note(&mut self, processes: Vec<Started>) -> Result<()> {
        for started in processes {
            let Started { id, attempt, pid, group } = &started;
            let text = format!("{id:<24} has started process {pid}, in group {group}");
            let more = json!({ "id": id, "attempt": attempt, "pid": pid, "group": group });
            self.tell.moment("process", &text, more)?;
            self.told.processes.push(started);
        }
        Ok(())
    }

    async fn start(&mut self) -> Result<()> {
        for (kind, id, about) in FLEET {
            let said = self.ask(&Ask::Start { kind, id: id.to_owned() }).await?;
            let Said::Started { run } = said else { bail!("the worker said {said:?}") };
            let text = format!("{id:<24} {about}");
            self.tell.moment("started", &text, json!({ "id": id, "run": run, "about": about }))?;
        }
        self.until("everything is under way", |story| {
            story.runs(ORDER, "ship")
                && story.runs(NIGHTLY, "rebuild_index")
                && story.is_half_way(0)
        })
        .await
    }

    /// What the second life has to bring back before it is stopped: all that waits for a word.
    fn is_half_way(&self, processes_before: usize) -> bool {
        let thinking = self.seen.values().filter(|seen| seen.runs("think"));
        let agents = thinking.filter(|seen| seen.id.starts_with(AGENT)).count();
        let began = |id: &str| self.seen.get(id).is_some_and(|seen| !seen.running.is_empty());
        let closed = |id: &str| self.seen.get(id).is_some_and(|seen| !seen.is_open);
        agents == 2
            && self.runs(TRAINING, "crunch")
            && self.runs(VIDEO, "encode")
            && self.told.processes.len() > processes_before
            && ["report-q3", "quote-9"].iter().all(|id| began(id) || closed(id))
    }

    fn runs(&self, id: &str, activity: &str) -> bool {
        self.seen.get(id).is_some_and(|seen| seen.runs(activity))
    }

    async fn stop_some(&mut self) -> Result<()> {
        self.tell.pause().await;
        self.tell.heading("Somebody says stop")?;
        self.cancel_one(NIGHTLY, "rebuild_index", "too slow tonight").await?;
        self.cancel(ORDER, "alice", "the customer changed her mind").await?;
        self.until("the clean-up has begun", |story| story.runs(ORDER, "refund")).await
    }

    async fn kill(&mut self) -> Result<()> {
        self.tell.heading("kill -9, in the middle of it")?;
        let worker = self.worker.take().context("there is no worker")?;
        let pid = worker.pid();
        let (status, processes) = worker.kill().await?;
        self.note(processes)?;
        let signal = status.signal();
        ensure!(signal == Some(9), "the worker was not killed: {status}");
        let open: Vec<&Seen> = self.seen.values().filter(|seen| seen.is_open).collect();
        let running: Vec<String> = open.iter().flat_map(|seen| names(seen)).collect();
        let text = format!("process {pid} is dead: {status}");
        let text = self.tell.paint(Look::Bad, &text);
        let more = json!({ "pid": pid, "signal": signal, "open": open.len(), "running": running });
        self.tell.moment("killed", &text, more)?;
        let lost = format!("it had {} runs open and was busy with {}", open.len(), list(&running));
        self.tell.say(&format!("          {lost}"))?;
        self.leashed().await
    }

    /// Waits until what the dead worker had started is gone too.
    async fn leashed(&mut self) -> Result<()> {
        let (began, groups) = (Instant::now(), self.told.groups());
        let mut left = alive(self.file, &groups);
        while !left.is_empty() && began.elapsed() < PATIENCE {
            tokio::time::sleep(PAUSE).await;
            left = alive(self.file, &groups);
        }
        let text = match left.is_empty() {
            true => format!("what it had started died with it (process group {})", all(&groups)),
            false => format!("what it had started lives on: {}", all(&left)),
        };
        self.tell.moment("leash", &text, json!({ "groups": groups, "alive": left }))?;
        Ok(())
    }

    async fn go_on(&mut self) -> Result<()> {
        self.tell.pause().await;
        self.tell.heading("A new worker goes on where the old one died")?;
        let before = self.told.processes.len();
        self.employ().await?;
        self.until("everything goes on", |story| story.is_half_way(before)).await
    }

    async fn stop_the_rest(&mut self) -> Result<()> {
        self.tell.pause().await;
        self.tell.heading("Stop everything else")?;
        self.cancel(AGENT, "bob", "stop button").await?;
        self.cancel(TRAINING, "carol", "the budget is used up").await?;
        self.terminate(VIDEO, "wrong film").await?;
        // If that never comes, it is the proof's to tell what is left.
        let clean = |story: &Self| {
            let tops = story.seen.values().filter_map(|seen| seen.is_clean);
            tops.clone().count() == FLEET.len() && tops.clone().all(|is_clean| is_clean)
        };
        self.watch(clean).await?;
        Ok(())
    }

    async fn end(mut self) -> Result<Told> {
        let worker = self.worker.take().context("there is no worker")?;
        let (status, processes) = worker.quit().await?;
        self.note(processes)?;
        let text = format!("the worker has closed the file: {status}");
        self.tell.moment("closed", &text, json!({ "code": status.code() }))?;
        Ok(self.told)
    }

    async fn cancel(&mut self, id: &str, by: &str, reason: &str) -> Result<()> {
        let ask = Ask::Cancel { id: id.into(), reason: reason.into(), by: by.into() };
        let text = format!("{by} cancels it: {reason}");
        self.order(&ask, id, "cancel", &text, json!({ "by": by, "reason": reason })).await
    }

    async fn cancel_one(&mut self, id: &str, activity: &str, reason: &str) -> Result<()> {
        let ask =
            Ask::CancelOne { id: id.into(), activity: activity.into(), reason: reason.into() };
        let text = format!("only its {activity} is cancelled: {reason}");
        let more = json!({ "activity": activity, "reason": reason });
        self.order(&ask, id, "cancel_one", &text, more).await
    }

    async fn terminate(&mut self, id: &str, reason: &str) -> Result<()> {
        let ask = Ask::Terminate { id: id.into(), reason: reason.into() };
        let text = format!("is terminated, its code is not asked: {reason}");
        self.order(&ask, id, "terminate", &text, json!({ "reason": reason })).await
    }

    /// Asks for a stop, and keeps its receipt.
    async fn order(
        &mut self,
        ask: &Ask,
        id: &str,
        how: &str,
        text: &str,
        mut more: serde_json::Value,
    ) -> Result<()> {
        let said = self.ask(ask).await?;
        let Said::Asked { receipt } = said else { bail!("the worker said {said:?}") };
        more["how"] = json!(how);
        more["id"] = json!(id);
        more["receipt"] = json!(receipt);
        let text = format!("{id:<24} {}", self.tell.paint(Look::Strong, text));
        self.tell.moment("asked", &text, more)?;
        self.told.receipts.extend(receipt.map(|receipt| (id.to_owned(), receipt)));
        Ok(())
    }

    /// Waits for something without which the story cannot go on.
    async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<()> {
        ensure!(self.watch(holds).await?, "this has not happened in {PATIENCE:?}: {what}");
        Ok(())
    }

    /// Looks again and again, and tells what has changed, until this holds; false if it never does.
    async fn watch(&mut self, holds: impl Fn(&Self) -> bool) -> Result<bool> {
        let began = Instant::now();
        loop {
            let said = self.ask(&Ask::Look).await?;
            let Said::Seen(seen) = said else { bail!("the worker said {said:?}") };
            for seen in seen {
                self.progress(seen)?;
            }
            if holds(self) || began.elapsed() > PATIENCE {
                return Ok(holds(self));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn progress(&mut self, seen: Seen) -> Result<()> {
        let before = self.seen.get(&seen.id);
        let is_same = before.is_some_and(|before| {
            (&before.status, &before.running) == (&seen.status, &seen.running)
        });
        if !is_same {
            let doing = names(&seen);
            let busy = match doing.is_empty() {
                true => String::new(),
                false => format!(": {}", list(&doing)),
            };
            let text = format!("{:<24} {}{busy}", seen.id, seen.status);
            let more = json!({ "id": seen.id, "status": seen.status, "running": doing });
            self.tell.moment("progress", &text, more)?;
        }
        self.seen.insert(seen.id.clone(), seen);
        Ok(())
    }
}

/// What a run is doing, in words.
fn names(seen: &Seen) -> Vec<String> {
    let name = |(name, attempt): &(String, u32)| match attempt {
        1 => name.clone(),
        attempt => format!("{name} (attempt {attempt})"),
    };
    seen.running.iter().map(name).collect()
}

fn all(numbers: &[i32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Names, each once, with how often it is there.
pub(super) fn list(names: &[String]) -> String {
    let mut counts = Vec::<(&str, usize)>::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let say = |(name, count): &(&str, usize)| match count {
        1 => (*name).to_owned(),
        count => format!("{count} × {name}"),
    };
    counts.iter().map(say).collect::<Vec<_>>().join(", ")
}
