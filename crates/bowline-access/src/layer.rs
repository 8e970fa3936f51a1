//! The same for every protocol that comes as HTTP: a layer that lets requests in.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Extensions, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::{Access, Asked, Peer, Refused, Row, Ticket};

/// What a door knows of its own protocol.
pub trait Keeper<Q, A>: Clone + Send + Sync + 'static {
    /// The line of its table that a request falls under.
    fn row(&self, request: &Request<Q>) -> Option<Row>;

    /// The other end of the connection.
    fn peer(&self, request: &Request<Q>) -> Arc<Peer>;

    /// A refusal in its own words.
    fn refuse(&self, why: &Refused) -> Response<A>;

    /// Why an answer says that nothing was done; none if it does not.
    fn failure(&self, answer: &Response<A>) -> Option<String>;

    /// What a request asks, where that can be said before it is read. Where it cannot, whoever
    /// reads it must [check](crate::Ticket::check) it.
    fn subject(&self, _: &Request<Q>) -> Option<Subject> {
        None
    }

    /// Leaves word of who asks, for whoever answers.
    fn admitted(&self, _: &Ticket, _: &mut Extensions) {}
}

/// What a request is about, as far as its address says.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The namespace that it names.
    pub namespace: String,
    /// What it is done to.
    pub target: String,
    /// Its own id, if it has one.
    pub request_id: String,
}

impl Subject {
    fn asked(&self) -> Asked<'_> {
        let Self { namespace, target, request_id } = self;
        Asked { namespace, target, request_id, ..Asked::default() }
    }
}

/// Lets requests in whose callers are known, under a [`Ticket`](crate::Ticket) that is there
/// wherever they are answered, and among the request's extensions.
#[derive(Clone)]
pub struct AccessLayer<K> {
    access: Arc<Access>,
    keeper: K,
}

impl<K> AccessLayer<K> {
    /// A layer for a door.
    pub fn new(access: Arc<Access>, keeper: K) -> Self {
        Self { access, keeper }
    }
}

impl<K> fmt::Debug for AccessLayer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLayer").field("access", &self.access).finish_non_exhaustive()
    }
}

impl<S, K: Clone> Layer<S> for AccessLayer<K> {
    type Service = AccessService<S, K>;

    fn layer(&self, service: S) -> Self::Service {
        AccessService { layer: self.clone(), service }
    }
}

/// A service behind such a layer.
#[derive(Clone, Debug)]
pub struct AccessService<S, K> {
    layer: AccessLayer<K>,
    service: S,
}

impl<S, K, Q, A> Service<Request<Q>> for AccessService<S, K>
where
    S: Service<Request<Q>, Response = Response<A>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    K: Keeper<Q, A>,
    Q: Send + 'static,
{
    type Response = Response<A>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        // The one that was found ready answers; the other one is ready for the next.
        let next = self.service.clone();
        let mut service = std::mem::replace(&mut self.service, next);
        let AccessLayer { access, keeper } = self.layer.clone();
        Box::pin(async move {
            let (row, peer) = (keeper.row(&request), keeper.peer(&request));
            let call = row.map_or_else(|| request.uri().path().to_owned(), |row| row.call.into());
            match access.admit(row, &call, &peer, request.headers()).await {
                Ok(ticket) => {
                    if let Some(subject) = keeper.subject(&request)
                        && let Err(why) = ticket.check(&subject.asked())
                    {
                        return Ok(keeper.refuse(&why));
                    }
                    request.extensions_mut().insert(ticket.clone());
                    keeper.admitted(&ticket, request.extensions_mut());
                    // Whatever is answered further in must not take the credentials with it.
                    request.headers_mut().remove(http::header::AUTHORIZATION);
                    request.headers_mut().remove(http::header::COOKIE);
                    let answer = ticket.clone().scope(service.call(request)).await?;
                    if ticket.is_change()
                        && let Some(why) = keeper.failure(&answer)
                    {
                        ticket.failed(&why);
                    }
                    Ok(answer)
                }
                Err(why) => Ok(keeper.refuse(&why)),
            }
        })
    }
}
