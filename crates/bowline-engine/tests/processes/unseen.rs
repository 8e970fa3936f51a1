//! Attempts whose end nobody saw, in real processes: they are named until their end is known.

use std::time::Duration;

use bowline_core::{ReceiptId, RunId, Rung, Sight};
use bowline_engine::{CancelRequest, Engine, StartOptions};
use bowline_store::{Leftovers, Phase, Whom};

use crate::{
    flows::{HANDS, PROCESS, QUEUE},
    kill::parent,
    schema::Schema,
    verify::within,
    worker::{Promises, Worker},
};

/// A process that runs the children of a run, each with a process of its own, and another one.
struct Scene {
    schema: Schema,
    engine: Engine,
    runs_it: Worker,
    other: Worker,
    run: RunId,
    /// The numbers of the children's processes.
    processes: Vec<String>,
}

impl Scene {
    async fn set() -> Self {
        let schema = Schema::new();
        let engine = parent(&schema).await;
        let promises = Promises::default();
        let mut runs_it = Worker::spawn(&schema.life, &promises);
        runs_it.says("at work").await;
        let options = StartOptions::new("crew", "crew", QUEUE, None);
        let run = within("a start", engine.start(options)).await;
        runs_it.says_times(PROCESS, HANDS).await;
        let processes = runs_it.said_after(PROCESS);
        let mut other = Worker::spawn(&schema.life, &promises);
        other.says("at work").await;
        Self { schema, engine, runs_it, other, run, processes }
    }

    async fn cancel(&self) -> ReceiptId {
        let request = CancelRequest::new("enough", "parent");
        within("a cancel", self.engine.cancel(self.run, request)).await
    }

    async fn reaches(&self, receipt: ReceiptId, phase: Phase) -> Leftovers {
        within("a phase", self.engine.wait(receipt, phase)).await
    }

    /// How many of the children's processes are there.
    fn alive(&self) -> usize {
        let is_there = |pid: &&String| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        self.processes.iter().filter(is_there).count()
    }

    fn begun_elsewhere(&self) -> usize {
        self.other.said_after(PROCESS).len()
    }

    async fn end(self) {
        drop((self.runs_it, self.other));
        self.engine.close(Duration::from_secs(5)).await.expect("it ends well");
        drop(self.schema);
    }
}

/// Five children ran in a process that was frozen; the cancel came through another one. Its receipt
/// said `clean` while five processes lived on, named none of the attempts, and four new ones had
/// begun long after the cancel was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_frozen_process_runs_is_lost_until_it_wakes() {
    let scene = Scene::set().await;
    scene.runs_it.hang();
    let receipt = scene.cancel().await;
    let left = scene.reaches(receipt, Phase::Settled).await;
    assert_eq!(scene.alive(), HANDS, "they run on");
    assert_eq!((left.phase(), left.never_started), (Phase::Settled, 0), "{left:#?}");
    let lost = left.remainder().lost;
    assert_eq!(lost.len(), HANDS, "{left:#?}");
    for line in &lost {
        let [own] = &line.unseen[..] else { panic!("{line:#?}") };
        assert_eq!((own.attempt, &own.sight), (1, &Sight::Silent));
        assert_eq!(own.worker.as_str(), scene.runs_it.identity());
    }
    assert_eq!(scene.begun_elsewhere(), 0, "nothing begins after an acknowledged cancel");

    scene.runs_it.wake();
    let left = scene.reaches(receipt, Phase::Clean).await;
    assert_eq!(scene.alive(), 0, "clean means clean: {left:#?}");
    assert!(left.attempts.iter().all(|line| line.unseen.is_empty()), "{left:#?}");
    scene.end().await;
}

/// Of a process that was killed, another one on the same host sees that it is gone. What it had run
/// was called unstarted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_killed_is_seen_to_be_gone() {
    let mut scene = Scene::set().await;
    scene.runs_it.kill();
    let receipt = scene.cancel().await;
    let left = scene.reaches(receipt, Phase::Clean).await;
    assert_eq!((scene.alive(), left.never_started), (0, 0), "{left:#?}");
    assert_eq!(left.attempts.len(), HANDS, "{left:#?}");
    for line in &left.attempts {
        assert_eq!(line.delivered_at, None, "nobody was told");
        let died = matches!(line.rung, Some(Rung::Died | Rung::Unknown | Rung::Waiting));
        assert!(died && line.unseen.is_empty(), "{line:#?}");
    }
    scene.end().await;
}

/// Somebody says that a process is gone: that is believed, once it has fallen silent, and the
/// receipt says who said so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_may_say_that_a_silent_process_is_gone() {
    let scene = Scene::set().await;
    let name = || Whom::Identity(scene.runs_it.identity().into());
    let said = within("a word", scene.engine.member_gone(name(), "ops")).await;
    assert_eq!((said.gone.len(), said.alive.len()), (0, 1), "it is in touch");
    scene.runs_it.hang();
    let receipt = scene.cancel().await;
    scene.reaches(receipt, Phase::Settled).await;
    let said = within("a word", scene.engine.member_gone(name(), "ops")).await;
    assert_eq!((said.gone.len(), said.alive.len()), (1, 0));
    let left = scene.reaches(receipt, Phase::Clean).await;
    let by = |sight: &Sight| matches!(sight, Sight::SaidGone(by, _) if by.as_str() == "ops");
    let told = |line: &bowline_store::AttemptLine| line.unseen.iter().all(|own| by(&own.sight));
    assert!(left.attempts.iter().all(|line| !line.unseen.is_empty() && told(line)), "{left:#?}");
    scene.runs_it.wake();
    scene.end().await;
}
