//! `fanout` and `children`: one run that asks for much at once.

use std::{sync::Arc, time::Instant};

use super::{Found, fresh};
use crate::{Metrics, System, Work, spread::millis};

/// Activities at once, awaited together.
pub(super) async fn fanout<S: System>(system: &Arc<S>, width: u32) -> Found {
    whole(system, "fanout", Work::Fanout { width }).await
}

/// Children at once, awaited together.
pub(super) async fn children<S: System>(system: &Arc<S>, width: u32) -> Found {
    whole(system, "children", Work::Children { width }).await
}

async fn whole<S: System>(system: &Arc<S>, kind: &str, work: Work) -> Found {
    let started = Instant::now();
    system.whole(fresh(kind), work).await?;
    Ok(Metrics::from([("whole_ms".into(), millis(started.elapsed()))]))
}
