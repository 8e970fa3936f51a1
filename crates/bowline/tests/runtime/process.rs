//! Child processes in a test: they take real time, and die with the process that started them.

use std::{
    io::Read,
    process::{ChildStdout, Command, Stdio},
    sync::mpsc::{SyncSender, sync_channel},
    time::Duration,
};

use bowline::{ActivityCtx, Phase, Retry, Rung, prelude::*};

use crate::shop::{DAY, YEAR};

/// What the activities share with the test: where the output of their processes goes.
struct Desk(SyncSender<ChildStdout>);

impl Desk {
    /// A process that lives until somebody kills it; only the first attempt has one.
    async fn endless(&self, ctx: ActivityCtx) -> bowline::Result<u32> {
        if ctx.info().attempt == 1 {
            let mut command = Command::new("sh");
            command.args(["-c", "trap '' TERM; while :; do read -r line < /dev/zero; done"]);
            let mut process = ctx.spawn_process(command.stdout_piped())?;
            self.0.send(process.stdout.take().expect("it was asked for")).expect("the test waits");
            process.wait().await?;
        }
        Ok(ctx.info().attempt)
    }
}

trait Piped {
    fn stdout_piped(self) -> Command;
}

impl Piped for Command {
    fn stdout_piped(mut self) -> Command {
        self.stdout(Stdio::piped());
        self
    }
}

async fn work(ctx: Ctx) -> bowline::Result<u32> {
    let retry = Retry::every(Duration::from_secs(1));
    let endless = ctx.activity(Desk::endless, ()).retry(retry);
    Ok(endless.grace(Duration::from_millis(200)).await?)
}

/// Says something after a while, by the wall.
async fn shell(ctx: ActivityCtx, words: String) -> bowline::Result<String> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("sleep 0.1; echo {words}")]);
    let output = ctx.spawn_process(command.stdout_piped())?.output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

async fn say(ctx: Ctx, words: String) -> bowline::Result<String> {
    // By a clock that jumps, this limit would be over at once.
    let said = ctx.activity(shell, &words).timeout(DAY).await?;
    ctx.sleep(YEAR).await?;
    Ok(said)
}

#[test]
fn time_goes_as_on_the_wall_while_a_process_runs_and_jumps_again_when_it_has_ended() {
    let app = Bowline::open("x").workflow(say).activity(shell);
    bowline::test::run(app, async |t| {
        let start = t.now();
        let run = t.start(say, "s", "hello").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "hello");
        let took = t.now().duration_since(start).unwrap();
        assert!(took > YEAR && took < YEAR + DAY, "{took:?}");
    });
}

#[test]
fn a_crash_takes_the_child_processes_along() {
    let (desk, pipes) = sync_channel(1);
    let app = Bowline::open("x").state(Desk(desk)).workflow(work).activity(Desk::endless);
    bowline::test::run(app, async |t| {
        let run = t.start(work, "w", ()).await.unwrap();
        t.settle().await;
        let mut pipe = pipes.recv().unwrap();
        t.crash().await;
        // The pipe ends when nobody has its other end any more.
        assert_eq!(pipe.read(&mut [0]).unwrap(), 0);
        assert_eq!(run.result().await.unwrap(), 2);
    });
}

#[test]
fn a_process_that_ignores_its_cancel_is_killed_and_nothing_is_left() {
    let (desk, pipes) = sync_channel(1);
    let app = Bowline::open("x").state(Desk(desk)).workflow(work).activity(Desk::endless);
    bowline::test::run(app, async |t| {
        let run = t.start(work, "w", ()).await.unwrap();
        t.settle().await;
        let mut pipe = pipes.recv().unwrap();
        let receipt = run.cancel("enough").by("alice").await.unwrap();
        let tree = receipt.wait(Phase::Clean).await.unwrap();
        assert_eq!(tree.activities()[0].rung, Some(Rung::Kill), "{tree}");
        assert_eq!(pipe.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn a_test_that_ends_leaves_no_process_behind() {
    let (desk, pipes) = sync_channel(1);
    let app = Bowline::open("x").state(Desk(desk)).workflow(work).activity(Desk::endless);
    let mut pipe = bowline::test::run(app, async |t| {
        t.start(work, "w", ()).await.unwrap();
        t.settle().await;
        pipes.recv().unwrap()
    });
    assert_eq!(pipe.read(&mut [0]).unwrap(), 0);
}
