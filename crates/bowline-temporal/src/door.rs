//! One line per call: who is asked, and in which file the answer is made.
//!
//! What has no line here answers `UNIMPLEMENTED`; docs/temporal.md lists every call.

mod activity;
mod history;
mod namespace;
mod nexus;
mod poll;
mod query;
mod read;
mod shown;
mod size;
mod start;
mod turn;
mod update;
mod visibility;
mod worker;
mod workflow;

use std::sync::Arc;

use bowline_engine::Engine;
use prost::Message;
use temporalio_protos::temporal::api::{operatorservice::v1::*, workflowservice::v1::*};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::{
    Metrics,
    cron::Cron,
    limits::{self, Limits, Sizes},
    serve::{Calls, Handover, Meter, Outgoing, Room},
    status::{self, Answer},
    stubs::{
        health::{
            HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
            health_server::Health,
        },
        operator::operator_service_server::{self as operator_name, OperatorService},
        workflow::workflow_service_server::{self as workflow_name, WorkflowService},
    },
};

/// The door: an engine, and what Temporal's clients may ask of it.
#[derive(Clone)]
pub struct Door {
    inner: Arc<Inner>,
}

struct Inner {
    spaces: namespace::Spaces,
    workers: worker::Workers,
    /// Fires when no more work is handed out here.
    draining: CancellationToken,
    limits: Limits,
    meter: Arc<Meter>,
    reads: read::Reads,
}

impl Door {
    /// A door on an engine. A namespace of this name is there from the beginning.
    pub fn new(engine: Engine, namespace: impl Into<String>) -> Self {
        Self::with(engine, namespace, Limits::default())
    }

    /// The same, with bounds of one's own.
    pub fn with(engine: Engine, namespace: impl Into<String>, limits: Limits) -> Self {
        engine.read_schedules(Arc::new(Cron));
        let spaces = namespace::Spaces::new(engine, namespace.into());
        let (workers, draining) = (worker::Workers::default(), CancellationToken::new());
        let meter = Arc::new(Meter::new(Room::of(&limits)));
        let reads = read::Reads::default();
        Self { inner: Arc::new(Inner { spaces, workers, draining, limits, meter, reads }) }
    }

    /// What was counted so far.
    pub fn calls(&self) -> Calls {
        self.inner.meter.snapshot()
    }

