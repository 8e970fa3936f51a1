//! HTTP to the server, on connections that are kept.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

/// A client of the server's own address.
#[derive(Clone)]
pub(crate) struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
    base: String,
}

impl Http {
    pub(crate) fn new(port: u16) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Self { client, base: format!("http://127.0.0.1:{port}") }
    }

    /// Sends a request; the answer whatever its status.
    pub(crate) async fn any(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes)> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let response = self.client.request(request.body(Full::from(body))?).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    /// Sends a request that must succeed.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Bytes> {
        let (status, bytes) = self.any(method, path, key, body).await?;
        if !status.is_success() {
            bail!("{path}: {status}: {}", String::from_utf8_lossy(&bytes));
        }
        Ok(bytes)
    }

    /// The text of one field of a JSON answer.
    pub(crate) fn field(bytes: &[u8], name: &str) -> Result<String> {
        let value: serde_json::Value = serde_json::from_slice(bytes)?;
        let text = value.get(name).and_then(serde_json::Value::as_str);
        Ok(text.with_context(|| format!("the answer has no {name}: {value}"))?.to_owned())
    }
}
