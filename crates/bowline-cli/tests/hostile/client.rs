//! A client that says what it likes, frame by frame.

use std::time::Duration;

use axum::http::Request;
use h2::{
    RecvStream, SendStream,
    client::{self, ResponseFuture, SendRequest},
};
use prost::{Message, Name, bytes::Bytes};
use temporalio_protos::temporal::api::{
    common::v1::{WorkflowExecution, WorkflowType},
    taskqueue::v1::TaskQueue,
    workflowservice::v1::*,
};
use tokio::{net::TcpStream, task::JoinHandle};

/// How long anything may take before a test gives up: what is waited for always comes, or never.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: &str, coming: impl Future<Output = T>) -> T {
    let come = tokio::time::timeout(PATIENCE, coming).await;
    come.unwrap_or_else(|_| panic!("{what} did not come"))
}

/// One connection.
pub(crate) struct Client {
    pub(crate) requests: SendRequest<Bytes>,
    /// Ends when the connection has.
    pub(crate) driver: JoinHandle<Result<(), h2::Error>>,
}

/// How a call was answered: gRPC's code and message, or the body.
pub(crate) type Answer = Result<Vec<u8>, (i32, String)>;

impl Client {
    pub(crate) async fn new(address: &str) -> Self {
        Self::with_window(address, 1 << 20).await
    }

    /// A connection on which so many bytes of each answer are read.
    pub(crate) async fn with_window(address: &str, window: u32) -> Self {
        let stream = soon("a connection", TcpStream::connect(address)).await.expect("it listens");
        let mut builder = client::Builder::new();
        builder.initial_window_size(window).initial_max_send_streams(100_000);
        let shaken = soon("a handshake", builder.handshake(stream)).await;
        let (requests, connection) = shaken.expect("it speaks HTTP/2");
        Self { requests, driver: tokio::spawn(connection) }
    }

    /// Begins a call, and says nothing of what it asks yet.
    pub(crate) async fn open(&self, method: &str, packed: bool) -> Opened {
        let path = format!("http://x/temporal.api.workflowservice.v1.WorkflowService/{method}");
        let request = Request::post(path).header("content-type", "application/grpc");
        let request = request.header("te", "trailers");
        let request = match packed {
            true => request.header("grpc-encoding", "gzip"),
            false => request,
        };
        let ready = soon("room for a call", self.requests.clone().ready()).await;
        let mut requests = ready?;
        requests.send_request(request.body(()).expect("a request"), false)
    }

    /// Calls the method whose request this is.
    pub(crate) async fn call<Q: Message + Name>(&self, request: &Q) -> Answer {
        self.send(method::<Q>(), framed(0, &request.encode_to_vec()), false).await
    }

    /// The same, and reads the answer.
    pub(crate) async fn ask<Q, A>(&self, request: &Q) -> A
    where
        Q: Message + Name,
        A: Message + Default,
    {
        let answer = self.call(request).await;
        A::decode(&answer.expect("it is answered")[5..]).expect("a message")
    }

    /// Calls with a body that may be anything.
    pub(crate) async fn send(&self, method: &str, body: Vec<u8>, packed: bool) -> Answer {
        let opened = self.open(method, packed).await.map_err(broken)?;
        let (answer, mut sending) = opened;
        sending.send_data(body.into(), true).map_err(broken)?;
        read(answer).await
    }
}

pub(crate) type Opened = Result<(ResponseFuture, SendStream<Bytes>), h2::Error>;

fn broken(why: h2::Error) -> (i32, String) {
    (-1, why.to_string())
}

/// Waits for an answer, and reads it.
pub(crate) async fn read(answer: ResponseFuture) -> Answer {
    let answer = soon("an answer", answer).await.map_err(broken)?;
    let (parts, mut body) = answer.into_parts();
    let mut bytes = Vec::new();
    while let Some(part) = soon("more of an answer", body.data()).await {
        let part = part.map_err(broken)?;
        body.flow_control().release_capacity(part.len()).map_err(broken)?;
        bytes.extend(part);
    }
    let said = |headers: &axum::http::HeaderMap, name: &str| {
        let value = headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let trailers = trailers(&mut body).await?;
    let status = said(&parts.headers, "grpc-status").or_else(|| said(&trailers, "grpc-status"));
    let message = said(&parts.headers, "grpc-message").or_else(|| said(&trailers, "grpc-message"));
    match status.as_deref() {
        Some("0") => Ok(bytes),
        Some(code) => Err((code.parse().expect("a code"), message.unwrap_or_default())),
        None => Err((-1, format!("{} without a status", parts.status))),
    }
}

async fn trailers(body: &mut RecvStream) -> Result<axum::http::HeaderMap, (i32, String)> {
    Ok(soon("the end", body.trailers()).await.map_err(broken)?.unwrap_or_default())
}

pub(crate) fn method<Q: Name>() -> &'static str {
    Q::NAME.strip_suffix("Request").expect("a request")
}

/// A message as gRPC frames it.
pub(crate) fn framed(flag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut framed = vec![flag];
    framed.extend(u32::try_from(bytes.len()).expect("it is short").to_be_bytes());
    framed.extend(bytes);
    framed
}

/// A client that means well: it starts a run, looks at it, and ends it.
pub(crate) async fn is_served(address: &str, id: &str) {
    let client = Client::new(address).await;
    let started: StartWorkflowExecutionResponse = client.ask(&start(id)).await;
    let execution = WorkflowExecution { workflow_id: id.into(), run_id: started.run_id };
    let describe = DescribeWorkflowExecutionRequest {
        namespace: "default".into(),
        execution: Some(execution.clone()),
    };
    let _: DescribeWorkflowExecutionResponse = client.ask(&describe).await;
    let terminate = TerminateWorkflowExecutionRequest {
        namespace: "default".into(),
        workflow_execution: Some(execution),
        ..Default::default()
    };
    let _: TerminateWorkflowExecutionResponse = client.ask(&terminate).await;
}

pub(crate) fn queue(name: &str) -> Option<TaskQueue> {
    Some(TaskQueue { name: name.into(), ..Default::default() })
}

pub(crate) fn start(id: &str) -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        namespace: "default".into(),
        workflow_id: id.into(),
        workflow_type: Some(WorkflowType { name: "flow".into() }),
        task_queue: queue("queue"),
        request_id: format!("start {id}"),
        ..Default::default()
    }
}

/// A poll that nothing comes for.
pub(crate) fn poll(identity: String) -> PollActivityTaskQueueRequest {
    PollActivityTaskQueueRequest {
        namespace: "default".into(),
        task_queue: queue("empty"),
        identity,
        ..Default::default()
    }
}
