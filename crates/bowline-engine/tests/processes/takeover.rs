//! A process is killed, and others go on with what it had, long before its lease is over: it is
//! missed by its session. One that only hangs keeps its session, and is not.

use std::{convert::Infallible, time::Duration};

use bowline_core::{Payload, RunEnding, RunId};
use bowline_engine::{CancelRequest, Engine, StartOptions};
use bowline_store::Phase;

use crate::{
    flows::{QUEUE, holds},
    kill::parent,
    schema::Schema,
    verify::{ending, verify, within},
    worker::{Promises, Worker},
};

/// Nobody is given up because of its lease.
const LEASE: Duration = Duration::from_secs(3_600);
/// Runs that are open when a process is killed.
const RUNS: usize = 60;

struct Scene {
    schema: Schema,
    engine: Engine,
    workers: Vec<Worker>,
    promises: Promises,
}

impl Scene {
    /// So many processes at work, each of which is known to the others by its session.
    async fn set(workers: usize) -> Self {
        let mut schema = Schema::new();
        schema.life.lease = LEASE;
        let engine = parent(&schema).await;
        let promises = Promises::default();
        let begin = |_| Worker::spawn(&schema.life, &promises);
        let mut workers: Vec<Worker> = (0..workers).map(begin).collect();
        for worker in &mut workers {
            worker.says("at work").await;
        }
        let scene = Self { schema, engine, workers, promises };
        scene.is_watched().await;
        scene
    }

    /// Waits until every member has looked at the sessions of all others.
    async fn is_watched(&self) {
        let wanted = self.workers.len() as i64 + 1;
        let all = "members WHERE state = 0 AND session IS NOT NULL";
        let joined = async {
            while self.schema.rows(all).await < wanted {
                tokio::task::yield_now().await;
            }
            Ok::<_, Infallible>(())
        };
        within("sessions", joined).await;
        self.looks(2).await;
    }

    /// Waits until every member that is there has looked so many times from now on.
    async fn looks(&self, times: usize) {
        for _ in 0..times {
            let now = self.schema.now().await;
            let rows = format!(
                "members m WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a \
                 WHERE a.pid = m.session AND a.query LIKE '%pg_stat_get_activity%' \
                 AND a.query_start > to_timestamp({now}::float8 / 1000000))"
            );
            let looked = async {
                while self.schema.rows(&rows).await > 0 {
                    tokio::task::yield_now().await;
                }
                Ok::<_, Infallible>(())
            };
            within("looks", looked).await;
        }
    }

    async fn start(&self, id: &str) -> RunId {
        let options = StartOptions::new("hold", id, QUEUE, None);
        within("a start", self.engine.start(options)).await
    }
}

/// Three processes have open runs, one of them is killed, and the others go on with all of them. It
/// held its runs for its lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_runs_of_a_killed_process_go_on_before_its_lease_is_over() {
    let mut scene = Scene::set(3).await;
    let mut runs = Vec::new();
    for at in 0..RUNS {
        runs.push(scene.start(&format!("hold {at}")).await);
    }
    let had = async |scene: &Scene, of: &[usize]| {
        let has = |run: &&RunId| of.iter().any(|at| scene.workers[*at].has_said(&holds(**run)));
        runs.iter().filter(has).count()
    };
    let all = async {
        while had(&scene, &[0, 1, 2]).await < RUNS {
            tokio::task::yield_now().await;
        }
        Ok::<_, Infallible>(())
    };
    within("all to run", all).await;
    scene.workers[0].kill();
    let others = async {
        while had(&scene, &[1, 2]).await < RUNS {
            tokio::task::yield_now().await;
        }
        Ok::<_, Infallible>(())
    };
    within("the others to go on", others).await;
    for run in &runs {
        let request = CancelRequest::new("enough", "parent");
        let receipt = within("a cancel", scene.engine.cancel(*run, request)).await;
        within("clean", scene.engine.wait(receipt, Phase::Clean)).await;
    }
    verify(&scene.schema, &scene.engine, &scene.promises).await;
    drop(scene.workers);
    scene.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}

/// A process that stands still keeps its session: only its lease may take its runs away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_hangs_is_not_missed_by_its_session() {
    let mut scene = Scene::set(1).await;
    let run = scene.start("hold").await;
    scene.workers[0].says(&holds(run)).await;
    let openings = scene.schema.openings().await;
    scene.workers[0].hang();
    // The parent is the one who looks; it would have given up somebody who is gone by then.
    let parent = "members m WHERE state = 0 AND identity = 'parent' AND EXISTS \
        (SELECT 1 FROM pg_stat_activity a WHERE a.pid = m.session AND a.query_start > ";
    for _ in 0..12 {
        let now = scene.schema.now().await;
        let looked = format!("{parent} to_timestamp({now}::float8 / 1000000))");
        let looks = async {
            while scene.schema.rows(&looked).await == 0 {
                tokio::task::yield_now().await;
            }
            Ok::<_, Infallible>(())
        };
        within("a look", looks).await;
    }
    assert_eq!(scene.schema.openings().await, openings, "its lease is not over");
    scene.workers[0].wake();
    let left = within("a look", scene.engine.leftovers(run)).await;
    let [line] = &left.attempts[..] else { panic!("{left:#?}") };
    let request = CancelRequest::new("enough", "parent");
    within("a cancel", scene.engine.cancel_one(run, line.activity, request)).await;
    let told = RunEnding::Completed(Some(Payload::json("\"told\"")));
    assert_eq!(ending(&scene.engine, run).await, told, "by the code that had hung");
    assert_eq!(line.attempt, 1);
    drop(scene.workers);
    scene.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}
