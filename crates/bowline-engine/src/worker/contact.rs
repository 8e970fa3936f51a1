//! Contact: a process that has been out of contact with its store for a lease runs no code.
//!
//! Others may have given it up by then, and run the same. So its attempts end by its own clock, be
//! the store far away, or the process itself have stood still. Every poll of code asks first; this
//! loop is for code that is not polled.

use std::{pin::Pin, sync::Arc};

use crate::engine::EngineInner;

/// Looks whenever a lease may be over, until the engine stops or is no member any more.
pub(super) fn watch(inner: Arc<EngineInner>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let stopping = inner.stopping.clone();
    Box::pin(async move {
        stopping.run_until_cancelled_owned(look(inner)).await;
    })
}

async fn look(inner: Arc<EngineInner>) {
    while let Some(left) = inner.contact_left() {
        let is_running = inner.local.get().is_some_and(|local| local.is_running());
        // Who runs nothing has nothing to stop, and asks before it begins something.
        let pause = match left.is_zero() {
            true if is_running && inner.is_in_contact() => continue,
            true => inner.settings.lease / 3,
            false => left,
        };
        inner.clock.sleep_until(inner.now().after(pause)).await;
    }
}
