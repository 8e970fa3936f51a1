//! Embedded in an axum application: start, look at and cancel runs over HTTP.
//!
//! `Bowline` is a cheap handle: it goes into the application's state like a pool of connections,
//! and there is no server beside it. On the way out the HTTP server stops first, then Bowline lets
//! its activities finish; open runs go on when the program is started again. Here the program
//! calls itself, on a free port.
//!
//! ```text
//! POST /orders/7 -> 201 {"id":"7","status":"running"}
//! POST /orders/7 -> 409 "order-7" is taken by a run that is running: …
//! GET /orders/7 -> 200 {"id":"7","status":"running","stage":"packing"}
//! DELETE /orders/7 -> 200 {"id":"7","status":"cancelled","clean":true}
//! GET /orders/7 -> 200 {"id":"7","status":"cancelled","stage":"called off: …"}
//! GET /orders/8 -> 404 there is no run of "order-8"
//! goodbye
//! ```

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use bowline::prelude::*;
use bowline::{ClientError, Failure};
use serde::Serialize;
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

const STAGE: Query<String> = Query::new("stage");

async fn pack(ctx: ActivityCtx) -> bowline::Result<()> {
    let why = ctx.cancelled().await; // Packing takes a while.
    Err(Failure::new(why.to_string()).into())
}

async fn order(ctx: Ctx) -> bowline::Result<()> {
    let stage = ctx.expose(STAGE, "packing".to_owned());
    let packing = ctx.scope(async { bowline::Ok(ctx.activity(pack, ()).await?) });
    let packing = packing.cleanup(async move |_, stopped| {
        stage.set(format!("called off: {}", stopped.why()));
        Ok(())
    });
    Ok(packing.await?)
}

#[derive(Default, Serialize)]
struct Answer {
    id: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clean: Option<bool>,
}

/// What a handler fails with: every `ClientError` has a stable code.
struct Refusal(ClientError);

impl From<ClientError> for Refusal {
    fn from(error: ClientError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self.0.code() {
            "missing" => StatusCode::NOT_FOUND,
            "id_taken" => StatusCode::CONFLICT,
            "invalid" => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, self.0.to_string()).into_response()
    }
}

type Answered = Result<(StatusCode, Json<Answer>), Refusal>;

async fn start(State(bowline): State<Bowline>, Path(id): Path<String>) -> Answered {
    let run = bowline.start(order, format!("order-{id}"), ()).await?;
    let status = run.describe().await?.summary.status.to_string();
    Ok((StatusCode::CREATED, Json(Answer { id, status, ..Answer::default() })))
}

async fn status(State(bowline): State<Bowline>, Path(id): Path<String>) -> Answered {
    let run = bowline.attach(order, format!("order-{id}"));
    let status = run.describe().await?.summary.status.to_string();
    let stage = Some(run.query(STAGE).await?);
    Ok((StatusCode::OK, Json(Answer { id, status, stage, ..Answer::default() })))
}

async fn cancel(State(bowline): State<Bowline>, Path(id): Path<String>) -> Answered {
    let run = bowline.attach(order, format!("order-{id}"));
    let receipt = run.cancel("called off").by("customer").await?;
    // Answers when nothing runs any more. To answer at once, give the id of the receipt instead.
    let clean = Some(receipt.wait(Phase::Clean).await?.is_clean());
    let status = run.describe().await?.summary.status.to_string();
    Ok((StatusCode::OK, Json(Answer { id, status, clean, ..Answer::default() })))
}

/// The smallest client that there is.
async fn call(at: SocketAddr, method: &str, path: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(at).await?;
    let request = format!("{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    println!("{method} {path} -> {} {body}", head.split(' ').nth(1).unwrap_or("?"));
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("web.db")).workflow(order).activity(pack);
    let bowline = app.start().await?;

    let routes = post(start).get(status).delete(cancel);
    let router = Router::new().route("/orders/{id}", routes).with_state(bowline.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, router).with_graceful_shutdown(async {
        let _ = stopped.await; // In earnest: `tokio::signal::ctrl_c()`.
    });
    let server = tokio::spawn(server.into_future());

    for method in ["POST", "POST", "GET", "DELETE", "GET"] {
        call(at, method, "/orders/7").await?;
    }
    call(at, "GET", "/orders/8").await?;

    drop(stop);
    server.await??;
    bowline.close(Duration::from_secs(10)).await?;
    println!("goodbye");
    Ok(())
}
