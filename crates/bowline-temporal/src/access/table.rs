//! One line for each call: which rights it needs, and where. What has no line is refused.

use std::{collections::HashMap, sync::LazyLock};

use bowline_access::{
    Need, Reach, Right,
    Right::{Administer, Bulk, Delete, Read, Signal, Start, Terminate, Work},
    Row,
};

const READ: &[Right] = &[Read];
const START: &[Right] = &[Start];
const SIGNAL: &[Right] = &[Signal];
const WORK: &[Right] = &[Work];
const TERMINATE: &[Right] = &[Terminate];
const BULK: &[Right] = &[Bulk];
const DELETE: &[Right] = &[Delete];
const ADMINISTER: &[Right] = &[Administer];
/// Workers look at some of what they work on.
const EITHER: Need = Need::Any(&[Read, Work]);

const fn needs(call: &'static str, rights: &'static [Right]) -> Row {
    Row::new(call, rights)
}

const fn open(call: &'static str) -> Row {
    Row::needs(call, Need::Nothing).reaching(Reach::Somewhere)
}

const fn either(call: &'static str) -> Row {
    Row::needs(call, EITHER)
}

const fn cancels(call: &'static str) -> Row {
    Row::needs(call, Need::Cancel)
}

/// The names of the services.
const SERVICES: [(&str, &[Row]); 3] = [
    ("temporal.api.workflowservice.v1.WorkflowService", WORKFLOW),
    ("temporal.api.operatorservice.v1.OperatorService", OPERATOR),
    ("grpc.health.v1.Health", HEALTH),
];

/// Every line, by its service.
pub static ROWS: [(&str, &[Row]); 3] = SERVICES;

static PATHS: LazyLock<HashMap<String, Row>> = LazyLock::new(|| {
    let services = SERVICES.iter();
    let lines = services.flat_map(|(service, rows)| {
        rows.iter().map(move |row| (format!("/{service}/{}", row.call), *row))
    });
    lines.collect()
});

/// The line of the call at this path.
pub fn row(path: &str) -> Option<Row> {
    PATHS.get(path).copied()
}

