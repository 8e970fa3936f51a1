//! The code of activities: it does what its node says, and the observer sees it from its first poll
//! to its drop.

use std::{future::poll_fn, pin::Pin, sync::Arc, time::Duration};

use bowline_core::{Failure, Payload};
use bowline_engine::worker::{
    activity::ActivityContext,
    registry::{ActivityCode, Answer},
};
use bowline_store::{Store, memory::MemoryStore};

use super::{
    Act, Hears,
    code::{self, REFUND, number},
};
use crate::{
    observer::Observer,
    process::Life,
    world::{LEASE, World},
};

/// Every activity of a world, in one life of one process.
pub(crate) struct Acts {
    pub(crate) world: Arc<World>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) life: Life,
    /// Knows for how long this process has been out of contact.
    pub(crate) rows: MemoryStore,
}

impl ActivityCode for Acts {
    fn call(
        &self,
        ctx: ActivityContext,
        input: Option<Payload>,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        let (observer, life) = (self.observer.clone(), self.life);
        let is_refund = ctx.info().spec.name.as_str() == REFUND;
        let node = input.as_ref().and_then(number).filter(|_| !is_refund);
        let act = node.and_then(|id| self.world.find(id as u32)?.act().copied());
        let act = act.unwrap_or(Act::PLAIN);
        let (rows, watched) = (self.rows.clone(), observer.clone());
        let mut code = Box::pin(async move {
            // Here, and not above: what was made and never polled did not run.
            let _runs = observer.begins(life, &ctx, false);
            if let Some(ms) = act.spawns {
                let (observer, inner) = (observer.clone(), ctx.clone());
                drop(ctx.spawn(async move {
                    let _runs = observer.begins(life, &inner, true);
                    pause(ms).await;
                }));
            }
            let answer = work(&ctx, act, node).await;
            observer.returns(&ctx, answer.is_ok());
            answer
        });
        Box::pin(poll_fn(move |cx| {
            if rows.silence().is_some_and(|silent| silent >= Duration::from_millis(LEASE)) {
                watched.broke(
                    "no code runs out of contact for a lease",
                    format!("{life} polls code, and may have been given up"),
                );
            }
            code.as_mut().poll(cx)
        }))
    }
}

async fn work(ctx: &ActivityContext, act: Act, node: Option<u64>) -> Answer {
    let told = match act.hears {
        Hears::Deaf => {
            busy(ctx, act).await;
            false
        }
        _ => tokio::select! {
            biased;
            _ = ctx.cancelled() => true,
            () = busy(ctx, act) => false,
        },
    };
    match (told, act.hears) {
        (true, Hears::Late(ms)) => {
            pause(ms).await;
            Ok(Some(Payload::json("\"late\"")))
        }
        (true, Hears::Slow(ms)) => {
            pause(ms).await;
            Err(Failure::new("stopped"))
        }
        (true, _) => Err(Failure::new("stopped")),
        (false, _) if ctx.info().attempt <= act.fails => Err(Failure::new("planned")),
        (false, _) => Ok(node.and_then(code::input)),
    }
}

/// Works, and says so now and then.
async fn busy(ctx: &ActivityContext, act: Act) {
    let mut left = act.work;
    while let Some(beat) = act.beats.filter(|beat| *beat < left) {
        pause(beat).await;
        ctx.heartbeat(None);
        left -= beat;
    }
    pause(left).await;
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
