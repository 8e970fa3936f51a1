//! How connections are encrypted: as the URL says. `sslmode=disable` is not; `prefer`, the default,
//! is if the server can, and asks for no proof of who it is; `require`, `verify-ca` and
//! `verify-full` are, and all three ask for a certificate in the server's name. It has to come from
//! somebody whom the machine trusts, or, with `sslrootcert=file`, whom that file names.

use std::{str::FromStr, sync::Arc};

use bowline_store::Error;
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault::shown;

pub(crate) type Tls = MakeRustlsConnect;

/// Reads a URL: where the database is, and how it is spoken to.
pub(crate) fn read(url: &str) -> Result<(Config, Tls), Error> {
    let (url, root) = split(url);
    let config = Config::from_str(&url)
        .map_err(|error| Error::Open(format!("the URL does not read: {}", shown(&error))))?;
    let tls = tls(config.get_ssl_mode(), root.as_deref())?;
    Ok((config, tls))
}

/// Takes out of a URL what the driver does not know: who is trusted, and modes that mean here what
/// `require` does.
fn split(url: &str) -> (String, Option<String>) {
    let Some((place, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let (mut kept, mut root) = (Vec::new(), None);
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", file)) => {
                let file = percent_encoding::percent_decode_str(file).decode_utf8_lossy();
                root = Some(file.into_owned());
            }
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            _ => kept.push(pair),
        }
    }
    (format!("{place}?{}", kept.join("&")), root)
}

fn tls(mode: SslMode, root: Option<&str>) -> Result<Tls, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Open(format!("TLS cannot be used: {error}")))?;
    let config = match (mode, root) {
        (SslMode::Require, root) => {
            builder.with_root_certificates(roots(root)?).with_no_client_auth()
        }
        (_, Some(_)) => {
            let why = "sslrootcert says who is trusted, but nobody is asked for a proof: write \
                       sslmode=verify-full beside it";
            return Err(Error::Open(why.into()));
        }
        _ => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

/// What a file names, or else what the machine trusts. An unreadable certificate among the
/// machine's is not a reason to trust none.
fn roots(file: Option<&str>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file.filter(|file| *file != "system") else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let no = |why: String| Error::Open(format!("the certificates in {file} cannot be used: {why}"));
    for root in CertificateDer::pem_file_iter(file).map_err(|error| no(error.to_string()))? {
        let root = root.map_err(|error| no(error.to_string()))?;
        roots.add(root).map_err(|error| no(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(no("there is none in it".into())),
        false => Ok(roots),
    }
}

/// Takes any certificate: encrypted, but to whom is not known.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