const WORKFLOW: &[Row] = &[
    open("GetSystemInfo"),
    Row::needs("GetClusterInfo", EITHER).reaching(Reach::Somewhere),
    Row::needs("ListNamespaces", EITHER).reaching(Reach::Somewhere),
    needs("GetSearchAttributes", READ).reaching(Reach::Somewhere),
    needs("RegisterNamespace", ADMINISTER).reaching(Reach::Everywhere),
    either("DescribeNamespace"),
    needs("UpdateNamespace", ADMINISTER),
    needs("DeprecateNamespace", ADMINISTER),
    // Runs, as clients see them.
    needs("StartWorkflowExecution", START),
    needs("SignalWithStartWorkflowExecution", &[Start, Signal]),
    needs("ExecuteMultiOperation", &[Start, Signal, Terminate]),
    needs("SignalWorkflowExecution", SIGNAL),
    needs("UpdateWorkflowExecution", SIGNAL),
    Row::needs("PollWorkflowExecutionUpdate", Need::Any(&[Read, Signal])),
    cancels("RequestCancelWorkflowExecution"),
    needs("TerminateWorkflowExecution", TERMINATE),
    needs("ResetWorkflowExecution", &[Start, Terminate]),
    needs("DeleteWorkflowExecution", DELETE),
    needs("PauseWorkflowExecution", ADMINISTER),
    needs("UnpauseWorkflowExecution", ADMINISTER),
    needs("UpdateWorkflowExecutionOptions", ADMINISTER),
    needs("DescribeWorkflowExecution", READ),
    needs("QueryWorkflow", READ),
    either("GetWorkflowExecutionHistory"),
    either("GetWorkflowExecutionHistoryReverse"),
    needs("ListWorkflowExecutions", READ),
    needs("ListOpenWorkflowExecutions", READ),
    needs("ListClosedWorkflowExecutions", READ),
    needs("ListArchivedWorkflowExecutions", READ),
    needs("ScanWorkflowExecutions", READ),
    needs("CountWorkflowExecutions", READ),
    needs("PollWorkflowExecutionTimeSkipping", READ),
    // Workers.
    needs("PollWorkflowTaskQueue", WORK),
    needs("RespondWorkflowTaskCompleted", WORK),
    needs("RespondWorkflowTaskFailed", WORK),
    needs("RespondQueryTaskCompleted", WORK),
    needs("ResetStickyTaskQueue", WORK),
    needs("PollActivityTaskQueue", WORK),
    needs("RecordActivityTaskHeartbeat", WORK),
    needs("RecordActivityTaskHeartbeatById", WORK),
    needs("RespondActivityTaskCompleted", WORK),
    needs("RespondActivityTaskCompletedById", WORK),
    needs("RespondActivityTaskFailed", WORK),
    needs("RespondActivityTaskFailedById", WORK),
    needs("RespondActivityTaskCanceled", WORK),
    needs("RespondActivityTaskCanceledById", WORK),
    needs("PollNexusTaskQueue", WORK),
    needs("RespondNexusTaskCompleted", WORK),
    needs("RespondNexusTaskFailed", WORK),
    needs("RecordWorkerHeartbeat", WORK),
    needs("ShutdownWorker", WORK),
    either("DescribeTaskQueue"),
    needs("ListTaskQueuePartitions", READ),
    needs("ListWorkers", READ),
    needs("CountWorkers", READ),
    needs("DescribeWorker", READ),
    needs("FetchWorkerConfig", ADMINISTER),
    needs("UpdateWorkerConfig", ADMINISTER),
    needs("UpdateTaskQueueConfig", ADMINISTER),
    // Schedules, many runs at once, and rules for all of them.
    needs("CreateSchedule", START),
    needs("UpdateSchedule", START),
    needs("PatchSchedule", START),
    needs("DeleteSchedule", DELETE),
    needs("DescribeSchedule", READ),
    needs("ListSchedules", READ),
    needs("CountSchedules", READ),
    needs("ListScheduleMatchingTimes", READ),
    needs("StartBatchOperation", BULK),
    needs("StopBatchOperation", BULK),
    needs("DescribeBatchOperation", READ),
    needs("ListBatchOperations", READ),
    needs("CreateWorkflowRule", ADMINISTER),
    needs("DeleteWorkflowRule", ADMINISTER),
    needs("TriggerWorkflowRule", ADMINISTER),
    needs("DescribeWorkflowRule", READ),
    needs("ListWorkflowRules", READ),
    // Activities and operations that stand for themselves.
    needs("StartActivityExecution", START),
    needs("StartNexusOperationExecution", START),
    cancels("RequestCancelActivityExecution"),
    cancels("RequestCancelNexusOperationExecution"),
    needs("TerminateActivityExecution", TERMINATE),
    needs("TerminateNexusOperationExecution", TERMINATE),
    needs("DeleteActivityExecution", DELETE),
    needs("DeleteNexusOperationExecution", DELETE),
    needs("DescribeActivityExecution", READ),
    needs("DescribeNexusOperationExecution", READ),
    needs("PollActivityExecution", READ),
    needs("PollNexusOperationExecution", READ),
    needs("ListActivityExecutions", READ),
    needs("ListNexusOperationExecutions", READ),
    needs("CountActivityExecutions", READ),
    needs("CountNexusOperationExecutions", READ),
    needs("PauseActivity", ADMINISTER),
    needs("UnpauseActivity", ADMINISTER),
    needs("ResetActivity", ADMINISTER),
    needs("UpdateActivityOptions", ADMINISTER),
    needs("PauseActivityExecution", ADMINISTER),
    needs("UnpauseActivityExecution", ADMINISTER),
    needs("ResetActivityExecution", ADMINISTER),
    needs("UpdateActivityExecutionOptions", ADMINISTER),
    // Versions of workers.
    needs("UpdateWorkerBuildIdCompatibility", ADMINISTER),
    needs("GetWorkerBuildIdCompatibility", READ),
    needs("UpdateWorkerVersioningRules", ADMINISTER),
    needs("GetWorkerVersioningRules", READ),
    needs("GetWorkerTaskReachability", READ),
    needs("DescribeDeployment", READ),
    needs("ListDeployments", READ),
    needs("GetDeploymentReachability", READ),
    needs("GetCurrentDeployment", READ),
    needs("SetCurrentDeployment", ADMINISTER),
    needs("DescribeWorkerDeployment", READ),
    needs("DescribeWorkerDeploymentVersion", READ),
    needs("ListWorkerDeployments", READ),
    needs("SetWorkerDeploymentCurrentVersion", ADMINISTER),
    needs("SetWorkerDeploymentRampingVersion", ADMINISTER),
    needs("SetWorkerDeploymentManager", ADMINISTER),
    needs("CreateWorkerDeployment", ADMINISTER),
    needs("CreateWorkerDeploymentVersion", ADMINISTER),
    needs("DeleteWorkerDeployment", ADMINISTER),
    needs("DeleteWorkerDeploymentVersion", ADMINISTER),
    needs("UpdateWorkerDeploymentVersionComputeConfig", ADMINISTER),
    needs("ValidateWorkerDeploymentVersionComputeConfig", ADMINISTER),
    needs("UpdateWorkerDeploymentVersionMetadata", ADMINISTER),
];

