//! Work that was taken for a caller, until the answer that carries it has left.
//!
//! A worker may be gone by the time its turn is ready: then nobody works on it, and it would wait
//! until its time is up. What did not leave is given back at once.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use parking_lot::Mutex;
use tonic::{
    Status,
    body::Body,
    codegen::{Body as HttpBody, BoxFuture, Service, http},
    server::NamedService,
};

use super::{arriving::Arriving, calls::Meter, connection::Connection, large};
use crate::{bound::Weight, limits};

type Back = Pin<Box<dyn Future<Output = ()> + Send>>;

tokio::task_local! {
    /// The call that this task is about.
    static CALL: Handover;
}

/// How large an answer is, as it travels with it.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing(pub(crate) usize);

/// Where a call leaves word of what it has taken. Dropped with the call and its answer.
#[derive(Clone)]
pub(crate) struct Handover(Arc<Undelivered>);

struct Undelivered {
    backs: Mutex<Vec<Back>>,
    meter: Arc<Meter>,
    connection: Option<Arc<Connection>>,
    /// How many bytes it has in memory.
    bytes: AtomicUsize,
    /// The largest of what it brings for a history.
    blob: AtomicUsize,
}

impl Handover {
    /// For one more call; none if too many are in flight.
    fn new(meter: &Arc<Meter>, connection: Option<Arc<Connection>>) -> Option<Self> {
        let is_let_in = meter.enter(connection.as_deref());
        is_let_in.then(|| {
            Self(Arc::new(Undelivered {
                backs: Mutex::default(),
                meter: meter.clone(),
                connection,
                bytes: AtomicUsize::new(0),
                blob: AtomicUsize::new(0),
            }))
        })
    }

    /// The call that this task is about; none if it did not come over the network.
    pub(crate) fn current() -> Option<Self> {
        CALL.try_with(Self::clone).ok()
    }

    /// This was taken; if the answer does not leave, this gives it back.
    pub(crate) fn hold(&self, back: impl Future<Output = ()> + Send + 'static) {
        self.0.backs.lock().push(Box::pin(back));
    }

    /// The answer has left.
    fn left(&self) {
        self.0.backs.lock().clear();
    }

    /// So many bytes more are in memory for it.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), Status> {
        let held = &*self.0;
        match held.meter.charge(held.connection.as_deref(), bytes) {
            true => {
                held.bytes.fetch_add(bytes, Ordering::AcqRel);
                Ok(())
            }
            false => {
                let why = "calls in flight have too many bytes at this server; ask again";
                Err(Status::resource_exhausted(why))
            }
        }
    }

    /// What it asks will be as large as this in memory.
    pub(crate) fn weighs(&self, weight: Weight) -> Result<(), Status> {
        self.0.blob.store(weight.blob, Ordering::Release);
        let known = self.0.bytes.load(Ordering::Acquire);
        self.charge(weight.bytes.saturating_sub(known))
    }

    /// The largest of what it brings for a history.
    pub(crate) fn blob(&self) -> usize {
        self.0.blob.load(Ordering::Acquire)
    }

    /// Its answer is as large as this. One that there is no room for does not leave: what was
    /// taken for it is given back. What is small always leaves.
    fn answers(&self, bytes: usize) -> Result<(), Status> {
        let held = &*self.0;
        match bytes <= limits::BYTES_OWN {
            true => {
                held.meter.carry(held.connection.as_deref(), bytes);
                held.bytes.fetch_add(bytes, Ordering::AcqRel);
            }
            false => self.charge(bytes)?,
        }
        if let Some(connection) = &held.connection {
            connection.answers();
        }
        Ok(())
    }

    fn connection(&self) -> Option<&Connection> {
        self.0.connection.as_deref()
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        let backs = std::mem::take(self.backs.get_mut());
        let connection = self.connection.as_deref();
        self.meter.discharge(connection, *self.bytes.get_mut());
        self.meter.leave(connection, backs.len());
        // Without a runtime the process ends, and what is out times out.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for back in backs {
            runtime.spawn(back);
        }
    }
}

/// A service whose calls are counted, and can leave word of what they have taken.
#[derive(Clone)]
pub(super) struct Watched<S> {
    pub(super) service: S,
    pub(super) meter: Arc<Meter>,
}

