//! Who may call what: the layer in front of all calls, and what a request asks before it is read.
//!
//! In:    the path and headers of a call, then the bytes of its request.
//! Out:   a refusal; or the request, signed with its caller's name.
//! Never: a list of requests: namespaces and identities are found by their names in the
//!        descriptors, so that a call that is added is held to its rights already.

mod asked;
mod table;

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use bowline_access::{AccessLayer, AccessService, Keeper, Peer, Refused, Row, Ticket};
use prost::Name;
use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, Service, http},
    server::NamedService,
};
use tower_layer::Layer;

use crate::{serve::Connection, status::Answer};
pub use table::{ROWS, row};

/// The door as the layer sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grpc;

impl Keeper<Body, Body> for Grpc {
    fn row(&self, request: &http::Request<Body>) -> Option<Row> {
        row(request.uri().path())
    }

    fn peer(&self, request: &http::Request<Body>) -> Arc<Peer> {
        let connection = request.extensions().get::<Arc<Connection>>();
        connection.map_or_else(|| Peer::named("grpc", "unknown".into()), |one| one.peer.clone())
    }

    fn refuse(&self, why: &Refused) -> http::Response<Body> {
        status(why).into_http()
    }

    fn failure(&self, answer: &http::Response<Body>) -> Option<String> {
        let status = Status::from_header_map(answer.headers())?;
        (status.code() != tonic::Code::Ok).then(|| status.code().to_string())
    }
}

/// A refusal, as SDKs read it.
pub(crate) fn status(why: &Refused) -> Status {
    match why {
        why if why.is_unknown() => Status::unauthenticated(why.to_string()),
        Refused::Unaudited => Status::unavailable(why.to_string()),
        why => Status::permission_denied(why.to_string()),
    }
}

/// A service behind the layer.
#[derive(Clone)]
pub(crate) struct Admitted<S>(AccessService<S, Grpc>);

impl<S> Admitted<S> {
    pub(crate) fn new(access: &Arc<bowline_access::Access>, service: S) -> Self {
        Self(AccessLayer::new(access.clone(), Grpc).layer(service))
    }
}

impl<S: NamedService> NamedService for Admitted<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Admitted<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.0.call(request)
    }
}

/// Looks at a request that is about to be read. The answer is to be read behind it: it says who
/// asks, and what comes last counts. Nothing is done where nobody is asked for credentials.
pub(crate) fn enter<M: Name>(bytes: &[u8]) -> Answer<Vec<u8>> {
    let Some(ticket) = Ticket::current() else { return Ok(Vec::new()) };
    let subject = asked::Subject::of::<M>(bytes);
    ticket.check(&subject.asked()).map_err(|why| status(&why))?;
    Ok(ticket.caller().map(|caller| subject.signature(caller)).unwrap_or_default())
}

/// Whether whoever asks may see a namespace among others.
pub(crate) fn may_see(namespace: &str) -> bool {
    use bowline_access::Right::{Read, Work};
    let may = |caller: &bowline_access::Caller| {
        caller.may(Read, namespace) || caller.may(Work, namespace)
    };
    Ticket::current().is_none_or(|ticket| ticket.caller().is_some_and(may))
}

#[cfg(test)]
mod tests;
