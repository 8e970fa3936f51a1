//! Due alarms become messages. The loop sleeps until the next one, however far away it is.

use std::sync::Arc;

use bowline_core::{Number, Time};

use super::Core;
use crate::limits;

/// Rings alarms until the engine stops.
pub(crate) async fn run(core: Arc<Core>) {
    let mut next = Some(core.now());
    loop {
        if let Some(due) = next
            && due <= core.now()
        {
            next = ring(&core).await;
            continue;
        }
        let sleep = core.clock.sleep_until(next.unwrap_or(Time::MAX));
        tokio::select! {
            biased;
            () = sleep, if next.is_some() => {}
            () = core.bells.alarm.notified() => {}
        }
        let armed = core.bells.alarm_due.lock().take();
        next = [next, armed].into_iter().flatten().min();
    }
}

/// Rings what is due, and says when the next alarm is.
async fn ring(core: &Arc<Core>) -> Option<Time> {
    core.bells.alarm_due.lock().take();
    let now = core.now();
    match core.patiently(|| core.store.fire(now, limits::FIRE)).await {
        Ok(fired) => {
            if fired.rang > 0 {
                core.net.touch();
            }
            core.set_aside(&fired.aside);
            core.push(fired.hits);
            for run in fired.runs {
                core.owe(run, Number::default());
                core.followers.tell(run);
            }
            fired.next
        }
        Err(error) => {
            tracing::error!(%error, "alarms could not be rung; trying again");
            Some(now.after(limits::STORE_PAUSE * 10))
        }
    }
}
