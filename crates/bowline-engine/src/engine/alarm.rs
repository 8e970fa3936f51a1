//! Due alarms become messages. The loop sleeps until the next one, however far away it is.

use std::sync::Arc;

use bowline_core::{Number, Time};

use super::EngineInner;
use crate::limits;

/// Rings alarms until the engine stops.
pub(crate) async fn run(inner: Arc<EngineInner>) {
    let mut next = Some(inner.now());
    loop {
        if let Some(due) = next
            && due <= inner.now()
        {
            next = ring(&inner).await;
            continue;
        }
        let sleep = inner.clock.sleep_until(next.unwrap_or(Time::MAX));
        tokio::select! {
            biased;
            () = sleep, if next.is_some() => {}
            () = inner.bells.alarm.notified() => {}
        }
        let armed = inner.bells.alarm_due.lock().take();
        next = [next, armed].into_iter().flatten().min();
    }
}

/// Rings what is due, and says when the next alarm is.
async fn ring(inner: &Arc<EngineInner>) -> Option<Time> {
    inner.bells.alarm_due.lock().take();
    let now = inner.now();
    match inner.patiently(|| inner.store.fire(now, limits::FIRE)).await {
        Ok(fired) => {
            if fired.rang > 0 {
                inner.net.touch();
            }
            inner.set_aside(&fired.damaged);
            inner.push(fired.hits);
            for run in fired.runs {
                inner.owe(run, Number::default());
                inner.followers.tell(run);
            }
            fired.next
        }
        Err(error) => {
            tracing::error!(%error, "alarms could not be rung; trying again");
            Some(now.after(limits::STORE_PAUSE * 10))
        }
    }
}
