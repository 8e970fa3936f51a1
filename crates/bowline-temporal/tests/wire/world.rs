//! An engine on a memory store, its door on a port, and short words for what the tests send.

use std::{sync::Arc, time::Duration};

use bowline_engine::{
    Engine,
    store::{Store, memory::MemoryStore},
};
use bowline_temporal::{Door, Listening, Protection};
use prost::{Message, Name};
use temporalio_protos::temporal::api::{
    command::v1::{
        Command, CompleteWorkflowExecutionCommandAttributes,
        ContinueAsNewWorkflowExecutionCommandAttributes, ScheduleActivityTaskCommandAttributes,
        command::Attributes,
    },
    common::v1::{ActivityType, WorkflowExecution, WorkflowType},
    enums::v1::CommandType,
    history::v1::HistoryEvent,
    taskqueue::v1::TaskQueue,
    workflowservice::v1::*,
};
use tonic::{
    Request, Response, Status, client::Grpc, codec::CompressionEncoding, transport::Channel,
};
use tonic_prost::ProstCodec;

/// The namespace that is there from the beginning.
pub(crate) const SPACE: &str = "default";
/// Where everything waits, unless a test says otherwise.
pub(crate) const QUEUE: &str = "queue";

/// A server, and one connection to it.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) door: Door,
    pub(crate) channel: Channel,
    pub(crate) listening: Listening,
    pub(crate) store: MemoryStore,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::on(MemoryStore::new()).await
    }

    /// A server on rows that may be there already.
    pub(crate) async fn on(store: MemoryStore) -> Self {
        Self::protected(store, Protection::default()).await
    }

    /// One that not everybody may ask.
    pub(crate) async fn protected(store: MemoryStore, protection: Protection) -> Self {
        Self::over(Arc::new(store.clone()), store, protection).await
    }

    /// A server on any store; it is begun again on the rows of this one.
    pub(crate) async fn over(
        shared: Arc<dyn Store>,
        store: MemoryStore,
        protection: Protection,
    ) -> Self {
        let engine = Engine::builder(shared).identity("server").start().await.expect("it starts");
        let door = Door::new(engine.clone(), SPACE);
        let address = "127.0.0.1:0".parse().expect("an address");
        let listening = bowline_temporal::serve_protected(door.clone(), address, protection);
        let listening = listening.await.expect("it listens");
        let channel = Channel::from_shared(format!("http://{}", listening.address));
        let channel = channel.expect("a uri").connect_lazy();
        Self { engine, door, channel, listening, store }
    }

    /// Ends the server as a crash would leave it, and begins another on its rows.
    pub(crate) async fn restart(self) -> Self {
        self.engine.close(Duration::from_secs(5)).await.expect("it closes");
        self.listening.close(Duration::from_secs(5)).await.expect("it ends");
        Self::on(self.store.reopen()).await
    }

    /// Calls the method whose request this is.
    pub(crate) async fn call<Q, A>(&self, request: Q) -> Result<A, Status>
    where
        Q: Message + Name + 'static,
        A: Message + Default + 'static,
    {
        self.send(Request::new(request)).await.map(Response::into_inner)
    }

    /// The same, with whatever travels beside the message.
    pub(crate) async fn send<Q, A>(&self, request: Request<Q>) -> Result<Response<A>, Status>
    where
        Q: Message + Name + 'static,
        A: Message + Default + 'static,
    {
        let method = Q::NAME.strip_suffix("Request").expect("a request");
        let service = match Q::PACKAGE {
            "temporal.api.operatorservice.v1" => "OperatorService",
            _ => "WorkflowService",
        };
        let path = format!("/{}.{service}/{method}", Q::PACKAGE);
        let mut grpc = Grpc::new(self.channel.clone()).max_encoding_message_size(usize::MAX);
        grpc.ready().await.expect("the server is there");
        let codec = ProstCodec::<Q, A>::default();
        grpc.unary(request, path.parse().expect("a path"), codec).await
    }

    /// A start that was packed, so that a little on the wire is much in memory.
    pub(crate) async fn pack(
        &self,
        request: StartWorkflowExecutionRequest,
    ) -> Result<StartWorkflowExecutionResponse, Status> {
        let method = "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution";
        let grpc = Grpc::new(self.channel.clone()).max_encoding_message_size(usize::MAX);
        let mut grpc = grpc.send_compressed(CompressionEncoding::Gzip);
        grpc.ready().await.expect("the server is there");
        let codec = ProstCodec::default();
        let path = method.parse().expect("a path");
        grpc.unary(Request::new(request), path, codec).await.map(Response::into_inner)
    }

    pub(crate) async fn start(&self, request: StartWorkflowExecutionRequest) -> String {
        let begun: StartWorkflowExecutionResponse = self.call(request).await.expect("it starts");
        begun.run_id
    }

    /// Takes the turn that waits in the queue.
    pub(crate) async fn turn(&self, space: &str) -> PollWorkflowTaskQueueResponse {
        let poll = PollWorkflowTaskQueueRequest {
            namespace: space.into(),
            task_queue: Some(queue(QUEUE)),
            identity: "worker".into(),
            ..Default::default()
        };
        self.call(poll).await.expect("a turn")
    }

    /// Answers a turn.
    pub(crate) async fn answer(
        &self,
        space: &str,
        turn: &PollWorkflowTaskQueueResponse,
        commands: Vec<Command>,
    ) -> Result<RespondWorkflowTaskCompletedResponse, Status> {
        let answer = RespondWorkflowTaskCompletedRequest {
            namespace: space.into(),
            task_token: turn.task_token.clone(),
            identity: "worker".into(),
            commands,
            ..Default::default()
        };
        self.call(answer).await
    }

    /// Says that a turn cannot be answered.
    pub(crate) async fn fail(&self, turn: &PollWorkflowTaskQueueResponse) {
        let failed = RespondWorkflowTaskFailedRequest {
            namespace: SPACE.into(),
            task_token: turn.task_token.clone(),
            identity: "worker".into(),
            ..Default::default()
        };
        let _: RespondWorkflowTaskFailedResponse = self.call(failed).await.expect("it is taken");
    }

    /// Signals the newest run of a workflow id.
    pub(crate) async fn signal(&self, id: &str, name: &str) {
        let signal = SignalWorkflowExecutionRequest {
            namespace: SPACE.into(),
            workflow_execution: Some(named(id)),
            signal_name: name.into(),
            ..Default::default()
        };
        let _: SignalWorkflowExecutionResponse = self.call(signal).await.expect("it is taken");
    }

    /// Takes an activity that waits in the queue.
    pub(crate) async fn activity(&self, space: &str) -> PollActivityTaskQueueResponse {
        let poll = PollActivityTaskQueueRequest {
            namespace: space.into(),
            task_queue: Some(queue(QUEUE)),
            identity: "worker".into(),
            ..Default::default()
        };
        self.call(poll).await.expect("an activity")
    }

    /// Ends a run without asking its code.
    pub(crate) async fn terminate(&self, id: &str) {
        let terminate = TerminateWorkflowExecutionRequest {
            namespace: SPACE.into(),
            workflow_execution: Some(named(id)),
            ..Default::default()
        };
        let _: TerminateWorkflowExecutionResponse = self.call(terminate).await.expect("it ends");
    }

    pub(crate) async fn history(&self, space: &str, id: &str) -> Vec<HistoryEvent> {
        let page = GetWorkflowExecutionHistoryRequest {
            namespace: space.into(),
            execution: Some(named(id)),
            ..Default::default()
        };
        let page: GetWorkflowExecutionHistoryResponse = self.call(page).await.expect("a history");
        page.history.unwrap_or_default().events
    }
}

