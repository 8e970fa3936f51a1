//! A world is played: everything that it says happens, then faults stop, then everything must
//! settle.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bowline_store::memory::MemoryStore;
use tokio::{
    runtime,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    client, far,
    host::{BEGIN, Host},
    observer::{Observer, Violation},
    panics,
    world::World,
};

/// How a world is looked at.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Whether facts are told in words.
    pub tells: bool,
    /// Rules that nobody looks at.
    pub ignores: Vec<String>,
}

/// What came of a world.
#[derive(Clone, Debug)]
pub struct Report {
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// Equal worlds have equal hashes.
    pub hash: u64,
    /// How many facts there were.
    pub facts: u64,
    /// How much went wrong on purpose.
    pub faults: u64,
    /// What has happened at all, and how often.
    pub reached: BTreeMap<&'static str, u64>,
    /// The facts in words, if that was wanted.
    pub story: Vec<String>,
}

/// How long a world may take to settle, and to forget everything.
const SETTLE_MAX: Duration = Duration::from_secs(240);
const FORGET_MAX: Duration = Duration::from_secs(900);

/// Plays a world.
///
/// # Panics
/// If no runtime can be made.
pub fn play(world: &World, look: &Look) -> Report {
    let runtime = runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    let world = Arc::new(world.clone());
    let observer = runtime.block_on(async {
        let rows = rows(&world);
        let observer = Observer::new(rows.clone(), look);
        let host = Host::new(world, rows, observer.clone());
        tokio::select! {
            biased;
            () = observer.broken.notified() => {}
            () = course(&host) => {}
        }
        host.end();
        observer
    });
    drop(runtime);
    if let Some(panic) = panics::take().first() {
        observer.broke("nothing panics", panic.clone());
    }
    let (facts, faults) = observer.counts();
    let (violation, hash) = (observer.violation(), observer.hash());
    let reached = observer.reached();
    Report { violation, hash, facts, faults, reached, story: observer.story() }
}

fn rows(world: &World) -> MemoryStore {
    if world.members == 1 {
        return MemoryStore::new();
    }
    let began = Instant::now();
    let runtime = runtime::Handle::current();
    MemoryStore::shared(move || {
        // A thread outside the runtime would read the machine's clock instead.
        let _here = runtime.enter();
        BEGIN.after(began.elapsed())
    })
}

async fn course(host: &Arc<Host>) {
    let world = host.world.clone();
    for member in 0..world.members {
        tokio::spawn(host.clone().keep(member));
    }
    for nth in 0..world.far {
        tokio::spawn(far::keep(host.clone(), nth));
    }
    for op in &world.ops {
        host.observer.client_begins(op.id);
        tokio::spawn(client::act(host.clone(), op.clone()));
    }
    for mishap in &world.mishaps {
        tokio::spawn(host.clone().happen(*mishap));
    }
    sleep_until(host.began + Duration::from_millis(world.over() + 2_000)).await;
    host.calm();
    // What goes on by itself comes to its end.
    sleep(Duration::from_secs(45)).await;
    host.observer.hung(&world);
    let now = BEGIN.after(host.began.elapsed());
    host.observer.parked(&world, now);
    if host.has_right_clocks() {
        host.observer.kept(now);
    }
    settle(host).await;
    if host.observer.violation().is_some() {
        return;
    }
    host.observer.orphans();
    host.observer.judge(&world);
    forget(host).await;
}

/// Whatever is still open is cancelled, and must close.
async fn settle(host: &Arc<Host>) {
    let latest = Instant::now() + 10 * SETTLE_MAX;
    let mut until = Instant::now() + SETTLE_MAX;
    let (mut nth, mut asked, mut begun) = (0, Vec::new(), host.observer.begun());
    loop {
        // Where more is queued than workers can do at once, it takes as long as that takes.
        if host.observer.begun() > begun {
            begun = host.observer.begun();
            until = latest.min(Instant::now() + SETTLE_MAX);
        }
        for head in host.observer.heads() {
            if head.status.is_open() && !asked.contains(&head.run) {
                nth += 1;
                asked.push(head.run);
                tokio::spawn(client::close(host.clone(), head.run, nth));
            }
        }
        let waiting = host.observer.waiting();
        match host.observer.unsettled() {
            None if waiting.is_empty() => return,
            _ if Instant::now() < until => sleep(Duration::from_secs(3)).await,
            Some(why) => return host.observer.broke("everything settles in time", why),
            None => {
                let what = format!("clients {waiting:?} still wait");
                return host.observer.broke("everybody is answered", what);
            }
        }
    }
}

/// What is closed is forgotten after a while.
async fn forget(host: &Arc<Host>) {
    let until = Instant::now() + FORGET_MAX;
    while !host.observer.heads().is_empty() {
        if Instant::now() >= until {
            let left = host.observer.heads().len();
            let what = format!("{left} runs are still there");
            return host.observer.broke("after retention nothing is left", what);
        }
        sleep(Duration::from_secs(30)).await;
    }
}
