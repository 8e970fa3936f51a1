//! The database itself is stopped, killed and started again, under load. An outage pauses work; it
//! cancels nothing, and nobody comes back to find the own work stolen. One that is longer than a
//! lease ends what runs, which is tried again.

use std::{convert::Infallible, time::Duration};

use bowline_core::{Payload, RunEnding, RunId};
use bowline_engine::{
    CancelRequest, Engine, StartOptions,
    clock::{Clock, SystemClock},
};

use crate::{
    cluster::{Cluster, Stop},
    flows::{PULSE, QUEUE, gone, holds},
    kill::Team,
    longer,
    schema::Schema,
    soak,
    verify::{ending, verify, within},
};

/// How often the database goes away.
const OUTAGES: usize = 6;

/// Long enough for a machine that has much else to do: nobody but the outage makes anybody late.
const LEASE: Duration = Duration::from_secs(9);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_comes_and_goes_stops_nothing_and_loses_nothing() {
    let mut cluster = Cluster::start();
    let mut schema = Schema::at(&cluster.url());
    schema.life.lease = LEASE;
    let mut team = Team::up(&schema, 0xd0c).await;
    let openings = schema.openings().await;
    for outage in 0..OUTAGES * longer() {
        team.work(15, LEASE / 3).await;
        let how = [Stop::Fast, Stop::Immediate, Stop::Kill][outage % 3];
        cluster.down(how);
        cluster.up();
    }
    assert_eq!(schema.openings().await, openings, "nobody was missed by a session that ended");
    let long = SystemClock::default().now();
    outlast_the_lease(&mut cluster, &schema, &mut team).await;
    let stolen = schema.rows("members WHERE state = 2").await;
    assert_eq!(stolen, 0, "nobody was given up");
    team.calm().await;
    let after = verify(&schema, &team.engine, &team.promises).await;
    after.nothing_else_was_stopped();
    // The long outage has ended what ran, and some of it counts as lost.
    after.nothing_was_stolen_before(long);
    assert!(after.promised("start ") > OUTAGES, "the children got somewhere");
    let of = |kind: usize| (0..OUTAGES * longer()).filter(|outage| outage % 3 == kind).count();
    let faults = [
        ("database stopped fast", of(0)),
        ("database stopped at once", of(1) + 1),
        ("database killed", of(2)),
    ];
    soak::tell("outage", &faults, &after);
    drop(team.workers);
    team.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}

/// An outage longer than any lease: who has heard nothing for so long may have been given up, so
/// its code ends by its own clock, while the database is away. Nobody has taken anything from
/// anybody: it is handed back, and tried again.
async fn outlast_the_lease(cluster: &mut Cluster, schema: &Schema, team: &mut Team) {
    let options = StartOptions::new("hold", "through the outage", QUEUE, None);
    let run = within("a start", team.engine.start(options)).await;
    // A claim that was done, and whose answer the outage swallows, would be handed back untried.
    team.says(&holds(run)).await;
    let attempt = async |engine: &Engine, run: RunId| {
        let left = within("a look", engine.leftovers(run)).await;
        let line = left.attempts.first().unwrap_or_else(|| panic!("nothing is there: {left:#?}"));
        assert!(line.running && !line.lost, "{left:#?}");
        (line.activity, line.attempt)
    };
    let (held, before) = attempt(&team.engine, run).await;
    let options = StartOptions::new("pulse", "in the outage", QUEUE, None);
    let pulse = within("a start", team.engine.start(options)).await;
    team.says(PULSE).await;
    cluster.down(Stop::Immediate);
    // Nobody can tell them anything.
    team.says(&gone(run)).await;
    team.says(&gone(pulse)).await;
    let (said, begun) = (team.said(PULSE), team.said(&holds(run)));
    // Whoever runs neither has nothing that would say so, and was in contact a third of a lease
    // later at most. This is by a real clock: nobody can promise anything while it is waited for.
    team.work(usize::MAX / 2, LEASE * 2 / 3).await;
    assert_eq!(team.said(PULSE), said, "no code runs when the lease is over");
    cluster.up();
    let back = schema.now().await;
    // Both are tried again: on a machine with much else to do that takes longer than a lease.
    let works = async {
        while schema.outlasted(back).await < 4
            || team.said(PULSE) == said
            || team.said(&holds(run)) == begun
        {
            team.work(5, Duration::from_secs(1)).await;
        }
        Ok::<_, Infallible>(())
    };
    within("leases to be outlasted, and code to run again", works).await;
    let now = attempt(&team.engine, run).await;
    // One that began while its process was entering again may have been handed back, too.
    assert!(now.0 == held && now.1 > before, "handed back, and tried again: {now:?}");
    assert_eq!(schema.rows("members WHERE state = 0").await, 4, "everybody is there still");
    let request = CancelRequest::new("enough", "parent");
    let (pulses, _) = attempt(&team.engine, pulse).await;
    within("a cancel", team.engine.cancel_one(pulse, pulses, request.clone())).await;
    within("a cancel", team.engine.cancel_one(run, held, request)).await;
    let told = RunEnding::Completed(Some(Payload::json("\"told\"")));
    assert_eq!(ending(&team.engine, run).await, told);
}
