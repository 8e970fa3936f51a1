//! One connection: what it may have of everything, and when it is ended.

use std::{
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bowline_access::{Peer, Secured};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};
use tonic::transport::server::Connected;

use super::{address::Seat, calls::Meter};

/// What is known of a connection wherever a call of it is.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) calls: AtomicUsize,
    pub(super) bytes: AtomicUsize,
    /// It has begun a call.
    has_called: AtomicBool,
    /// Answers that have not left as a whole.
    leaving: AtomicUsize,
    /// When bytes of an answer last left, in milliseconds since it began.
    moved: AtomicU64,
    begun: Instant,
    /// The other end.
    pub(crate) peer: Arc<Peer>,
}

impl Connection {
    pub(super) fn new(peer: Arc<Peer>) -> Self {
        Self {
            peer,
            calls: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            has_called: AtomicBool::new(false),
            leaving: AtomicUsize::new(0),
            moved: AtomicU64::new(0),
            begun: Instant::now(),
        }
    }

    /// A call has begun.
    pub(super) fn calls(&self) {
        self.has_called.store(true, Ordering::Release);
    }

    /// There is an answer to be sent.
    pub(super) fn answers(&self) {
        if self.leaving.fetch_add(1, Ordering::AcqRel) == 0 {
            self.moves();
        }
    }

    /// Bytes of an answer leave.
    pub(super) fn moves(&self) {
        self.moved.store(self.age(), Ordering::Release);
    }

    /// An answer has left, or never will. That says nothing of the others: whoever begins calls and
    /// takes them back has taken nothing.
    pub(super) fn answered(&self) {
        self.leaving.fetch_sub(1, Ordering::AcqRel);
    }

    /// There are answers, and for so long nothing of any of them was taken.
    fn is_stuck(&self, patience: Duration) -> bool {
        let waits = self.age().saturating_sub(self.moved.load(Ordering::Acquire));
        self.leaving.load(Ordering::Acquire) > 0 && u128::from(waits) > patience.as_millis()
    }

    fn age(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A connection's bytes, until it says nothing for too long, or takes nothing.
#[derive(Debug)]
pub(super) struct Guarded {
    stream: Secured<TcpStream>,
    connection: Arc<Connection>,
    meter: Arc<Meter>,
    /// Its place among all connections.
    _place: Seat,
    patience: Duration,
    /// Until it must have begun a call; then none.
    hello: Option<Pin<Box<Sleep>>>,
    /// Since when it takes nothing; none while it does.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Guarded {
    pub(super) fn new(
        stream: Secured<TcpStream>,
        peer: Arc<Peer>,
        place: Seat,
        meter: &Arc<Meter>,
    ) -> Self {
        meter.connected();
        Self {
            stream,
            connection: Arc::new(Connection::new(peer)),
            meter: meter.clone(),
            _place: place,
            patience: meter.room().arrival,
            hello: Some(Box::pin(sleep(meter.room().hello))),
            stalled: None,
        }
    }

    /// Why it is ended, if it is.
    fn is_over(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Some(hello) = &mut self.hello {
            if self.connection.has_called.load(Ordering::Acquire) {
                self.hello = None;
            } else if hello.as_mut().poll(cx).is_ready() {
                return Err(late("no call was begun"));
            }
        }
        // Looked at whenever something comes, which a living connection sees to: it is asked.
        match self.connection.is_stuck(self.patience) {
            true => Err(late("answers were not taken")),
            false => Ok(()),
        }
    }

    fn wrote<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(late("nothing was read"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

fn late(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.meter.disconnected();
    }
}

impl Connected for Guarded {
    type ConnectInfo = Arc<Connection>;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.connection.clone()
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_over(cx)?;
        pin!(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = pin!(&mut self.stream).poll_write(cx, bytes);
        self.wrote(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = pin!(&mut self.stream).poll_write_vectored(cx, slices);
        self.wrote(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        pin!(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        pin!(&mut self.stream).poll_shutdown(cx)
    }
}
