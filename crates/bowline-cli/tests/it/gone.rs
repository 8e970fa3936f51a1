//! A worker that is gone before its turn could be sent to it: it had asked, the turn was taken for
//! it, and then its connection ended.

use std::{sync::Arc, time::Duration};

use axum::http::{Request, Response};
use bowline_engine::{Engine, store::memory::MemoryStore};
use bowline_temporal::{Door, Listening, serve};
use h2::client::{self, SendRequest};
use prost::{Message, bytes::Bytes};
use temporalio_protos::temporal::api::{
    common::v1::WorkflowType, taskqueue::v1::TaskQueue, workflowservice::v1::*,
};
use tokio::{net::TcpStream, task::JoinHandle};

const QUEUE: &str = "q";

/// A connection that may be told to read nothing.
struct Connection {
    requests: SendRequest<Bytes>,
    driver: JoinHandle<()>,
}

impl Connection {
    async fn new(listening: &Listening, window: u32) -> Self {
        let stream = TcpStream::connect(listening.address).await.expect("it listens");
        let mut builder = client::Builder::new();
        builder.initial_window_size(window);
        let (requests, connection) = builder.handshake(stream).await.expect("it speaks HTTP/2");
        // However the connection ends, the test sees what came of it.
        let driver = tokio::spawn(async move {
            let _ = connection.await;
        });
        Self { requests, driver }
    }

    /// Calls, and waits until the answer has begun.
    async fn begin_call<M: Message>(&self, method: &str, message: &M) -> Response<h2::RecvStream> {
        let path = format!("http://x/temporal.api.workflowservice.v1.WorkflowService/{method}");
        let request = Request::post(path).header("content-type", "application/grpc");
        let request = request.header("te", "trailers").body(()).expect("a request");
        let mut requests = self.requests.clone().ready().await.expect("it takes requests");
        let (answer, mut body) = requests.send_request(request, false).expect("it is sent");
        let bytes = message.encode_to_vec();
        let mut framed = vec![0];
        framed.extend(u32::try_from(bytes.len()).expect("it is short").to_be_bytes());
        framed.extend(bytes);
        body.send_data(framed.into(), true).expect("it is sent");
        answer.await.expect("it is answered")
    }

    async fn call<M: Message, A: Message + Default>(&self, method: &str, message: &M) -> A {
        let mut body = self.begin_call(method, message).await.into_body();
        let mut bytes = Vec::new();
        while let Some(part) = body.data().await {
            let part = part.expect("it reads");
            body.flow_control().release_capacity(part.len()).expect("it was taken");
            bytes.extend(part);
        }
        A::decode(&bytes[5..]).expect("a message")
    }
}

fn poll() -> PollWorkflowTaskQueueRequest {
    PollWorkflowTaskQueueRequest {
        namespace: "default".into(),
        task_queue: Some(TaskQueue { name: QUEUE.into(), ..Default::default() }),
        identity: "worker".into(),
        ..Default::default()
    }
}

fn start() -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        namespace: "default".into(),
        workflow_id: "w".into(),
        workflow_type: Some(WorkflowType { name: "flow".into() }),
        task_queue: Some(TaskQueue { name: QUEUE.into(), ..Default::default() }),
        request_id: "once".into(),
        ..Default::default()
    }
}

/// The next one who asks has the turn at once, and not when its ten seconds are over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_could_not_be_sent_goes_to_the_next_who_asks() {
    let engine = Engine::builder(Arc::new(MemoryStore::default())).start().await.expect("starts");
    let door = Door::new(engine.clone(), "default");
    let listening = serve(door.clone(), ([127, 0, 0, 1], 0).into()).await.expect("listens");
    let client = Connection::new(&listening, 1 << 20).await;
    let _: StartWorkflowExecutionResponse = client.call("StartWorkflowExecution", &start()).await;
    let deaf = Connection::new(&listening, 0).await;
    // The answer has begun, and nothing of the turn can be sent.
    let begun = deaf.begin_call("PollWorkflowTaskQueue", &poll()).await;
    let taken = engine.current("w").await.expect("it is there").record.turn.expect("a turn");
    assert!(taken.started.is_some(), "it was taken for the deaf one");
    deaf.driver.abort();
    drop((begun, deaf.requests));
    let given: PollWorkflowTaskQueueResponse = client.call("PollWorkflowTaskQueue", &poll()).await;
    assert_eq!(given.attempt, 2);
    let kinds: Vec<_> = engine
        .history(engine.current("w").await.expect("it is there").run)
        .await
        .expect("it reads")
        .iter()
        .map(|event| event.kind.name())
        .collect();
    assert!(kinds.contains(&"TurnFailed") && !kinds.contains(&"TurnTimedOut"), "{kinds:?}");
    assert_eq!(door.calls().given_back, 1);
    listening.close(Duration::from_secs(5)).await.expect("it ends");
    engine.close(Duration::from_secs(5)).await.expect("it ends");
}
