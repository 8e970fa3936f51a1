//! The HTTP port as a door: encrypted like the other one, and with the same callers and rights.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, MatchedPath, Request, connect_info::Connected},
    http::{HeaderValue, Response, StatusCode, header},
    middleware::{self, Next},
    response::IntoResponse,
    serve::{IncomingStream, Listener},
};
use bowline_access::{
    AccessLayer, Keeper, Need, Peer, Reach, Refused, Right, Row, Secured, Tls, browser, is_loopback,
};
use bowline_temporal::Protection;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

/// How long nobody is let in after the system has had no room.
const PAUSE: Duration = Duration::from_millis(100);

/// Lets connections in.
pub(super) struct Gate {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<Arc<Tls>>,
}

impl Listener for Gate {
    type Io = Secured<TcpStream>;
    type Addr = Arc<Peer>;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let peer = Peer::new("http", from);
                    let stream = match &self.tls {
                        Some(tls) => tls.accept(stream, peer.clone()),
                        None => Secured::plain(stream),
                    };
                    return (stream, peer);
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection was not let in");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Arc<Peer>> {
        self.listener.local_addr().map(|address| Peer::new("http", address))
    }
}

/// The other end, as requests know it.
#[derive(Clone, Debug)]
pub(super) struct Client(Arc<Peer>);

impl Connected<IncomingStream<'_, Gate>> for Client {
    fn connect_info(stream: IncomingStream<'_, Gate>) -> Self {
        Self(stream.remote_addr().clone())
    }
}

/// The rights of the routes that stand beside the API.
const ROWS: [Row; 3] = [
    Row::needs("/healthz", Need::Nothing).reaching(Reach::Somewhere),
    Row::needs("/readyz", Need::Nothing).reaching(Reach::Somewhere),
    Row::new("/metrics", &[Right::Read]).reaching(Reach::Somewhere),
];

/// The port as the layer sees it.
#[derive(Clone, Copy, Debug)]
struct Web;

impl Keeper<Body, Body> for Web {
    fn row(&self, request: &Request) -> Option<Row> {
        let path = request.extensions().get::<MatchedPath>()?;
        ROWS.iter().find(|row| row.call == path.as_str()).copied()
    }

    fn peer(&self, request: &Request) -> Arc<Peer> {
        let known = request.extensions().get::<ConnectInfo<Client>>();
        known.map_or_else(|| Peer::named("http", "unknown".into()), |known| known.0.0.clone())
    }

    fn refuse(&self, why: &Refused) -> Response<Body> {
        refusal(why)
    }

    fn failure(&self, answer: &Response<Body>) -> Option<String> {
        let status = answer.status();
        (status.is_client_error() || status.is_server_error()).then(|| status.to_string())
    }

    fn subject(&self, _: &Request) -> Option<bowline_access::Subject> {
        Some(bowline_access::Subject::default())
    }
}

/// A refusal: stable code, message, what to do.
fn refusal(why: &Refused) -> Response<Body> {
    let (status, todo) = match why {
        why if why.is_unknown() => (StatusCode::UNAUTHORIZED, "send an API key or a token"),
        Refused::Unaudited => (StatusCode::SERVICE_UNAVAILABLE, "look at the server's log"),
        _ => (StatusCode::FORBIDDEN, "ask whoever runs this server for the right that it names"),
    };
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "code": why.code(),
        "detail": why.to_string(),
        "todo": todo,
    });
    let kind = [(header::CONTENT_TYPE, "application/problem+json")];
    let mut answer = (status, kind, body.to_string()).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let ask = HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
    }
    answer
}

/// Puts in front of a router what keeps others out: credentials where there are some, and always
/// what browsers must not be talked into.
pub(super) fn protected(router: Router, address: &SocketAddr, protection: &Protection) -> Router {
    // Where nobody needs to say who they are, and only this machine is let in, a page that was
    // given this machine's address is told from others by the name that it asks for.
    let is_own = protection.access.is_none() && is_loopback(address);
    let router = match &protection.access {
        Some(access) => router.layer(AccessLayer::new(access.clone(), Web)),
        None => router,
    };
    router.layer(middleware::from_fn(move |request: Request, next: Next| async move {
        let headers = request.headers();
        let is_foreign = browser::is_foreign(request.method(), headers);
        if is_foreign || (is_own && !browser::is_local_host(headers)) {
            return refusal(&Refused::Foreign);
        }
        next.run(request).await
    }))
}
