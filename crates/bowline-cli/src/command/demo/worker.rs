//! The worker: a process that owns the store file, runs the fleet, and answers questions about it.
//!
//! It is the one that is killed. It ends by itself when whoever started it is gone.

use std::{collections::BTreeMap, io::BufRead, path::Path, time::Duration};

use anyhow::{Context, Result};
use bowline::Bowline;
use tokio::sync::mpsc;

use super::{
    line::{self, Ask, Said, Seen},
    workflow,
};

/// How many questions may wait; they come one at a time.
const ASKS_MAX: usize = 4;
/// How long running activities have when there is no more to do.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) async fn run(file: &Path) -> Result<()> {
    let identity = format!("demo worker {}", std::process::id());
    let bowline = workflow::program(file).identity(identity).start().await?;
    line::say(&Said::Ready)?;
    let mut asks = listen()?;
    while let Some(ask) = asks.recv().await {
        if matches!(ask, Ask::Quit) {
            return Ok(bowline.close(DRAIN).await?);
        }
        let said = match answer(&bowline, ask).await {
            Ok(said) => said,
            Err(error) => Said::Failed(format!("{error:#}")),
        };
        line::say(&said)?;
    }
    // Nobody is there to see a clean end, and none is needed.
    Ok(())
}

/// What is asked, from a thread of its own: reading blocks.
fn listen() -> Result<mpsc::Receiver<Ask>> {
    let (sender, asks) = mpsc::channel(ASKS_MAX);
    let listen = move || {
        for line in std::io::stdin().lock().lines() {
            let ask = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            let Some(ask) = ask else { return };
            if sender.blocking_send(ask).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("demo-asks".to_owned()).spawn(listen)?;
    Ok(asks)
}

async fn answer(bowline: &Bowline, ask: Ask) -> Result<Said> {
    Ok(match ask {
        Ask::Start { kind, id } => {
            Said::Started { run: workflow::start(bowline, kind, &id).await? }
        }
        Ask::Cancel { id, reason, by } => {
            let receipt = bowline.run(id).cancel(reason).by(by).await?;
            Said::Asked { receipt: Some(receipt.id()) }
        }
        Ask::CancelOne { id, activity, reason } => {
            let run = bowline.run(id);
            let running = run.tree().await?.activities();
            let one = running.iter().find(|one| one.running && one.name == activity);
            run.cancel_one(one.context("that activity does not run")?.number, reason).await?;
            Said::Asked { receipt: None }
        }
        Ask::Terminate { id, reason } => {
            let receipt = bowline.run(id).terminate(reason).await?;
            Said::Asked { receipt: Some(receipt.id()) }
        }
        Ask::Look => Said::Seen(look(bowline).await?),
        Ask::Quit => unreachable!("the loop ends with it"),
    })
}

/// Every run, as the store has it.
async fn look(bowline: &Bowline) -> Result<Vec<Seen>> {
    let runs = bowline.list().oldest_first().all().await?;
    let (mut running, mut clean) = (BTreeMap::<String, Vec<_>>::new(), BTreeMap::new());
    for run in runs.iter().filter(|run| run.parent.is_none()) {
        let tree = bowline.run(&run.id).tree().await?;
        clean.insert(run.run.clone(), tree.is_clean());
        for one in tree.activities().into_iter().filter(|one| one.running) {
            running.entry(one.run).or_default().push((one.name, one.attempt));
        }
    }
    let seen = runs.into_iter().map(|run| Seen {
        status: run.status.to_string(),
        is_open: run.status.is_open(),
        running: running.remove(&run.run).unwrap_or_default(),
        is_clean: clean.get(&run.run).copied(),
        id: run.id,
    });
    Ok(seen.collect())
}