/// The kinds of events, in short.
pub(crate) fn kinds(events: &[HistoryEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.event_type().as_str_name()).map(short).collect()
}

fn short(name: &'static str) -> &'static str {
    name.strip_prefix("EVENT_TYPE_").unwrap_or(name)
}

pub(crate) fn queue(name: &str) -> TaskQueue {
    TaskQueue { name: name.into(), ..Default::default() }
}

pub(crate) fn named(id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: id.into(), ..Default::default() }
}

/// A start with nothing special about it.
pub(crate) fn start(space: &str, id: &str) -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        namespace: space.into(),
        workflow_id: id.into(),
        workflow_type: Some(WorkflowType { name: "flow".into() }),
        task_queue: Some(queue(QUEUE)),
        request_id: format!("start {id}"),
        ..Default::default()
    }
}

pub(crate) fn command(kind: CommandType, attributes: Attributes) -> Command {
    Command { command_type: kind.into(), attributes: Some(attributes), ..Default::default() }
}

/// Goes on as a new run of the same kind.
pub(crate) fn go_on() -> Command {
    let next = ContinueAsNewWorkflowExecutionCommandAttributes {
        workflow_type: Some(WorkflowType { name: "flow".into() }),
        task_queue: Some(queue(QUEUE)),
        ..Default::default()
    };
    let attributes = Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(next);
    command(CommandType::ContinueAsNewWorkflowExecution, attributes)
}

pub(crate) fn complete() -> Command {
    command(
        CommandType::CompleteWorkflowExecution,
        Attributes::CompleteWorkflowExecutionCommandAttributes(
            CompleteWorkflowExecutionCommandAttributes::default(),
        ),
    )
}

pub(crate) fn schedule(id: &str) -> Command {
    scheduled(ScheduleActivityTaskCommandAttributes {
        activity_id: id.into(),
        activity_type: Some(ActivityType { name: "work".into() }),
        task_queue: Some(queue(QUEUE)),
        start_to_close_timeout: Some(seconds(60)),
        ..Default::default()
    })
}

pub(crate) fn scheduled(activity: ScheduleActivityTaskCommandAttributes) -> Command {
    command(
        CommandType::ScheduleActivityTask,
        Attributes::ScheduleActivityTaskCommandAttributes(activity),
    )
}

pub(crate) fn seconds(seconds: i64) -> prost_wkt_types::Duration {
    prost_wkt_types::Duration { seconds, nanos: 0 }
}

/// The names of the details that a status carries for programs.
pub(crate) fn details(status: &Status) -> Vec<String> {
    #[derive(Clone, PartialEq, Message)]
    struct Detailed {
        #[prost(int32, tag = "1")]
        code: i32,
        #[prost(string, tag = "2")]
        message: String,
        #[prost(message, repeated, tag = "3")]
        details: Vec<prost_wkt_types::Any>,
    }
    let read = Detailed::decode(status.details()).expect("details read");
    assert!(read.details.is_empty() || read.code == i32::from(status.code()));
    let name = |any: prost_wkt_types::Any| any.type_url.rsplit('.').next().map(str::to_owned);
    read.details.into_iter().filter_map(name).collect()
}
