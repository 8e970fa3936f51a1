//! One process of three is killed, again and again, in the middle of everything.

use std::{sync::Arc, time::Duration};

use bowline_engine::Engine;
use bowline_store::Store;

use crate::{
    Chance,
    child::works_until_it_is_killed,
    flows::{Build, known},
    longer,
    schema::{LEASE, Schema},
    soak,
    verify::{open, verify},
    worker::{Life, Promises, Worker},
};

/// How often a process is killed.
const KILLS: usize = 15;
/// A child is killed after at most so many promises.
const LINES_MAX: u64 = 40;

/// Three processes at work, and one that only watches.
pub(crate) struct Team {
    pub(crate) engine: Engine,
    pub(crate) workers: Vec<Worker>,
    pub(crate) promises: Promises,
    pub(crate) chance: Chance,
    lives: u64,
}

/// An engine in this process, which asks, and works on nothing.
pub(crate) async fn parent(schema: &Schema) -> Engine {
    let store: Arc<dyn Store> = Arc::new(schema.life.open());
    let builder = Engine::builder(store).identity("parent").lease(schema.life.lease);
    known(builder).start().await.expect("the engine starts")
}

impl Team {
    pub(crate) async fn up(schema: &Schema, seed: u64) -> Self {
        let engine = parent(schema).await;
        let promises = Promises::default();
        let (workers, chance) = (Vec::new(), Chance(seed ^ (soak::number() << 32)));
        let lives = soak::number() << 20;
        let mut team = Self { engine, workers, promises, chance, lives };
        for _ in 0..3 {
            let life = team.next_life(schema);
            team.workers.push(Worker::spawn(&life, &team.promises));
        }
        for worker in &mut team.workers {
            worker.says("at work").await;
        }
        team
    }

    /// No two lives make the same choices.
    fn next_life(&mut self, schema: &Schema) -> Life {
        self.lives += 1;
        schema.seeded(self.lives)
    }

    /// Somebody works for a while: so many promises, or so much time on a machine that has much
    /// else to do.
    pub(crate) async fn work(&mut self, promises: usize, within: Duration) {
        let at = self.chance.below(3) as usize;
        self.workers[at].promises(promises, within).await;
    }

    /// Waits until any of them has said a line.
    pub(crate) async fn says(&mut self, what: &str) {
        let [one, other, third] = &mut self.workers[..] else { panic!("there are three") };
        tokio::select! {
            () = one.says(what) => {}
            () = other.says(what) => {}
            () = third.says(what) => {}
        }
    }

    /// How often they have said it, all together.
    pub(crate) fn said(&self, what: &str) -> usize {
        self.workers.iter().map(|worker| worker.said_after(what).len()).sum()
    }

    /// Kills one of them, and starts it again.
    pub(crate) fn kill_one(&mut self, schema: &Schema) {
        let at = self.chance.below(3) as usize;
        self.replace(schema, at, Build::Old);
    }

    /// Kills this one, and starts it again with the code of a build.
    pub(crate) fn replace(&mut self, schema: &Schema, at: usize, build: Build) {
        self.workers[at].kill();
        let life = Life { build, ..self.next_life(schema) };
        self.workers[at] = Worker::spawn(&life, &self.promises);
    }

    /// The storm is over: nobody asks for more, and whoever is there finishes it.
    pub(crate) async fn calm(&mut self) {
        for worker in &mut self.workers {
            worker.says("at work").await;
            worker.calm();
        }
        for worker in &mut self.workers {
            if !worker.is_heard("calm", 1).await {
                panic!("a child never said calm: {}", open(&self.engine).await);
            }
        }
    }
}

/// The test below, as the harness calls it. The children of all tests are this one, started again:
/// a test that was only there to be a child would count as passed and show nothing.
pub(crate) const NAME: &str = "kill::whatever_is_killed_everything_acknowledged_comes_to_its_end";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_killed_everything_acknowledged_comes_to_its_end() {
    if let Some(life) = Life::read() {
        return works_until_it_is_killed(life).await;
    }
    let schema = Schema::new();
    let mut team = Team::up(&schema, 0x5eed).await;
    let mut cuts = 0;
    for kill in 0..KILLS * longer() {
        let promises = 1 + team.chance.below(LINES_MAX) as usize;
        team.work(promises, LEASE).await;
        team.kill_one(&schema);
        if kill % 4 == 0 {
            schema.cut().await;
            cuts += 1;
        }
    }
    team.calm().await;
    let after = verify(&schema, &team.engine, &team.promises).await;
    after.nothing_else_was_stopped();
    assert!(after.promised("start ") > KILLS, "the children got somewhere");
    assert!(after.promised("cancel ") > 0 && after.promised("signal ") > 0);
    let faults = [("processes killed", KILLS * longer()), ("all connections ended", cuts)];
    soak::tell("kill", &faults, &after);
    drop(team.workers);
    team.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}
