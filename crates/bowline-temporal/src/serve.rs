//! The port: HTTP/2, gzip, bounds on messages, and an end that loses nothing.

mod address;
mod arriving;
mod calls;
mod connection;
mod gate;
mod handover;
mod large;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bowline_access::{Access, Tls};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tonic::{
    codec::CompressionEncoding,
    transport::{Server, server::Router},
};

use crate::{
    Door,
    access::Admitted,
    limits::{self, Limits},
    stubs::{
        health::health_server::HealthServer,
        operator::operator_service_server::OperatorServiceServer,
        workflow::workflow_service_server::WorkflowServiceServer,
    },
};

pub use calls::Calls;
pub(crate) use calls::{Meter, Room};
pub(crate) use connection::Connection;
use handover::Watched;
pub(crate) use handover::{Handover, Outgoing};

/// Why the port could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        why: io::Error,
    },
    /// The registry of namespaces cannot be read or written.
    #[error("the namespaces cannot be read: {0}")]
    Namespaces(String),
    /// The server ended in a way of its own.
    #[error("the server ended: {0}")]
    Ended(String),
}

/// A door that is open to the network.
pub struct Listening {
    /// Where; the port is the real one, also where any was asked for.
    pub address: SocketAddr,
    door: Door,
    stop: CancellationToken,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Listening {
    /// Waits until the server has ended in a way of its own, which it should not.
    pub async fn ended(&mut self) -> ServeError {
        let ended = (&mut self.serving).await;
        flatten(ended).err().unwrap_or_else(|| ServeError::Ended("nobody asked it to".into()))
    }

    /// Hands out no more work, answers those that wait, lets calls in flight finish, and ends.
    /// Calls that do not end in this time are cut off: what they were to bring is given back.
    ///
    /// # Errors
    /// If the server had ended before, in a way of its own.
    pub async fn close(mut self, within: Duration) -> Result<(), ServeError> {
        self.door.drain();
        self.stop.cancel();
        match tokio::time::timeout(within, &mut self.serving).await {
            Ok(ended) => flatten(ended),
            Err(_) => {
                self.serving.abort();
                Ok(())
            }
        }
    }
}

fn flatten(
    ended: Result<Result<(), tonic::transport::Error>, tokio::task::JoinError>,
) -> Result<(), ServeError> {
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(ServeError::Ended(why.to_string())),
        Err(why) => Err(ServeError::Ended(why.to_string())),
    }
}

/// What keeps others out, if anything.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    /// Who may ask what; without it whoever reaches the port may ask everything.
    pub access: Option<Arc<Access>>,
    /// Encryption.
    pub tls: Option<Arc<Tls>>,
}

/// Opens a door to the network, for everybody who can reach it.
///
/// # Errors
/// If the address cannot be listened on, or the namespaces cannot be read.
pub async fn serve(door: Door, address: SocketAddr) -> Result<Listening, ServeError> {
    serve_protected(door, address, Protection::default()).await
}

/// Opens a door to the network.
///
/// # Errors
/// If the address cannot be listened on, or the namespaces cannot be read.
pub async fn serve_protected(
    door: Door,
    address: SocketAddr,
    protection: Protection,
) -> Result<Listening, ServeError> {
    door.register_own_namespace()
        .await
        .map_err(|why| ServeError::Namespaces(why.message().to_owned()))?;
    let cannot = |why| ServeError::Listen { address, why };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let stop = CancellationToken::new();
    let router = router(&door, protection.access.as_ref());
    let incoming = gate::connections(listener, door.meter(), protection.tls);
    let stopped = stop.clone().cancelled_owned();
    let serving = tokio::spawn(router.serve_with_incoming_shutdown(incoming, stopped));
    Ok(Listening { address, door, stop, serving })
}

/// All services; behind the layer that asks for credentials, where there is one.
fn router(door: &Door, access: Option<&Arc<Access>>) -> Router {
    let most = door.limits().message_in;
    let workflow = WorkflowServiceServer::new(door.clone())
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(most)
        .max_encoding_message_size(limits::MESSAGE_OUT);
    let operator = OperatorServiceServer::new(door.clone())
        .accept_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(most);
    let health = HealthServer::new(door.clone())
        .accept_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(most);
    let meter = door.meter();
    let mut server = bounded(door.limits(), &meter);
    match access {
        None => server
            .add_service(Watched { service: workflow, meter: meter.clone() })
            .add_service(Watched { service: operator, meter: meter.clone() })
            .add_service(Watched { service: health, meter }),
        Some(access) => server
            .add_service(Watched { service: Admitted::new(access, workflow), meter: meter.clone() })
            .add_service(Watched { service: Admitted::new(access, operator), meter: meter.clone() })
            .add_service(Watched { service: Admitted::new(access, health), meter }),
    }
}

/// HTTP/2 itself, with the bounds that it has for its connections. What it has none for is held by
/// `gate.rs`, `connection.rs` and `arriving.rs`.
fn bounded(limits: &Limits, meter: &Meter) -> Server {
    let server = Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .max_concurrent_streams(u32::try_from(meter.room().calls_each).unwrap_or(u32::MAX))
        .http2_max_header_list_size(limits::HEADERS)
        .http2_max_pending_accept_reset_streams(Some(limits::RESETS))
        .http2_max_local_error_reset_streams(Some(limits::ERRORS));
    match limits.age {
        // No time is set for what is in flight then: a poll is answered, and not cut off.
        Some(age) => server.max_connection_age(age),
        None => server,
    }
}
