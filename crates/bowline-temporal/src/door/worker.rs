//! What is known of workers: who polls, where each listens, and how it is. Kept in memory, and only
//! to help: a worker that nobody remembers works all the same.

mod backlog;
mod beat;
mod queue;

use std::collections::BTreeMap;

use bowline_core::{ControlQueue, Namespace};
use parking_lot::Mutex;
use temporalio_protos::temporal::api::workflowservice::v1::*;
use tokio::time::Instant;
use tonic::Request;

use super::{Door, namespace::Space};
use crate::{
    limits,
    status::{self, Answer},
};
pub(super) use beat::{describe, heartbeat, list};
pub(super) use queue::describe as describe_queue;

/// Workers that were heard of lately.
#[derive(Default)]
pub(super) struct Workers {
    /// By namespace, and by the worker's own key: when it was first heard of.
    seen: Mutex<BTreeMap<(Namespace, String), Instant>>,
}

impl Workers {
    /// Where a worker listens: as it says, or, before it says so, as it said before.
    pub(super) fn control(&self, space: &Space, key: &str, said: &str) -> ControlQueue {
        if said.is_empty() {
            return space.engine.control_of(key).unwrap_or_default();
        }
        let control = space.control(said);
        space.engine.worker_listens(key, &control);
        control
    }

    /// The same, for a worker that is about to be given something that it may have to be told to
    /// stop. A worker polls before it knows whether it will have a control channel; while it is
    /// that young it is waited for, so that what it takes first can be cancelled by push too.
    pub(super) async fn listening(&self, space: &Space, key: &str, said: &str) -> ControlQueue {
        let control = self.control(space, key, said);
        if !control.is_empty() || key.is_empty() {
            return control;
        }
        let young_until = self.first_seen(space, key) + limits::WORKER_YOUNG;
        let known = tokio::time::timeout_at(young_until, space.engine.control_known(key)).await;
        known.unwrap_or_default()
    }

    fn first_seen(&self, space: &Space, key: &str) -> Instant {
        let now = Instant::now();
        let mut seen = self.seen.lock();
        if seen.len() >= limits::WORKERS {
            seen.retain(|_, at| now < *at + limits::WORKER_YOUNG);
        }
        // So many that begin within seconds: nobody is waited for.
        if seen.len() >= limits::WORKERS {
            return now - limits::WORKER_YOUNG;
        }
        *seen.entry((space.namespace(), key.to_owned())).or_insert(now)
    }

    fn forget(&self, space: &Space, key: &str) {
        self.seen.lock().remove(&(space.namespace(), key.to_owned()));
    }
}

/// A worker leaves: nobody polls its own queue any more, so what waits there goes to everybody.
pub(super) async fn shutdown(
    door: &Door,
    request: Request<ShutdownWorkerRequest>,
) -> Answer<ShutdownWorkerResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    // Its last word says that it leaves.
    if let Some(last) = &request.worker_heartbeat {
        beat::keep(space, last);
    }
    door.inner.workers.forget(space, &request.worker_instance_key);
    space.engine.worker_left(&request.worker_instance_key);
    if !request.sticky_task_queue.is_empty() {
        let queue = request.sticky_task_queue.as_str().into();
        space.engine.leave_queue(&queue).await.map_err(status::of)?;
    }
    Ok(ShutdownWorkerResponse::default())
}
