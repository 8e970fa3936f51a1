//! What the file says when nobody has it open any more: how every run ended, every cancel hop by
//! hop, and whether anything is left.
//!
//! In:    the file, the receipts, the processes that were heard of.
//! Never: anything that the story remembers about how it ended.

mod run;
#[cfg(test)]
mod tests;
mod tree;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Result;
use bowline::Bowline;
use bowline_engine::Engine;
use serde_json::{Value, json};

use super::{
    alive::alive,
    print::{Look, Teller},
    story::Told,
};
use crate::compose;

/// Nothing runs here that would have to be waited for.
const DRAIN: Duration = Duration::from_secs(5);

/// Tells everything; true if nothing is left.
pub(super) async fn read(file: &Path, told: &Told, tell: &Teller) -> Result<bool> {
    let store = Arc::new(compose::file(file)?);
    let engine = Engine::builder(store.clone()).identity("demo proof").start().await?;
    let open = run::tell(&engine, tell).await?;
    engine.close(DRAIN).await?;
    let bowline = Bowline::on(store.clone()).identity("demo proof").start().await?;
    let trees = tree::tell(&bowline, told, tell).await?;
    let orphans = bowline.orphans().await?;
    let findings = store.check().await?;
    bowline.close(DRAIN).await?;
    let alive = alive(file, &told.groups());
    tell.heading("Is anything left?")?;
    let mut proof = Proof { tell, is_clean: true };
    proof.check("open_runs", "runs are open", open.len(), json!({ "runs": open }))?;
    let text = format!("of {} trees are not clean ({} receipts)", trees.count, told.receipts.len());
    let more = json!({ "trees": trees.count, "receipts": told.receipts.len(), "left": trees.left });
    proof.check("unclean_trees", &text, trees.unclean, more)?;
    let left = match orphans.is_empty() {
        true => 0,
        false => orphans.runs().len().max(orphans.activities().len()).max(1),
    };
    proof.check("orphans", "orphans", left, json!({ "shown": orphans.to_string() }))?;
    let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let text = "faults in the file, read from end to end";
    proof.check("findings", text, said.len(), json!({ "findings": said }))?;
    let pids: Vec<u32> = told.processes.iter().map(|started| started.pid).collect();
    let text = format!(
        "processes are alive (of {} workers and {} that they started)",
        told.workers.len(),
        pids.len()
    );
    let more = json!({ "workers": told.workers, "started": pids, "alive": alive });
    proof.check("processes", &text, alive.len(), more)?;
    proof.conclude()
}

/// One thing after the other that should not be there.
struct Proof<'a> {
    tell: &'a Teller,
    is_clean: bool,
}

impl Proof<'_> {
    fn check(&mut self, what: &str, text: &str, found: usize, more: Value) -> Result<()> {
        let is_clean = found == 0;
        self.is_clean &= is_clean;
        let (look, mark) = match is_clean {
            true => (Look::Good, "ok "),
            false => (Look::Bad, "NO "),
        };
        let line = format!("  {}{found} {text}", self.tell.paint(look, mark));
        self.tell.fact("check", &line, json!({ "what": what, "found": found, "more": more }))?;
        if !is_clean {
            self.tell.say(&format!("     {more}"))?;
        }
        Ok(())
    }

    fn conclude(self) -> Result<bool> {
        let elapsed_ms = self.tell.elapsed_ms();
        let text = match self.is_clean {
            true => self.tell.paint(Look::Good, "clean: nothing is left running"),
            false => self.tell.paint(Look::Bad, "NOT CLEAN: see above for what is left"),
        };
        let text = format!("{text} ({:.1} s)", self.tell.elapsed_ms() as f64 / 1_000.0);
        let more = json!({ "clean": self.is_clean, "elapsed_ms": elapsed_ms });
        self.tell.fact("clean", &text, more)?;
        Ok(self.is_clean)
    }
}
