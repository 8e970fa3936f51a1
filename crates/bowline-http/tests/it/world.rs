//! An engine with some code, a server on it, and a client that speaks HTTP over a socket.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bowline_core::{ActivitySpec, ChildSpec, Failure, Name, Payload, Queue};
use bowline_engine::{
    Builder, Engine, QueueOptions, store::memory::MemoryStore, worker::registry::activity_fn,
};
use bowline_http::{Gate, HttpOptions};
use bowline_replay::{Context, Ended};
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode, body::Bytes, body::Incoming, header::HeaderMap};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpStream, sync::watch};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const QUEUE: &str = "q";

/// A server that is called over its socket.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) address: SocketAddr,
    /// How many attempts of the activity `hold` have begun.
    held: watch::Receiver<usize>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Waits for something that must come, and says what it was if it does not.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited for {what}, and it did not come"),
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(HttpOptions::default()).await
    }

    pub(crate) async fn with(options: HttpOptions) -> Self {
        let (began, held) = watch::channel(0);
        let engine = code(Engine::builder(Arc::new(MemoryStore::new())), began);
        let engine = engine.identity("worker").threads(2).start().await.expect("starts");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let router = bowline_http::router(engine.clone(), options);
        let gate = Gate { listener, tls: None };
        let serving = tokio::spawn(bowline_http::serve(gate, router, std::future::pending()));
        Self { engine, address, held, serving }
    }

    /// Waits until so many attempts of `hold` have begun.
    pub(crate) async fn held(&self, count: usize) {
        let mut held = self.held.clone();
        within("the activity to begin", held.wait_for(|began| *began >= count))
            .await
            .expect("the code is there");
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        self.send("GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answered {
        self.send("POST", path, &[], Some(body)).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answered {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.raw(method, path, &all, body).await
    }

    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answered {
        let response = self.open(method, path, headers, body).await;
        let (head, body) = response.into_parts();
        let bytes = within("the answer", body.collect()).await.expect("it comes").to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            panic!("{method} {path} is not answered with JSON: {bytes:?}");
        });
        Answered { status: head.status, headers: head.headers, body }
    }

    /// Sends a request; its answer is read by the caller. A path without a leading slash is one of
    /// the usual namespace.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.expect("it listens");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("it talks");
        tokio::spawn(connection);
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("/api/v1/namespaces/default/{path}"),
        };
        let mut request = Request::builder().method(method).uri(path).header("host", "bowline");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).expect("a request");
        within("an answer", sender.send_request(request)).await.expect("it answers")
    }

    /// Starts a run, and answers with its id.
    pub(crate) async fn start(&self, workflow: &str, id: &str) -> String {
        let body = json!({ "type": workflow, "id": id, "queue": QUEUE });
        let started = self.post("runs", body).await.is(201);
        started["run"].as_str().expect("an id").to_owned()
    }

    /// Waits until a run is in this state.
    pub(crate) async fn until(&self, id: &str, state: &str) -> Value {
        let (mut hints, what) = (self.engine.changes(), format!("{id} to be {state}"));
        within(&what, async {
            loop {
                let run = self.get(&format!("runs/{id}")).await.is(200);
                if run["state"] == state {
                    return run;
                }
                hints.next().await;
            }
        })
        .await
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answered {
    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    /// What is wrong, for an answer that must be a problem of this status.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status.as_u16(), &self.body["code"]), (status, &json!(code)), "{self:?}");
        let body = &self.body;
        let kind = self.headers.get("content-type").expect("it has a type");
        assert_eq!(kind, "application/problem+json");
        assert_eq!(body["status"], status);
        assert_eq!(body["type"], format!("urn:bowline:error:{code}"));
        for field in ["title", "detail", "todo", "request_id"] {
            assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {body}");
        }
        let id = self.headers.get("x-request-id").expect("it is named").to_str().expect("text");
        assert_eq!(body["request_id"], id);
        self.body
    }
}

/// The code that all tests run.
fn code(builder: Builder, began: watch::Sender<usize>) -> Builder {
    let hold = activity_fn(move |ctx, _| {
        began.send_modify(|began| *began += 1);
        async move {
            let cause = ctx.cancelled().await;
            Err(Failure::new(format!("stopped: {cause}")))
        }
    });
    builder
        .queue(QUEUE, QueueOptions::default())
        .activity("hold", hold)
        .workflow("echo", Arc::new(echo))
        .workflow("holder", Arc::new(holder))
        .workflow("sleeper", Arc::new(sleeper))
        .workflow("parent", Arc::new(parent))
        .workflow("broken", Arc::new(broken))
}

/// Answers queries and updates until it is told to stop.
async fn echo(ctx: Context, input: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let own = input.clone();
    ctx.expose("input", move |_| Ok(own.clone()));
    ctx.expose("same", Ok);
    let (stop, updates) = (ctx.signals("stop"), ctx.updates("double"));
    let answering = ctx.scope(async {
        loop {
            let asked = updates.recv().await;
            let text = asked.request().input.clone().unwrap_or_default();
            let number: Option<i64> = serde_json::from_slice(text.bytes.as_slice()).ok();
            asked.reply(match number {
                Some(number) => Ok(Some(Payload::json((2 * number).to_string()))),
                None => Err(Failure::new("that is no number")),
            });
        }
        #[allow(unreachable_code)]
        Ok(())
    });
    let result = {
        let stopped = stop.recv();
        tokio::pin!(stopped);
        tokio::pin!(answering);
        std::future::poll_fn(|cx| {
            let _ = answering.as_mut().poll(cx);
            stopped.as_mut().poll(cx)
        })
        .await
    };
    Ok(result.input.or(input))
}

async fn holder(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let spec = ActivitySpec {
        name: Name::from("hold"),
        queue: Queue::from(QUEUE),
        input: Some(Payload::json("{\"parcel\":7}")),
        ..ActivitySpec::default()
    };
    let outcome = ctx.activity(spec).await;
    Ok(Some(Payload::json(json!(format!("{outcome:?}").len()).to_string())))
}

async fn sleeper(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let _ = ctx.timer(Duration::from_secs(3_600)).await;
    Ok(Some(Payload::json("\"woken\"")))
}

async fn parent(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let spec = ChildSpec {
        name: Name::from("holder"),
        workflow_id: "the-child".into(),
        queue: Queue::from(QUEUE),
        ..ChildSpec::default()
    };
    let _ = ctx.child(spec).await;
    Ok(None)
}

async fn broken(_: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    panic!("this code is broken")
}
