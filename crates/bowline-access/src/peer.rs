//! The other end of a connection.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

/// What a connection has shown by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// A certificate that one of the accepted authorities has signed, with the names in it.
    Certificate(Vec<String>),
    /// A user of this machine, over a socket that only those can open who can open the store.
    User(String),
}

/// The other end of a connection, wherever a request of it is.
#[derive(Debug)]
pub struct Peer {
    door: &'static str,
    address: String,
    proof: OnceLock<Proof>,
}

impl Peer {
    /// Somebody at an address, at this door (`grpc`, `http`).
    pub fn new(door: &'static str, address: SocketAddr) -> Arc<Self> {
        Self::named(door, address.to_string())
    }

    /// Somebody who has no address.
    pub fn named(door: &'static str, address: String) -> Arc<Self> {
        Arc::new(Self { door, address, proof: OnceLock::new() })
    }

    /// A user of this machine, at a socket that only those can open who may.
    pub fn user(door: &'static str, name: &str) -> Arc<Self> {
        let peer = Self::named(door, "socket".to_owned());
        peer.shows(Proof::User(name.to_owned()));
        peer
    }

    /// Which door.
    pub fn door(&self) -> &'static str {
        self.door
    }

    /// Where it is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The connection has shown this. The first word stays.
    pub(crate) fn shows(&self, proof: Proof) {
        let _ = self.proof.set(proof);
    }

    /// What the connection has shown, if anything.
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.get()
    }
}
