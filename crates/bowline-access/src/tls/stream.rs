//! A connection, encrypted or not, whose handshake happens on its own time.

use std::{
    fmt, io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};
use tokio_rustls::{Accept, server::TlsStream};

use crate::{Peer, Proof, certificate, limits};

/// A connection as a door reads and writes it.
pub struct Secured<IO>(State<IO>);

enum State<IO> {
    Plain(IO),
    Shaking(Box<Shaking<IO>>),
    Open(Box<TlsStream<IO>>),
    /// The handshake has failed; nothing more is said.
    Over,
}

struct Shaking<IO> {
    accept: Accept<IO>,
    until: Pin<Box<Sleep>>,
    peer: Arc<Peer>,
}

impl<IO> Secured<IO> {
    /// One that is not encrypted.
    pub fn plain(io: IO) -> Self {
        Self(State::Plain(io))
    }

    pub(super) fn shaking(accept: Accept<IO>, peer: Arc<Peer>) -> Self {
        let until = Box::pin(sleep(limits::HANDSHAKE));
        Self(State::Shaking(Box::new(Shaking { accept, until, peer })))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Secured<IO> {
    /// Waits for the handshake, if there is one to wait for.
    fn poll_shaken(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let State::Shaking(shaking) = &mut self.0 else { return Poll::Ready(Ok(())) };
        let shaken = match pin!(&mut shaking.accept).poll(cx) {
            Poll::Pending => {
                ready!(shaking.until.as_mut().poll(cx));
                Err(io::Error::new(io::ErrorKind::TimedOut, "the handshake took too long"))
            }
            Poll::Ready(shaken) => shaken,
        };
        match shaken {
            Ok(stream) => {
                if let Some([own, ..]) = stream.get_ref().1.peer_certificates() {
                    shaking.peer.shows(Proof::Certificate(certificate::names(own)));
                }
                self.0 = State::Open(Box::new(stream));
                Poll::Ready(Ok(()))
            }
            Err(error) => {
                tracing::debug!(%error, peer = shaking.peer.address(), "a handshake failed");
                self.0 = State::Over;
                Poll::Ready(Err(error))
            }
        }
    }
}

fn over() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the handshake has failed")
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_shaken(cx))?;
        match &mut self.0 {
            State::Plain(io) => pin!(io).poll_read(cx, into),
            State::Open(io) => pin!(&mut **io).poll_read(cx, into),
            State::Shaking(_) | State::Over => Poll::Ready(Err(over())),
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_shaken(cx))?;
        match &mut self.0 {
            State::Plain(io) => pin!(io).poll_write(cx, bytes),
            State::Open(io) => pin!(&mut **io).poll_write(cx, bytes),
            State::Shaking(_) | State::Over => Poll::Ready(Err(over())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_shaken(cx))?;
        match &mut self.0 {
            State::Plain(io) => pin!(io).poll_write_vectored(cx, slices),
            State::Open(io) => pin!(&mut **io).poll_write_vectored(cx, slices),
            State::Shaking(_) | State::Over => Poll::Ready(Err(over())),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.0 {
            State::Plain(io) => io.is_write_vectored(),
            State::Open(io) => io.is_write_vectored(),
            // Asked before the handshake; the encrypted stream takes slices.
            State::Shaking(_) | State::Over => true,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            State::Plain(io) => pin!(io).poll_flush(cx),
            State::Open(io) => pin!(&mut **io).poll_flush(cx),
            State::Shaking(_) | State::Over => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            State::Plain(io) => pin!(io).poll_shutdown(cx),
            State::Open(io) => pin!(&mut **io).poll_shutdown(cx),
            State::Shaking(_) | State::Over => Poll::Ready(Ok(())),
        }
    }
}

impl<IO> fmt::Debug for Secured<IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            State::Plain(_) => "plain",
            State::Shaking(_) => "shaking",
            State::Open(_) => "open",
            State::Over => "over",
        };
        f.debug_tuple("Secured").field(&state).finish()
    }
}
