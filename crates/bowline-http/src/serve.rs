//! A port, or a socket, on which a router is served: so many connections at once, and none that
//! says nothing for ever.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use axum::{Router, body::Body, serve::Listener};
use bowline_access::{Peer, Secured, Tls};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tower_service::Service as _;

use crate::limits;

/// Lets connections of a port in, encrypted where it has what that needs.
#[derive(Debug)]
pub struct Gate {
    /// The port.
    pub listener: TcpListener,
    /// What encrypts connections.
    pub tls: Option<Arc<Tls>>,
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
                    tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Arc<Peer>> {
        self.listener.local_addr().map(|address| Peer::new("http", address))
    }
}

/// Serves a router until somebody says stop; what is being answered then has a moment to finish.
/// Every request has the other end of its connection among its extensions.
pub async fn serve<L>(mut listener: L, router: Router, stop: impl Future<Output = ()>)
where
    L: Listener<Addr = Arc<Peer>>,
{
    let room = Arc::new(Semaphore::new(limits::CONNECTIONS_MAX));
    let (closing, closed) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = async {
            let permit = room.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, (stream, peer)) = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let (router, closed) = (router.clone(), closed.clone());
        connections.spawn(async move {
            connection(TokioIo::new(stream), peer, router, closed).await;
            drop(permit);
        });
        // Those that are over are forgotten.
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let _ = closing.send(true);
    let leaving = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits::LEAVE + Duration::from_secs(1), leaving).await;
}

async fn connection<I>(
    io: TokioIo<I>,
    peer: Arc<Peer>,
    router: Router,
    mut closing: watch::Receiver<bool>,
) where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        let mut router = router.clone();
        request.extensions_mut().insert(peer.clone());
        async move { Ok::<_, Infallible>(unwrapped(router.call(request.map(Body::new)).await)) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    let timer = TokioTimer::new();
    builder.http1().timer(timer.clone()).header_read_timeout(limits::HEAD_WAIT);
    builder
        .http2()
        .timer(timer)
        .max_concurrent_streams(limits::STREAMS_EACH)
        .keep_alive_interval(limits::ALIVE)
        .keep_alive_timeout(limits::HEAD_WAIT);
    let mut serving = std::pin::pin!(builder.serve_connection(io, service));
    tokio::select! {
        served = serving.as_mut() => {
            if let Err(error) = served {
                tracing::debug!(%error, "a connection has ended");
            }
            return;
        }
        _ = closing.wait_for(|closing| *closing) => {}
    }
    serving.as_mut().graceful_shutdown();
    // Streams have no end of their own.
    let _ = tokio::time::timeout(limits::LEAVE, serving).await;
}

fn unwrapped<T>(answer: Result<T, Infallible>) -> T {
    match answer {
        Ok(answer) => answer,
    }
}
