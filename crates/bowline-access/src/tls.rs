//! Encryption: one acceptor for every port, whose certificates are read again when their files
//! change.

mod stream;

use std::{path::PathBuf, sync::Arc};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use crate::{Peer, Unusable, file::Files};
pub use stream::Secured;

/// What is spoken inside, the first one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The files of a server, all in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Its certificate, and those between it and the root.
    pub certificate: PathBuf,
    /// The key of it.
    pub key: PathBuf,
    /// The roots of clients' certificates, where clients have some.
    pub client_ca: Option<PathBuf>,
    /// Whether a client without a certificate is let in, to show by other means who it is.
    pub is_client_optional: bool,
}

/// Encrypts connections.
pub struct Tls(Files<Arc<ServerConfig>>);

impl Tls {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// If one of them does not read, or the key is of another certificate.
    pub fn open(files: TlsFiles) -> Result<Self, Unusable> {
        let optional = files.is_client_optional;
        let mut paths = vec![files.certificate, files.key];
        paths.extend(files.client_ca);
        Ok(Self(Files::open(paths, move |contents| config(contents, optional))?))
    }

    /// A connection that will be encrypted. The handshake happens when it is first read or
    /// written, so that whoever accepts connections waits for nobody.
    pub fn accept<IO>(&self, io: IO, peer: Arc<Peer>) -> Secured<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        Secured::shaking(TlsAcceptor::from((*self.0.now()).clone()).accept(io), peer)
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn config(contents: &[Vec<u8>], is_optional: bool) -> Result<Arc<ServerConfig>, String> {
    let said = |why: rustls::Error| why.to_string();
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(said)?;
    let builder = match contents.get(2) {
        Some(roots) => builder.with_client_cert_verifier(verifier(roots, is_optional)?),
        None => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::from_pem_slice(&contents[1])
        .map_err(|why| format!("there is no private key in PEM in it: {why}"))?;
    let mut config = builder.with_single_cert(certificates(&contents[0])?, key).map_err(said)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read.map_err(|why| why.to_string())? {
        none if none.is_empty() => Err("there is no certificate in PEM in it".into()),
        some => Ok(some),
    }
}

fn verifier(roots: &[u8], is_optional: bool) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut store = RootCertStore::empty();
    for root in certificates(roots)? {
        store.add(root).map_err(|why| why.to_string())?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider());
    let builder = if is_optional { builder.allow_unauthenticated() } else { builder };
    builder.build().map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests;
