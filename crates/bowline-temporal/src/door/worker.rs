//! What is known of workers: who polls, and where each listens. Kept in memory, and only to help:
//! a worker that nobody remembers works all the same.

use std::{collections::BTreeMap, time::Duration};

use bowline_core::{ControlQueue, Time};
use parking_lot::Mutex;
use temporalio_protos::temporal::api::{
    taskqueue::v1::PollerInfo, worker::v1::WorkerHeartbeat, workflowservice::v1::*,
};
use tokio::{sync::Notify, time::Instant};
use tonic::Request;

use super::Door;
use crate::{
    limits,
    status::{self, Answer},
    translate::time,
};

/// Workers that were heard of lately.
#[derive(Default)]
pub(super) struct Workers {
    /// By the worker's own key: where it listens, and since when that is known.
    controls: Mutex<BTreeMap<String, (ControlQueue, Time)>>,
    /// By the worker's own key: when it was first heard of.
    seen: Mutex<BTreeMap<String, Instant>>,
    /// Told when it becomes known where somebody listens.
    learned: Notify,
    /// By queue and identity: when they last polled.
    polls: Mutex<BTreeMap<(String, String), Time>>,
}

impl Workers {
    /// Where a worker listens: as it says, or, before it says so, as it said before.
    pub(super) fn control(&self, key: &str, said: &str) -> ControlQueue {
        let mut controls = self.controls.lock();
        if said.is_empty() {
            return controls.get(key).map(|(control, _)| control.clone()).unwrap_or_default();
        }
        let control = ControlQueue::from(said);
        if !key.is_empty() && controls.len() < limits::WORKERS {
            controls.insert(key.to_owned(), (control.clone(), Time::MAX));
            self.learned.notify_waiters();
        }
        control
    }

    /// The same, for a worker that is about to be given something that it may have to be told to
    /// stop. A worker polls before it knows whether it will have a control channel; while it is
    /// that young it is waited for, so that what it takes first can be cancelled by push too.
    pub(super) async fn listening(&self, key: &str, said: &str) -> ControlQueue {
        loop {
            let learned = self.learned.notified();
            let control = self.control(key, said);
            let young_until = self.first_seen(key) + limits::WORKER_YOUNG;
            if !control.is_empty() || key.is_empty() || Instant::now() >= young_until {
                return control;
            }
            tokio::select! {
                () = learned => {}
                () = tokio::time::sleep_until(young_until) => {}
            }
        }
    }

    fn first_seen(&self, key: &str) -> Instant {
        let now = Instant::now();
        let mut seen = self.seen.lock();
        if seen.len() >= limits::WORKERS {
            seen.retain(|_, at| now < *at + limits::WORKER_YOUNG);
        }
        *seen.entry(key.to_owned()).or_insert(now)
    }

    /// A worker polled a queue.
    pub(super) fn polled(&self, queue: &str, identity: &str, now: Time) {
        let mut polls = self.polls.lock();
        if polls.len() >= limits::WORKERS {
            polls.retain(|_, at| now.since(*at) < limits::WORKER_SILENT);
        }
        if polls.len() < limits::WORKERS {
            polls.insert((queue.to_owned(), identity.to_owned()), now);
        }
    }

    /// Workers say how they are. The queue that one listens on follows from its group.
    pub(super) fn heard(&self, beats: &[WorkerHeartbeat], now: Time) {
        let mut controls = self.controls.lock();
        controls.retain(|_, (_, at)| *at == Time::MAX || now.since(*at) < limits::WORKER_SILENT);
        for beat in beats.iter().take(limits::WORKERS.saturating_sub(controls.len())) {
            if let Some((_, at)) = controls.get_mut(&beat.worker_instance_key) {
                *at = now;
            }
        }
    }

    fn forget(&self, key: &str) {
        self.controls.lock().remove(key);
        self.seen.lock().remove(key);
    }

    fn pollers(&self, queue: &str, now: Time) -> Vec<(String, Time)> {
        let polls = self.polls.lock();
        let from = (queue.to_owned(), String::new());
        let of_queue = polls.range(from..).take_while(|((place, _), _)| place == queue);
        let fresh = of_queue.filter(|(_, at)| now.since(**at) < Duration::from_secs(300));
        fresh.map(|((_, who), at)| (who.clone(), *at)).collect()
    }
}

/// Workers say how they are.
pub(super) async fn heartbeat(
    door: &Door,
    request: Request<RecordWorkerHeartbeatRequest>,
) -> Answer<RecordWorkerHeartbeatResponse> {
    let request = request.into_inner();
    let space = door.space(&request.namespace)?;
    door.inner.workers.heard(&request.worker_heartbeat, space.engine.now());
    Ok(RecordWorkerHeartbeatResponse {})
}

/// A worker leaves: nobody polls its own queue any more, so what waits there goes to everybody.
pub(super) async fn shutdown(
    door: &Door,
    request: Request<ShutdownWorkerRequest>,
) -> Answer<ShutdownWorkerResponse> {
    let request = request.into_inner();
    let space = door.space(&request.namespace)?;
    door.inner.workers.forget(&request.worker_instance_key);
    if !request.sticky_task_queue.is_empty() {
        let queue = request.sticky_task_queue.as_str().into();
        space.engine.leave_queue(&queue).await.map_err(status::of)?;
    }
    Ok(ShutdownWorkerResponse::default())
}

/// Who polls a queue.
pub(super) async fn describe_queue(
    door: &Door,
    request: Request<DescribeTaskQueueRequest>,
) -> Answer<DescribeTaskQueueResponse> {
    let request = request.into_inner();
    let space = door.space(&request.namespace)?;
    let queue = request.task_queue.unwrap_or_default().name;
    if queue.is_empty() {
        return Err(status::invalid("TaskQueue is not set on request."));
    }
    let pollers = door.inner.workers.pollers(&queue, space.engine.now());
    let pollers = pollers.into_iter().map(|(identity, at)| PollerInfo {
        last_access_time: Some(time::moment(at)),
        identity,
        ..Default::default()
    });
    Ok(DescribeTaskQueueResponse { pollers: pollers.collect(), ..Default::default() })
}
