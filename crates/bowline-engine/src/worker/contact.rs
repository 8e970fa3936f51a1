//! Contact: a process that has been out of contact with its store for a lease runs no code.
//!
//! Others may have given it up by then, and run the same. So its attempts end by its own clock, be
//! the store far away, or the process itself have stood still. Every poll of code asks first; this
//! loop is for code that is not polled.

use std::{pin::Pin, sync::Arc};

use crate::engine::Core;

/// Looks whenever a lease may be over, until the engine stops or is no member any more.
pub(super) fn watch(core: Arc<Core>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let stopping = core.stopping.clone();
    Box::pin(async move {
        stopping.run_until_cancelled_owned(look(core)).await;
    })
}

async fn look(core: Arc<Core>) {
    while let Some(left) = core.contact_left() {
        let is_running = core.local.get().is_some_and(|local| local.is_running());
        // Who runs nothing has nothing to stop, and asks before it begins something.
        let pause = match left.is_zero() {
            true if is_running && core.is_in_contact() => continue,
            true => core.settings.lease / 3,
            false => left,
        };
        core.clock.sleep_until(core.now().after(pause)).await;
    }
}