impl<S: NamedService> NamedService for Watched<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Watched<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let connection = request.extensions().get::<Arc<Connection>>().cloned();
        if let Some(connection) = &connection {
            connection.calls();
        }
        let Some(handover) = Handover::new(&self.meter, connection) else {
            let why = Status::resource_exhausted("too many calls are in flight at this server");
            return refused(why);
        };
        if let Err(why) = handover.charge(weight(request.headers())) {
            return refused(why);
        }
        let (method, meter) = (Meter::method(request.uri().path()), self.meter.clone());
        let patience = meter.room().arrival;
        let call = handover.clone();
        let mut request =
            request.map(|body| Body::new(Arriving { body, call, patience, until: None }));
        request.extensions_mut().insert(handover.clone());
        let answering = CALL.scope(handover.clone(), self.service.call(request));
        Box::pin(async move {
            let answer = large::reworded(answering.await?);
            let bytes = answer.extensions().get().map_or(0, |Outgoing(bytes)| *bytes);
            let answer = match handover.answers(bytes) {
                Ok(()) => answer.map(|body| Body::new(Leaving { body, handover })),
                Err(why) => why.into_http(),
            };
            meter.answered(method, answer.headers());
            Ok(answer)
        })
    }
}

fn refused(why: Status) -> BoxFuture<http::Response<Body>, Infallible> {
    Box::pin(async move { Ok(why.into_http()) })
}

/// How many bytes headers have.
fn weight(headers: &http::HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

/// An answer on its way.
struct Leaving {
    body: Body,
    handover: Handover,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(connection) = self.handover.connection() {
            connection.answered();
        }
    }
}

impl HttpBody for Leaving {
    type Data = <Body as HttpBody>::Data;
    type Error = <Body as HttpBody>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            // The last frame of an answer says how it went.
            Poll::Ready(Some(Ok(frame))) if frame.is_trailers() => self.handover.left(),
            Poll::Ready(None) => self.handover.left(),
            _ => {}
        }
        // Only bytes count: an answer without any leaves however little the other side takes.
        let takes = matches!(&polled, Poll::Ready(Some(Ok(frame))) if frame.is_data());
        if let Some(connection) = self.handover.connection().filter(|_| takes) {
            connection.moves();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{limits::Limits, serve::calls::Room};

    fn meter() -> Arc<Meter> {
        Arc::new(Meter::new(Room::of(&Limits { calls: 1, ..Limits::default() })))
    }

    /// A service that takes something, and answers.
    #[derive(Clone, Default)]
    struct Takes(Arc<AtomicUsize>);

    impl Service<http::Request<Body>> for Takes {
        type Response = http::Response<Body>;
        type Error = Infallible;
        type Future = BoxFuture<Self::Response, Infallible>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: http::Request<Body>) -> Self::Future {
            let handover = request.extensions().get::<Handover>().expect("it is there").clone();
            let back = self.0.clone();
            handover.hold(async move {
                back.fetch_add(1, Ordering::Relaxed);
            });
            Box::pin(async { Ok(http::Response::new(Body::new("taken".to_owned()))) })
        }
    }

    async fn given_back(read: bool) -> usize {
        let takes = Takes::default();
        let meter = meter();
        let mut watched = Watched { service: takes.clone(), meter: meter.clone() };
        let answer = watched.call(http::Request::new(Body::empty())).await;
        let mut body = answer.expect("it cannot fail").into_body();
        if read {
            let mut frames = 0;
            while std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.is_some() {
                frames += 1;
            }
            assert_eq!(frames, 1, "it was said in one piece");
        }
        drop(body);
        // What is given back is given on the runtime.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let calls = meter.snapshot();
        assert_eq!((calls.in_flight, calls.given_back), (0, u64::from(!read)));
        takes.0.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn a_call_too_many_is_refused() {
        let meter = meter();
        let mut watched = Watched { service: Takes::default(), meter: meter.clone() };
        let first = watched.call(http::Request::new(Body::empty())).await;
        let second = watched.call(http::Request::new(Body::empty())).await;
        let second = second.expect("it cannot fail");
        let status = second.headers().get("grpc-status").expect("it is refused");
        assert_eq!(status, "8");
        drop((first, second));
        let third = watched.call(http::Request::new(Body::empty())).await;
        assert!(third.expect("it cannot fail").headers().get("grpc-status").is_none());
        assert_eq!(meter.snapshot().refused, 1);
    }

    #[tokio::test]
    async fn what_did_not_leave_is_given_back() {
        assert_eq!(given_back(false).await, 1);
        assert_eq!(given_back(true).await, 0);
    }
}
