//! A key set, read from a URL.

use std::sync::Arc;

use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::KeySet;
use crate::{Unusable, limits, tls};

/// Asks a URL for its keys.
pub(super) async fn keys(url: &str) -> Result<KeySet, Unusable> {
    let failed = |why: String| Unusable::Url { url: url.to_owned(), why };
    let asked = tokio::time::timeout(limits::KEY_SET_WAIT, get(url)).await;
    let bytes = asked.map_err(|_| failed("it does not answer".into()))?.map_err(failed)?;
    KeySet::read(&bytes).map_err(failed)
}

async fn get(url: &str) -> Result<Bytes, String> {
    let uri: Uri = url.parse().map_err(|_| "it is no URL".to_owned())?;
    let host = uri.host().ok_or("it names no host")?.trim_matches(['[', ']']).to_owned();
    match uri.scheme_str() {
        Some("https") => {
            let stream = connect(&host, uri.port_u16().unwrap_or(443)).await?;
            let name = ServerName::try_from(host).map_err(|_| "its host has no name".to_owned())?;
            let connecting = TlsConnector::from(client()?).connect(name, stream);
            ask(&uri, connecting.await.map_err(|why| why.to_string())?).await
        }
        // Keys that anybody on the way could replace would open every door.
        Some("http") if ["localhost", "127.0.0.1", "::1"].contains(&host.as_str()) => {
            ask(&uri, connect(&host, uri.port_u16().unwrap_or(80)).await?).await
        }
        _ => Err("only https:// is read, and http:// from this machine".into()),
    }
}

async fn connect(host: &str, port: u16) -> Result<TcpStream, String> {
    TcpStream::connect((host, port)).await.map_err(|why| why.to_string())
}

/// Trusts whom the system trusts.
fn client() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    let config = ClientConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .map_err(|why| why.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

async fn ask<S>(uri: &Uri, stream: S) -> Result<Bytes, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let said = |why: hyper::Error| why.to_string();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(said)?;
    let driving = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let request = Request::get(path)
        .header(header::HOST, host)
        .header(header::ACCEPT, "application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|why| why.to_string())?;
    let answer = sender.send_request(request).await.map_err(said)?;
    if answer.status() != StatusCode::OK {
        return Err(format!("it answers {}", answer.status()));
    }
    let most = usize::try_from(limits::FILE).unwrap_or(usize::MAX);
    let body = Limited::new(answer.into_body(), most).collect().await;
    driving.abort();
    Ok(body.map_err(|why| why.to_string())?.to_bytes())
}
