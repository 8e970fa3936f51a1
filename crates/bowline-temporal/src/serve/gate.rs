//! Who is let in: so many connections at once, so many of them of one address, and nobody while
//! the system has no room.

use std::{io, sync::Arc};

use bowline_access::{Peer, Secured, Tls};
use futures_util::{Stream, stream};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{Instant, sleep},
};

use super::{address::Addresses, calls::Meter, connection::Guarded};
use crate::limits;

/// The gate of one port.
struct Gate {
    listener: TcpListener,
    places: Arc<Semaphore>,
    addresses: Arc<Addresses>,
    meter: Arc<Meter>,
    tls: Option<Arc<Tls>>,
    told: Option<Instant>,
}

/// Connections as they come in. Those that there is no room for wait where the system has them,
/// until another one has gone.
pub(super) fn connections(
    listener: TcpListener,
    meter: Arc<Meter>,
    tls: Option<Arc<Tls>>,
) -> impl Stream<Item = io::Result<Guarded>> {
    let places = Arc::new(Semaphore::new(meter.room().connections.min(Semaphore::MAX_PERMITS)));
    let gate = Gate { listener, places, addresses: Arc::default(), meter, tls, told: None };
    stream::unfold(gate, |mut gate| async move { Some((Ok(gate.next().await), gate)) })
}

impl Gate {
    async fn next(&mut self) -> Guarded {
        let mut free = match self.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                self.pauses("there are as many connections as there may be");
                let place = self.places.clone().acquire_owned().await;
                place.expect("nobody closes it")
            }
        };
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let most = self.meter.room().connections_each;
                    let place = match self.addresses.place(from.ip(), most, free) {
                        Ok(place) => place,
                        Err(given_back) => {
                            free = given_back;
                            self.meter.crowds();
                            self.tells("one address has as many connections as it may");
                            continue;
                        }
                    };
                    // What is small is not to wait for more.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "a connection that will be slow");
                    }
                    let peer = Peer::new("grpc", from);
                    let stream = match &self.tls {
                        Some(tls) => tls.accept(stream, peer.clone()),
                        None => Secured::plain(stream),
                    };
                    return Guarded::new(stream, peer, place, &self.meter);
                }
                Err(error) if is_own(&error) => {}
                // Asked at once, the system would say the same again, and again.
                Err(error) => {
                    self.pauses(&error.to_string());
                    sleep(limits::ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Nobody is let in for a while.
    fn pauses(&mut self, why: &str) {
        self.meter.paused();
        self.tells(why);
    }

    /// Says why somebody waits or was sent away, now and then.
    fn tells(&mut self, why: &str) {
        let now = Instant::now();
        if self.told.is_none_or(|told| now.duration_since(told) >= limits::ACCEPT_TOLD) {
            self.told = Some(now);
            tracing::warn!(why, "a connection is not let in");
        }
    }
}

/// It is over with one connection, and says nothing of the next.
fn is_own(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
