//! Who polls a queue, and how much waits there.
#![allow(deprecated, reason = "tools ask in three ways, of which Temporal keeps the newest")]

use std::collections::HashMap;

use bowline_engine::Polled;
use temporalio_protos::temporal::api::{
    enums::v1::{BuildIdTaskReachability, DescribeTaskQueueMode, TaskQueueType},
    taskqueue::v1::{PollerInfo, TaskQueueStatus, TaskQueueTypeInfo, TaskQueueVersionInfo},
    workflowservice::v1::*,
};
use tonic::Request;

use super::backlog;
use crate::{
    door::{Door, namespace::Space},
    status::{self, Answer},
    translate::time,
};

pub(in crate::door) async fn describe(
    door: &Door,
    request: Request<DescribeTaskQueueRequest>,
) -> Answer<DescribeTaskQueueResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let queue = request.task_queue.as_ref().map_or("", |queue| &queue.name);
    if queue.is_empty() {
        return Err(status::invalid("TaskQueue is not set on request."));
    }
    if request.api_mode == i32::from(DescribeTaskQueueMode::Enhanced) {
        return enhanced(door, space, queue, &request).await;
    }
    let kind = match request.task_queue_type {
        0 => TaskQueueType::Workflow.into(),
        kind => kind,
    };
    let hints = request.include_task_queue_status;
    let wants_stats = request.report_stats || hints;
    let stats = match wants_stats {
        true => {
            let _turn = door.inner.reads.turn().await?;
            Some(backlog::of(space, queue, kind).await?)
        }
        false => None,
    };
    let hint = stats.as_ref().map_or(0, |stats| stats.approximate_backlog_count);
    let status = TaskQueueStatus { backlog_count_hint: hint, ..Default::default() };
    Ok(DescribeTaskQueueResponse {
        pollers: pollers(space, queue, kind),
        stats: stats.filter(|_| request.report_stats),
        task_queue_status: hints.then_some(status),
        ..Default::default()
    })
}

/// Who polls for such work.
fn pollers(space: &Space, queue: &str, kind: i32) -> Vec<PollerInfo> {
    let wants = match TaskQueueType::try_from(kind) {
        Ok(TaskQueueType::Workflow) => Polled::Turns,
        Ok(TaskQueueType::Activity) => Polled::Activities,
        _ => return Vec::new(),
    };
    let known = space.engine.pollers(&queue.into(), wants);
    let told = known.into_iter().map(|(identity, at)| PollerInfo {
        last_access_time: Some(time::moment(at)),
        identity: identity.to_string(),
        ..Default::default()
    });
    told.collect()
}

/// The way in which the official command line asks: several types at once, by version. All that
/// there is has no version.
async fn enhanced(
    door: &Door,
    space: &Space,
    queue: &str,
    request: &DescribeTaskQueueRequest,
) -> Answer<DescribeTaskQueueResponse> {
    let all = [TaskQueueType::Workflow, TaskQueueType::Activity].map(i32::from);
    let mut kinds = request.task_queue_types.clone();
    kinds.retain(|kind| all.contains(kind));
    kinds.sort_unstable();
    kinds.dedup();
    if request.task_queue_types.is_empty() {
        kinds = all.to_vec();
    }
    let mut types_info = HashMap::new();
    for kind in kinds {
        let stats = match request.report_stats {
            true => {
                let _turn = door.inner.reads.turn().await?;
                Some(backlog::of(space, queue, kind).await?)
            }
            false => None,
        };
        let pollers = match request.report_pollers {
            true => pollers(space, queue, kind),
            false => Vec::new(),
        };
        types_info.insert(kind, TaskQueueTypeInfo { pollers, stats });
    }
    let reachable = match request.report_task_reachability {
        true => BuildIdTaskReachability::Reachable,
        false => BuildIdTaskReachability::Unspecified,
    };
    let unversioned = TaskQueueVersionInfo { types_info, task_reachability: reachable.into() };
    let wanted = request.versions.as_ref();
    let is_wanted = wanted.is_none_or(|wanted| wanted.unversioned || wanted.build_ids.is_empty());
    let versions = is_wanted.then(|| (String::new(), unversioned));
    let named = wanted.map_or(&[][..], |wanted| &wanted.build_ids);
    let named = named.iter().map(|build| (build.clone(), TaskQueueVersionInfo::default()));
    let versions_info = named.chain(versions).collect();
    Ok(DescribeTaskQueueResponse { versions_info, ..Default::default() })
}
