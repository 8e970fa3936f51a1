//! The work that decisions left for later, a bounded piece at a time.

use std::{sync::Arc, time::Duration};

use bowline_core::Time;
use bowline_store::{Attest, DamagedRun, SilentMember, Sweep, Swept, Whom, Witness};

use super::EngineInner;
use crate::limits;

/// How often closed runs are looked at, where they are not kept for ever.
const RETENTION_EVERY: Duration = Duration::from_secs(3600);

/// Sweeps whenever there is something to sweep, until the engine stops.
pub(crate) async fn run(inner: Arc<EngineInner>) {
    loop {
        inner.bells.sweep_due.lock().take();
        // Another process may have changed how long runs are kept.
        if let Err(error) = inner.all_spaces().await {
            tracing::warn!(%error, "the registry of namespaces could not be read");
        }
        let swept = loop {
            match once(&inner).await {
                Some(swept) if swept.more => {}
                swept => break swept,
            }
        };
        // Nobody is woken for nothing: a hint brings work, or something that was kept expires.
        let kept = inner.spaces.retention().into_iter().map(|(_, kept)| kept).min();
        let looks = kept.map(|kept| inner.now().after(RETENTION_EVERY.min(kept)));
        let presumed =
            inner.settings.presume.zip(swept.as_ref().and_then(|swept| swept.silent_since));
        let presumed = presumed.map(|(silence, since)| since.after(silence));
        let expires = swept.and_then(|swept| swept.next).into_iter().chain(presumed).min();
        let next = {
            let mut due = inner.bells.sweep_due.lock();
            *due = [*due, expires].into_iter().flatten().min();
            due.into_iter().chain(looks).min()
        };
        tokio::select! {
            biased;
            () = inner.bells.sweep.notified() => {}
            () = inner.clock.sleep_until(next.unwrap_or(Time::MAX)), if next.is_some() => {}
        }
    }
}

impl EngineInner {
    /// Says that runs were set aside: somebody has to look at them, or restore a backup.
    pub(crate) fn set_aside(&self, runs: &[DamagedRun]) {
        for DamagedRun { run, reason } in runs {
            self.meter.runs_set_aside.add(1);
            tracing::error!(%run, %reason, "bytes of a run do not read; it is set aside");
            self.followers.tell(*run);
        }
    }
}

/// Looks whether members that fell silent are still there, as far as that can be seen from here.
async fn bury(inner: &Arc<EngineInner>, silent: &[SilentMember]) {
    let gone = silent.iter().filter(|member| {
        member.process.as_ref().is_some_and(|process| inner.settings.host.is_gone(process))
    });
    for SilentMember { epoch, identity, .. } in gone {
        tracing::info!(epoch = epoch.0, %identity, "a process that fell silent is gone");
        let attest = Attest { whom: Whom::Epoch(*epoch), witness: Witness::Host, now: inner.now() };
        match inner.retrying(|| inner.store.attest(attest.clone())).await {
            Ok(attested) if attested.gone.is_empty() => {}
            Ok(_) => inner.bells.sweep.notify_one(),
            Err(error) => tracing::warn!(%error, "its end could not be written down"),
        }
    }
}

/// Sweeps once.
async fn once(inner: &Arc<EngineInner>) -> Option<Swept> {
    let sweep = Sweep {
        epoch: inner.epoch(),
        now: inner.now(),
        limit: limits::SWEEP,
        retention: inner.spaces.retention(),
        presume: inner.settings.presume.map(|silence| inner.now().before(silence)),
    };
    match inner.heed(sweep.epoch, inner.patiently(|| inner.store.sweep(sweep.clone())).await) {
        Ok(swept) => {
            inner.set_aside(&swept.damaged);
            bury(inner, &swept.silent).await;
            if swept.rows > 0 {
                // It may have told runs of whatever was lost.
                inner.net.owe_any();
                inner.followers.tell_all();
            }
            // Other work gets its turn between two pieces.
            tokio::task::yield_now().await;
            Some(swept)
        }
        Err(error) => {
            tracing::error!(%error, "sweeping failed; it goes on with the next hint");
            None
        }
    }
}
