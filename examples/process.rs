//! An activity that runs a process, and leaves none behind.
//!
//! `ctx.spawn_process` starts it in a group of its own. When the activity ends, the group is
//! killed, and so is everything that the process itself has started: here a shell with a `sleep`
//! in the background. The same happens if the activity ignores its cancel, or if this whole
//! program is killed.
//!
//! ```text
//! sum: 42
//! build: the shell says that its sleep has begun
//! build: stopping, because requested by you (wrong branch)
//! build: cancelled
//! build: the shell is gone, and its sleep is gone
//! clean: nothing is left running
//! ```

use bowline::Failure;
use bowline::prelude::*;
use std::{
    io::{self, BufRead, BufReader, PipeReader},
    process::{Command, Stdio},
    time::Duration,
};
use tokio::sync::mpsc;

/// What the activities share: where the output of a build goes.
struct Site {
    output: mpsc::Sender<PipeReader>,
}

fn shell(script: &str, output: impl Into<Stdio>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(output);
    command
}

/// A process that ends by itself: what it prints is the result.
async fn sum(ctx: ActivityCtx) -> bowline::Result<String> {
    let process = ctx.spawn_process(shell("echo $((40 + 2))", Stdio::piped()))?;
    let output = process.output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Site {
    /// A process that takes long, with another one behind it.
    async fn build(&self, ctx: ActivityCtx) -> bowline::Result<String> {
        let (reader, writer) = io::pipe()?;
        let mut process = ctx.spawn_process(shell("sleep 60 & echo begun; wait", writer))?;
        self.output.send(reader).await?;
        tokio::select! {
            status = process.wait() => Ok(status?.to_string()),
            why = ctx.cancelled() => {
                println!("build: stopping, because {}", why.root());
                // A server would be asked to shut down here. Whatever is left when this returns
                // is killed, with its group.
                Err(Failure::new("stopped half-way").into())
            }
        }
    }
}

async fn add(ctx: Ctx) -> bowline::Result<String> {
    Ok(ctx.activity(sum, ()).await?)
}

async fn pipeline(ctx: Ctx) -> bowline::Result<String> {
    Ok(ctx.activity(Site::build, ()).await?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (output, mut outputs) = mpsc::channel(1);
    let app = Bowline::open(folder.path().join("process.db")).workflow(add).workflow(pipeline);
    let app = app.state(Site { output }).activity(sum).activity(Site::build);
    let bowline = app.start().await?;

    println!("sum: {}", bowline.start(add, "sum-1", ()).await?.result().await?);

    let run = bowline.start(pipeline, "build-1", ()).await?;
    let pipe = outputs.recv().await.ok_or_else(|| anyhow::anyhow!("nothing was built"))?;
    let mut lines = BufReader::new(pipe).lines();
    assert_eq!(lines.next().transpose()?.as_deref(), Some("begun"));
    println!("build: the shell says that its sleep has begun");

    let receipt = run.cancel("wrong branch").by("you").await?;
    let tree = receipt.wait(Phase::Clean).await?;
    println!("build: {}", run.describe().await?.summary.status);
    // The shell and its sleep both held the other end of the pipe: it ends with the last of them.
    assert!(lines.next().is_none());
    println!("build: the shell is gone, and its sleep is gone");
    println!("{}", tree.to_string().lines().last().unwrap_or_default());
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
