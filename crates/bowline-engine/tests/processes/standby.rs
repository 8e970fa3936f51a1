//! The database is gone for good, and a standby takes its place that has not heard of the last
//! commits. What it never heard of is lost, whatever was acknowledged; nothing else is, and nothing
//! that anybody still knows of the lost past is mixed up with what happens from then on.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    cluster::{Cluster, Stop},
    kill::Team,
    longer,
    schema::Schema,
    soak,
    verify::{all_go_on, verify, within},
    worker::Promises,
};

/// How often a standby takes over.
const PROMOTIONS: usize = 2;
/// Nobody but the failover makes anybody late.
const LEASE: Duration = Duration::from_secs(9);

/// An address that leads to whichever server is the first of them.
struct Switch {
    target: Arc<AtomicU16>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Switch {
    fn before(cluster: &Cluster) -> (Self, String) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = listener.local_addr().expect("it has a number").port();
        let switch =
            Self { target: Arc::new(AtomicU16::new(cluster.port())), open: Arc::default() };
        let (target, open) = (switch.target.clone(), switch.open.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let port = target.load(Ordering::SeqCst);
                if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                    let mut open = open.lock().expect("nobody panics with it");
                    open.extend([&client, &server].map(|end| end.try_clone().expect("a handle")));
                    drop(open);
                    pass(&client, &server);
                    pass(&server, &client);
                }
            }
        });
        (switch, format!("postgres://bowline@127.0.0.1:{port}/postgres?sslmode=disable"))
    }

    /// Ends every connection; nobody gets any further until it leads somewhere again.
    fn cut(&self) {
        self.target.store(1, Ordering::SeqCst);
        for end in self.open.lock().expect("nobody panics with it").drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    fn lead_to(&self, cluster: &Cluster) {
        self.target.store(cluster.port(), Ordering::SeqCst);
    }
}

fn pass(from: &TcpStream, to: &TcpStream) {
    let handles = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
    thread::spawn(move || {
        let (mut from, mut to) = handles;
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}

/// The first column of the only row that a server answers with.
async fn ask(cluster: &Cluster, sql: &str) -> String {
    let asking = async {
        let (client, connection) =
            tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await?;
        let connection = tokio::spawn(connection);
        let row = client.query_one(sql, &[]).await?;
        let answer = row.try_get::<_, String>(0)?;
        drop(client);
        let _ = connection.await;
        Ok::<_, tokio_postgres::Error>(answer)
    };
    within("an answer of the database", asking).await
}

async fn until(cluster: &Cluster, sql: &str) {
    let waits = async {
        while ask(cluster, &format!("SELECT ({sql})::text")).await != "true" {
            tokio::task::yield_now().await;
        }
        Ok::<_, tokio_postgres::Error>(())
    };
    within(sql, waits).await;
}

/// Everything that was acknowledged by now is at the standby.
async fn catch_up(standby: &Cluster, primary: &Cluster) {
    let place = ask(primary, "SELECT pg_current_wal_lsn()::text").await;
    until(standby, &format!("pg_last_wal_replay_lsn() >= '{place}'::pg_lsn")).await;
}

/// The standby hears no more.
async fn fall_behind(standby: &Cluster) {
    let url = standby.url();
    let (client, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("it is up");
    let connection = tokio::spawn(connection);
    client.batch_execute("ALTER SYSTEM SET primary_conninfo TO ''").await.expect("it may be told");
    client.batch_execute("SELECT pg_reload_conf()").await.expect("it reads it");
    drop(client);
    let _ = connection.await;
    until(standby, "NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)").await;
}

fn known(promises: &Promises) -> BTreeSet<String> {
    promises.lock().expect("nobody panics with it").clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_lags_takes_over_and_nothing_is_mixed_up() {
    let mut primary = Cluster::start();
    let (switch, url) = Switch::before(&primary);
    let mut schema = Schema::at(&url);
    schema.life.lease = LEASE;
    let mut team = Team::up(&schema, 0x57b).await;
    let mut lost = BTreeSet::new();
    let rounds = PROMOTIONS * longer();
    for _ in 0..rounds {
        let standby = Cluster::follow(&primary);
        team.work(20, LEASE).await;
        let safe = known(&team.promises);
        catch_up(&standby, &primary).await;
        fall_behind(&standby).await;
        team.work(20, LEASE).await;
        switch.cut();
        primary.down(Stop::Immediate);
        until(&standby, "pg_promote(true, 60)").await;
        // Nobody could promise anything since the old one was cut off.
        lost.extend(known(&team.promises).difference(&safe).cloned());
        switch.lead_to(&standby);
        primary = standby;
    }
    assert!(!lost.is_empty(), "the standby has heard of everything");
    team.work(20, LEASE).await;
    // Whoever waits for a run whose signal or cancel was lost would wait for ever.
    all_go_on(&team.engine).await;
    team.calm().await;
    let promised = known(&team.promises);
    let kept = promised.difference(&lost).cloned().collect();
    let after = verify(&schema, &team.engine, &Arc::new(Mutex::new(kept))).await;
    after.nothing_else_was_stopped();
    assert!(after.promised("start ") > 20, "the children got somewhere");
    let faults = [("promotions of a lagging standby", rounds), ("promises lost", lost.len())];
    soak::tell("standby", &faults, &after);
    drop(team.workers);
    team.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}
