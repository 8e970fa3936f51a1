//! Remote workers: they ask members for activities, do them, and may vanish with them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use bowline_core::{ControlQueue, Ending, Failure, Identity};
use bowline_engine::{Error, RemoteActivity, RemoteHeartbeat};
use tokio::{sync::Notify, time::sleep};

use crate::{
    host::Host,
    process::Life,
    program::{
        Act, Hears,
        code::{FAR, input, number},
    },
};

/// Remote workers are numbered after all members.
pub(crate) const FIRST: usize = 90;

/// How long a poll waits, and how often a worker says that it is alive.
const POLL: Duration = Duration::from_secs(6);
const BEAT: Duration = Duration::from_millis(700);

/// A place for remote workers, one after the other.
#[derive(Default)]
pub(crate) struct Far {
    lives: AtomicU64,
    vanishes: Notify,
}

impl Far {
    /// Whoever is there now goes away, with everything that it does.
    pub(crate) fn vanish(&self) {
        self.vanishes.notify_one();
    }
}

/// Keeps a remote worker there.
pub(crate) async fn keep(host: Arc<Host>, nth: usize) {
    loop {
        let far = &host.far[nth];
        let life = Life { member: FIRST + nth, life: far.lives.fetch_add(1, SeqCst) };
        tokio::select! {
            biased;
            () = far.vanishes.notified() => {
                host.observer.killed(life);
            }
            () = Box::pin(work(&host, life)) => {}
        }
        sleep(Duration::from_millis(900)).await;
    }
}

async fn work(host: &Arc<Host>, life: Life) {
    let mut via = life.member;
    loop {
        via += 1;
        let (member, engine) = host.engine(via).await;
        let polled = host.through(member, async {
            let until = engine.now().after(POLL);
            let (worker, control) = (Identity::from(format!("{life}")), ControlQueue::default());
            engine.poll_activity(&FAR.into(), worker, control, until).await.ok().flatten()
        });
        match polled.await {
            Some(activity) => attempt(host, life, activity).await,
            None => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn attempt(host: &Arc<Host>, life: Life, activity: RemoteActivity) {
    let act = activity.spec.input.as_ref().and_then(number);
    let act = act.and_then(|id| host.world.find(id as u32)?.act().copied()).unwrap_or(Act::PLAIN);
    let attempt = (activity.run, activity.activity, activity.live.attempt);
    let runs = host.observer.begins(life, attempt, false);
    let told = tokio::select! {
        biased;
        () = sleep(Duration::from_millis(act.work)) => false,
        () = told(host, life, &activity), if act.hears != Hears::Deaf => true,
    };
    let ending = match (told, act.hears) {
        (true, Hears::Late(ms)) => {
            sleep(Duration::from_millis(ms)).await;
            Ending::Completed(None)
        }
        (true, Hears::Slow(ms)) => {
            sleep(Duration::from_millis(ms)).await;
            Ending::Cancelled(None)
        }
        (true, _) => Ending::Cancelled(None),
        (false, _) if activity.live.attempt <= act.fails => Ending::Failed(Failure::new("planned")),
        (false, _) => Ending::Completed(activity.spec.input.clone().or_else(|| input(0))),
    };
    host.observer.returns(attempt, matches!(ending, Ending::Completed(_)));
    drop(runs);
    for via in 0..20 {
        let (member, engine) = host.engine(life.member + via).await;
        let said = host.through(member, async {
            match engine.end_activity(activity.token.as_slice(), ending.clone()).await {
                Err(Error::Store(_) | Error::ShuttingDown | Error::TimedOut(_)) => None,
                _ => Some(()),
            }
        });
        if said.await.is_some() {
            return;
        }
        sleep(Duration::from_millis(300)).await;
    }
}

/// Says that it is alive now and then, until it is told to stop.
async fn told(host: &Arc<Host>, life: Life, activity: &RemoteActivity) {
    let mut via = life.member;
    loop {
        sleep(BEAT).await;
        via += 1;
        let (member, engine) = host.engine(via).await;
        let beat = host.through(member, async {
            engine.heartbeat(activity.token.as_slice(), None).await.ok()
        });
        if let Some(RemoteHeartbeat::Cancelled(_) | RemoteHeartbeat::Gone) = beat.await {
            return;
        }
    }
}
