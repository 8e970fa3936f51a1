//! How workers say that they are, and who asks for it.

use prost::Message;
use temporalio_protos::temporal::api::{
    worker::v1::{WorkerHeartbeat, WorkerInfo, WorkerListInfo},
    workflowservice::v1::*,
};
use tonic::Request;

use crate::{
    door::{Door, namespace::Space},
    limits,
    status::{self, Answer},
};

/// Workers say how they are.
pub(in crate::door) async fn heartbeat(
    door: &Door,
    request: Request<RecordWorkerHeartbeatRequest>,
) -> Answer<RecordWorkerHeartbeatResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    if request.worker_heartbeat.iter().any(|beat| beat.worker_instance_key.is_empty()) {
        return Err(status::invalid("WorkerInstanceKey is not set on a heartbeat."));
    }
    request.worker_heartbeat.iter().for_each(|beat| keep(space, beat));
    Ok(RecordWorkerHeartbeatResponse {})
}

pub(super) fn keep(space: &Space, beat: &WorkerHeartbeat) {
    space.engine.worker_beats(&beat.worker_instance_key, beat.encode_to_vec().into());
}

fn read(said: &[u8]) -> Answer<WorkerHeartbeat> {
    WorkerHeartbeat::decode(said).map_err(|_| status::corrupt("what a worker has said"))
}

/// What one worker said last.
pub(in crate::door) async fn describe(
    door: &Door,
    request: Request<DescribeWorkerRequest>,
) -> Answer<DescribeWorkerResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    if request.worker_instance_key.is_empty() {
        return Err(status::invalid("WorkerInstanceKey is not set on request."));
    }
    let found = space.engine.worker(&request.worker_instance_key);
    let beat = found.ok_or_else(|| status::missing("worker not found"))?;
    let worker_heartbeat = Some(read(beat.said.as_slice())?);
    Ok(DescribeWorkerResponse { worker_info: Some(WorkerInfo { worker_heartbeat }) })
}

/// Workers that were heard of lately, in the order of their keys.
pub(in crate::door) async fn list(
    door: &Door,
    request: Request<ListWorkersRequest>,
) -> Answer<ListWorkersResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    if !request.query.is_empty() {
        return Err(status::invalid("workers cannot be chosen by a query at this server"));
    }
    let after = String::from_utf8(request.next_page_token);
    let after = after.map_err(|_| status::invalid("Invalid NextPageToken."))?;
    let wanted = usize::try_from(request.page_size).unwrap_or(0);
    let wanted = if wanted == 0 { limits::LIST_PAGE } else { wanted.min(limits::LIST_PAGE) };
    let mut found = space.engine.workers(&after);
    let more = found.len() > wanted;
    found.truncate(wanted);
    let next = found.last().filter(|_| more).map(|beat| beat.worker.clone().into_bytes());
    let beats: Answer<Vec<_>> = found.iter().map(|beat| read(beat.said.as_slice())).collect();
    let beats = beats?;
    #[allow(deprecated, reason = "older tools read nothing else")]
    let answer = ListWorkersResponse {
        workers: beats.iter().map(shown).collect(),
        workers_info: beats.into_iter().map(info).collect(),
        next_page_token: next.unwrap_or_default(),
    };
    Ok(answer)
}

fn info(beat: WorkerHeartbeat) -> WorkerInfo {
    WorkerInfo { worker_heartbeat: Some(beat) }
}

fn shown(beat: &WorkerHeartbeat) -> WorkerListInfo {
    let beat = beat.clone();
    let host = beat.host_info.unwrap_or_default();
    WorkerListInfo {
        worker_instance_key: beat.worker_instance_key,
        worker_identity: beat.worker_identity,
        task_queue: beat.task_queue,
        deployment_version: beat.deployment_version,
        sdk_name: beat.sdk_name,
        sdk_version: beat.sdk_version,
        status: beat.status,
        start_time: beat.start_time,
        host_name: host.host_name,
        worker_grouping_key: host.worker_grouping_key,
        process_id: host.process_id,
        plugins: beat.plugins,
        drivers: beat.drivers,
    }
}
