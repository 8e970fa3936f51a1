//! Two builds of one program, rolled out one process at a time and back again, under load. Neither
//! can go on with what the other has begun, and for a while there is only one of them. Whatever is
//! parked meanwhile is taken up by itself when its code is back: nothing is lost, and nobody has to
//! retry anything.

use std::time::Duration;

use bowline_core::Signal;
use bowline_engine::Engine;
use bowline_store::Filter;

use crate::{
    flows::Build,
    kill::Team,
    longer,
    schema::{LEASE, Schema},
    soak,
    verify::{all_runs, ending, verify, within},
};

/// Waits until every run has ended, whoever had it parked. Those that wait for a signal are given
/// it, so that each of them needs its code once more.
async fn settled(engine: &Engine) {
    loop {
        let mut open = all_runs(engine).await;
        open.retain(|head| head.status.is_open());
        if open.is_empty() {
            return;
        }
        for head in open {
            if head.name.as_str() == "order" {
                let request_id = format!("{}-last", head.run).as_str().into();
                let signal = Signal { name: "go".into(), request_id, ..Signal::default() };
                // It may have closed by itself meanwhile.
                let _ = engine.signal(head.run, signal).await;
            }
            ending(engine, head.run).await;
        }
    }
}

/// With how many runs a process could not go on that nobody has gone on with since; somebody may be
/// trying them.
async fn parked(engine: &Engine) -> usize {
    let filter = Filter { limit: 500, ..Filter::default() };
    let page = within("a list of runs", engine.find(filter)).await;
    page.runs.iter().filter(|head| head.parked.is_some()).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn builds_that_are_rolled_back_and_forth_lose_and_park_nothing() {
    let schema = Schema::new();
    let mut team = Team::up(&schema, 0x2011).await;
    // Forth, back, and half the way forth again: then both are there.
    let forth = [(0, Build::New), (1, Build::New), (2, Build::New)];
    let back = [(1, Build::Old), (0, Build::Old), (2, Build::Old)];
    let mut rolled = 0;
    let engine = team.engine.clone();
    let ever_parked = tokio::spawn(async move { while parked(&engine).await == 0 {} });
    for round in 0..longer() {
        let last: &[_] = if round + 1 == longer() { &forth[..1] } else { &[] };
        for (at, build) in forth.iter().chain(&back).chain(last) {
            team.work(15, LEASE).await;
            team.replace(&schema, *at, *build);
            team.workers[*at].says("at work").await;
            rolled += 1;
        }
    }
    team.work(15, LEASE).await;
    team.calm().await;
    settled(&team.engine).await;
    let after = verify(&schema, &team.engine, &team.promises).await;
    after.nothing_else_was_stopped();
    assert!(after.promised("start ") > 20, "the children got somewhere");
    assert!(ever_parked.is_finished(), "neither could go on with what the other had begun");
    soak::tell("rolling", &[("processes replaced by another build", rolled)], &after);
    drop(team.workers);
    team.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}