const OPERATOR: &[Row] = &[
    needs("AddSearchAttributes", ADMINISTER).reaching(Reach::Everywhere),
    needs("RemoveSearchAttributes", ADMINISTER).reaching(Reach::Everywhere),
    needs("ListSearchAttributes", ADMINISTER).reaching(Reach::Everywhere),
    needs("DeleteNamespace", ADMINISTER).reaching(Reach::Everywhere),
    needs("AddOrUpdateRemoteCluster", ADMINISTER).reaching(Reach::Everywhere),
    needs("RemoveRemoteCluster", ADMINISTER).reaching(Reach::Everywhere),
    needs("ListClusters", ADMINISTER).reaching(Reach::Everywhere),
    needs("GetNexusEndpoint", ADMINISTER).reaching(Reach::Everywhere),
    needs("CreateNexusEndpoint", ADMINISTER).reaching(Reach::Everywhere),
    needs("UpdateNexusEndpoint", ADMINISTER).reaching(Reach::Everywhere),
    needs("DeleteNexusEndpoint", ADMINISTER).reaching(Reach::Everywhere),
    needs("ListNexusEndpoints", ADMINISTER).reaching(Reach::Everywhere),
];

const HEALTH: &[Row] = &[open("Check"), open("Watch")];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every call of the services that are served, by its path, answered or not.
    const CALLS: &[&str] = include!(concat!(env!("OUT_DIR"), "/calls.rs"));

    #[test]
    fn every_call_has_one_line_and_no_line_is_for_nothing() {
        for call in CALLS {
            assert!(row(&format!("/{call}")).is_some(), "{call} needs a line");
        }
        let lines: usize = SERVICES.iter().map(|(_, rows)| rows.len()).sum();
        assert_eq!((lines, PATHS.len()), (CALLS.len(), CALLS.len()), "each once, and no others");
        assert!(row("/temporal.api.workflowservice.v1.WorkflowService/Nothing").is_none());
        assert!(row("/temporal.api.adminservice.v1.AdminService/GetSystemInfo").is_none());
    }

    /// Nothing is open to strangers but what says that the server is there.
    #[test]
    fn strangers_may_ask_whether_anybody_is_there() {
        let open = PATHS.iter().filter(|(_, row)| row.need == Need::Nothing);
        let mut open: Vec<_> = open.map(|(_, row)| row.call).collect();
        open.sort_unstable();
        assert_eq!(open, ["Check", "GetSystemInfo", "Watch"]);
    }
}
