//! An engine with some code, and the console on it.

use std::{net::SocketAddr, sync::Arc};

use bowline_core::{ActivitySpec, ChildSpec, Failure, Name, Payload, Queue};
use bowline_engine::{
    Builder, Engine, QueueOptions, store::memory::MemoryStore, worker::registry::activity_fn,
};
use bowline_http::HttpOptions;
use bowline_replay::{Context, Ended};

pub(crate) const QUEUE: &str = "shop";

pub(crate) struct World {
    address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let engine = code(Engine::builder(Arc::new(MemoryStore::new())));
        let engine = engine.identity("worker-1").threads(2).start().await.expect("starts");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let router = bowline_http::router(engine, HttpOptions::default());
        let router = router.merge(bowline_http::console());
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { address, serving }
    }

    /// The address of a page.
    pub(crate) fn at(&self, page: &str) -> String {
        format!("http://{}{page}", self.address)
    }
}

fn code(builder: Builder) -> Builder {
    let hold = activity_fn(|ctx, _| async move {
        let cause = ctx.cancelled().await;
        Err(Failure::new(format!("stopped: {cause}")))
    });
    builder
        .queue(QUEUE, QueueOptions::default())
        .activity("pack", hold.clone())
        .activity("print_label", hold)
        .workflow("checkout", Arc::new(checkout))
        .workflow("shipping", Arc::new(shipping))
        .workflow("done", Arc::new(done))
        .workflow("broken", Arc::new(broken))
}

fn activity(name: &str) -> ActivitySpec {
    ActivitySpec {
        name: Name::from(name),
        queue: Queue::from(QUEUE),
        input: Some(Payload::json("{\"parcel\":7,\"to\":\"Bergen\"}")),
        ..ActivitySpec::default()
    }
}

/// Packs while a child ships: both wait until they are told to stop.
async fn checkout(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let spec = ChildSpec {
        name: Name::from("shipping"),
        workflow_id: "shipment-42".into(),
        queue: Queue::from(QUEUE),
        ..ChildSpec::default()
    };
    let shipping = ctx.child(spec);
    let packing = ctx.activity(activity("pack"));
    let _ = futures_util::future::join(packing, shipping).await;
    Ok(None)
}

async fn shipping(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let _ = ctx.activity(activity("print_label")).await;
    Ok(None)
}

async fn done(_: Context, input: Option<Payload>) -> Result<Option<Payload>, Ended> {
    Ok(input)
}

async fn broken(_: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    panic!("this code is broken")
}
