//! What sweeping learns of attempts whose end nobody saw. Decided here, once for all stores.

use std::collections::BTreeSet;

use bowline_core::{ActivityLive, Epoch, Gone, Sight, Time, presume as presume_dead, process_gone};

/// Writes on a row what has become known of the processes of its unseen attempts, and presumes
/// dead what has been silent since `presume`. True if the row has changed.
pub fn learn(
    live: &mut ActivityLive,
    gone: impl Fn(Epoch) -> Option<Gone>,
    presume: Option<Time>,
    now: Time,
) -> bool {
    let epochs: BTreeSet<Epoch> = live.unseen.iter().filter_map(|own| own.epoch).collect();
    let mut changed = false;
    for (epoch, gone) in epochs.into_iter().filter_map(|epoch| Some((epoch, gone(epoch)?))) {
        changed |= process_gone(live, epoch, &gone, Some(now));
    }
    changed | presume.is_some_and(|since| presume_dead(live, since, now))
}

/// Since when the oldest attempt of a row has been silent that is not presumed dead.
pub fn silent_since(live: &ActivityLive) -> Option<Time> {
    let silent = live.unseen.iter().filter(|own| own.sight == Sight::Silent);
    silent.map(|own| own.since).min()
}