    pub(crate) fn meter(&self) -> Arc<Meter> {
        self.inner.meter.clone()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// Hands out no more work: polls are answered empty, and whoever waits for something else is
    /// told to ask another server.
    pub fn drain(&self) {
        self.inner.draining.cancel();
    }

    /// False once it is draining.
    pub fn is_open(&self) -> bool {
        !self.inner.draining.is_cancelled()
    }

    /// What was counted since the server started.
    pub fn metrics(&self) -> Metrics {
        let spaces = &self.inner.spaces;
        Metrics::of(spaces.engine().metrics(), |namespace| spaces.name_of(namespace))
    }

    /// Makes sure that the first namespace is registered, and looks after all the others.
    pub(crate) async fn register_own_namespace(&self) -> Answer<()> {
        self.inner.spaces.register_own().await
    }

    /// The namespace that a call names. What the call brings is held to its bounds.
    async fn space(&self, namespace: &str) -> Answer<Arc<namespace::Space>> {
        let space = self.inner.spaces.named(namespace).await?;
        if let Some(call) = Handover::current() {
            size::check(self.sizes(space.name()), space.name(), call.blob())?;
        }
        Ok(space)
    }

    /// How large what is sent for a history of a namespace may be.
    fn sizes(&self, namespace: &str) -> Sizes {
        let limits = self.limits();
        limits.sizes_of.get(namespace).copied().unwrap_or(limits.sizes)
    }
}

/// An answer that is packed only where that saves something: most are a few hundred bytes, and the
/// buffers for packing one are many times as large.
fn packed<M: Message>(answer: M) -> Response<M> {
    let bytes = answer.encoded_len();
    let mut answer = Response::new(answer);
    answer.extensions_mut().insert(Outgoing(bytes));
    if bytes < limits::PACKED_FROM {
        answer.disable_compression();
    }
    answer
}

/// Declares the calls that are answered, each by a function of one of the files below.
macro_rules! calls {
    ($service:ident: $($call:ident($request:ty) -> $response:ty = $function:path;)*) => {
        #[tonic::async_trait]
        impl $service for Door {
            $(
                async fn $call(&self, request: Request<$request>) -> Answer<Response<$response>> {
                    poll::in_time(&request)?;
                    let answer = Box::pin($function(self, request)).await;
                    Ok(packed(answer.map_err(status::bounded)?))
                }
            )*
        }
    };
}

calls! { WorkflowService:
    get_system_info(GetSystemInfoRequest) -> GetSystemInfoResponse = namespace::system_info;
    get_cluster_info(GetClusterInfoRequest) -> GetClusterInfoResponse = namespace::cluster_info;
    describe_namespace(DescribeNamespaceRequest) -> DescribeNamespaceResponse =
        namespace::describe;
    list_namespaces(ListNamespacesRequest) -> ListNamespacesResponse = namespace::list;
    register_namespace(RegisterNamespaceRequest) -> RegisterNamespaceResponse =
        namespace::register;
    get_search_attributes(GetSearchAttributesRequest) -> GetSearchAttributesResponse =
        namespace::all_attributes;
    update_namespace(UpdateNamespaceRequest) -> UpdateNamespaceResponse = namespace::update;
    start_workflow_execution(StartWorkflowExecutionRequest) -> StartWorkflowExecutionResponse =
        start::start;
    signal_with_start_workflow_execution(SignalWithStartWorkflowExecutionRequest)
        -> SignalWithStartWorkflowExecutionResponse = start::signal_with_start;
    signal_workflow_execution(SignalWorkflowExecutionRequest) -> SignalWorkflowExecutionResponse =
        workflow::signal;
    request_cancel_workflow_execution(RequestCancelWorkflowExecutionRequest)
        -> RequestCancelWorkflowExecutionResponse = workflow::cancel;
    terminate_workflow_execution(TerminateWorkflowExecutionRequest)
        -> TerminateWorkflowExecutionResponse = workflow::terminate;
    describe_workflow_execution(DescribeWorkflowExecutionRequest)
        -> DescribeWorkflowExecutionResponse = workflow::describe;
    get_workflow_execution_history(GetWorkflowExecutionHistoryRequest)
        -> GetWorkflowExecutionHistoryResponse = history::page;
    get_workflow_execution_history_reverse(GetWorkflowExecutionHistoryReverseRequest)
        -> GetWorkflowExecutionHistoryReverseResponse = history::page_back;
    list_workflow_executions(ListWorkflowExecutionsRequest) -> ListWorkflowExecutionsResponse =
        visibility::list;
    count_workflow_executions(CountWorkflowExecutionsRequest) -> CountWorkflowExecutionsResponse =
        visibility::count;
    query_workflow(QueryWorkflowRequest) -> QueryWorkflowResponse = query::ask;
    respond_query_task_completed(RespondQueryTaskCompletedRequest)
        -> RespondQueryTaskCompletedResponse = query::answer;
    update_workflow_execution(UpdateWorkflowExecutionRequest) -> UpdateWorkflowExecutionResponse =
        update::update;
    poll_workflow_execution_update(PollWorkflowExecutionUpdateRequest)
        -> PollWorkflowExecutionUpdateResponse = update::poll;
    poll_workflow_task_queue(PollWorkflowTaskQueueRequest) -> PollWorkflowTaskQueueResponse =
        turn::poll;
    respond_workflow_task_completed(RespondWorkflowTaskCompletedRequest)
        -> RespondWorkflowTaskCompletedResponse = turn::complete;
    respond_workflow_task_failed(RespondWorkflowTaskFailedRequest)
        -> RespondWorkflowTaskFailedResponse = turn::fail;
    reset_sticky_task_queue(ResetStickyTaskQueueRequest) -> ResetStickyTaskQueueResponse =
        turn::reset_sticky;
    poll_activity_task_queue(PollActivityTaskQueueRequest) -> PollActivityTaskQueueResponse =
        activity::poll;
    respond_activity_task_completed(RespondActivityTaskCompletedRequest)
        -> RespondActivityTaskCompletedResponse = activity::complete;
    respond_activity_task_failed(RespondActivityTaskFailedRequest)
        -> RespondActivityTaskFailedResponse = activity::fail;
    respond_activity_task_canceled(RespondActivityTaskCanceledRequest)
        -> RespondActivityTaskCanceledResponse = activity::cancelled;
    record_activity_task_heartbeat(RecordActivityTaskHeartbeatRequest)
        -> RecordActivityTaskHeartbeatResponse = activity::heartbeat;
    respond_activity_task_completed_by_id(RespondActivityTaskCompletedByIdRequest)
        -> RespondActivityTaskCompletedByIdResponse = activity::complete_by_id;
    respond_activity_task_failed_by_id(RespondActivityTaskFailedByIdRequest)
        -> RespondActivityTaskFailedByIdResponse = activity::fail_by_id;
    respond_activity_task_canceled_by_id(RespondActivityTaskCanceledByIdRequest)
        -> RespondActivityTaskCanceledByIdResponse = activity::cancelled_by_id;
    record_activity_task_heartbeat_by_id(RecordActivityTaskHeartbeatByIdRequest)
        -> RecordActivityTaskHeartbeatByIdResponse = activity::heartbeat_by_id;
    poll_nexus_task_queue(PollNexusTaskQueueRequest) -> PollNexusTaskQueueResponse = nexus::poll;
    respond_nexus_task_completed(RespondNexusTaskCompletedRequest)
        -> RespondNexusTaskCompletedResponse = nexus::complete;
    respond_nexus_task_failed(RespondNexusTaskFailedRequest) -> RespondNexusTaskFailedResponse =
        nexus::fail;
    record_worker_heartbeat(RecordWorkerHeartbeatRequest) -> RecordWorkerHeartbeatResponse =
        worker::heartbeat;
    describe_worker(DescribeWorkerRequest) -> DescribeWorkerResponse = worker::describe;
    list_workers(ListWorkersRequest) -> ListWorkersResponse = worker::list;
    shutdown_worker(ShutdownWorkerRequest) -> ShutdownWorkerResponse = worker::shutdown;
    describe_task_queue(DescribeTaskQueueRequest) -> DescribeTaskQueueResponse =
        worker::describe_queue;
}

calls! { OperatorService:
    add_search_attributes(AddSearchAttributesRequest) -> AddSearchAttributesResponse =
        namespace::add_attributes;
    remove_search_attributes(RemoveSearchAttributesRequest) -> RemoveSearchAttributesResponse =
        namespace::remove_attributes;
    list_search_attributes(ListSearchAttributesRequest) -> ListSearchAttributesResponse =
        namespace::list_attributes;
}

#[tonic::async_trait]
impl Health for Door {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Answer<Response<HealthCheckResponse>> {
        let known = ["", workflow_name::SERVICE_NAME, operator_name::SERVICE_NAME];
        if !known.contains(&request.get_ref().service.as_str()) {
            return Err(Status::not_found("unknown service"));
        }
        let status = match self.is_open() {
            true => ServingStatus::Serving,
            false => ServingStatus::NotServing,
        };
        Ok(Response::new(HealthCheckResponse { status: status.into() }))
    }
}
