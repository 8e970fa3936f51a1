//! What can be said to `bowline serve`: on the command line, in the environment, in a file.
//!
//! Nothing has a default here: what is not said on the command line or in the environment may be
//! said in the file, and only then is it what it usually is (`crate::settings`).

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    num::{NonZeroU16, NonZeroU32},
    path::PathBuf,
    str::FromStr,
};

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::Place;

/// Serve Temporal's official SDKs, unmodified, from a store.
///
/// Workers and clients connect to this address as they would to a Temporal server:
///
///     bowline serve --store orders.db
///     # in Python:  client = await Client.connect("localhost:7233")
///
/// On Postgres any number of such servers share one database, behind one address:
///
///     bowline serve --store postgres://bowline@db/bowline --listen 0.0.0.0:7233 \
///         --tls-cert server.pem --tls-key server.key --keys keys.json
///
/// A cancel is pushed to the running activity at once; no heartbeat is needed. Everything that was
/// acknowledged is in the store: after a crash, start the server again. On SIGTERM or Ctrl-C it
/// takes no more work, lets calls in flight finish, and leaves; a second signal ends it at once.
/// docs/temporal.md lists the calls that are answered, docs/operating.md says how to run it.
///
/// You can also set every option in the environment, or in a file with `--config bowline.toml`,
/// under the same name with underscores for dashes (`keep_days = 30`). The command line wins over
/// the environment, the environment over the file. An unknown name is an error.
///
/// An address that other machines can reach needs encryption and credentials: docs/security.md says
/// how to set up both. Without them only this machine is listened to, unless you say `--insecure`.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// A file with options, in TOML.
    #[arg(long, env = "BOWLINE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// The options themselves.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    /// The store. A file is made if it is missing, and belongs to this process while it runs. A
    /// database, given as postgres://user@host/database, is shared by many; its password stands in
    /// the environment (PGPASSWORD) or in a file (--password-file). [default: bowline.db]
    #[arg(long, env = "BOWLINE_STORE", value_name = "PLACE", hide_env_values = true)]
    pub(crate) store: Option<Place>,
    /// Where else the schema of a database may be said.
    #[arg(skip)]
    pub(crate) schema: Option<String>,
    /// The address for SDKs. Port 0 takes any free port; the first line of output names it.
    /// [default: 127.0.0.1:7233]
    #[arg(long, env = "BOWLINE_LISTEN", value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// The address for the console, its API, /healthz, /readyz and /metrics, or `off`.
    /// [default: 127.0.0.1:8233]
    #[arg(long, env = "BOWLINE_HTTP", value_name = "ADDRESS")]
    pub(crate) http: Option<Http>,
    /// The namespace that runs live in, as clients must name it. [default: default]
    #[arg(long, env = "BOWLINE_NAMESPACE", value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Delete closed runs after this many days. Without it they are kept for ever.
    #[arg(long, env = "BOWLINE_KEEP_DAYS", value_name = "DAYS")]
    pub(crate) keep_days: Option<NonZeroU16>,
    /// How many seconds this server may be silent before others on the same database take over its
    /// work. [default: 30]
    #[arg(long, env = "BOWLINE_LEASE", value_name = "SECONDS")]
    pub(crate) lease: Option<NonZeroU16>,
    /// How many seconds calls in flight have to finish after SIGTERM. [default: 10]
    #[arg(long, env = "BOWLINE_GRACE", value_name = "SECONDS")]
    pub(crate) grace: Option<u16>,
    /// Connections to a database for calls; up to six more are used for leases, hints and lists.
    /// [default: 8]
    #[arg(long, env = "BOWLINE_CONNECTIONS", value_name = "COUNT")]
    pub(crate) connections: Option<NonZeroU16>,
    /// The longest message to read, in bytes. [default: 16777216]
    #[arg(long, env = "BOWLINE_MESSAGE_MAX", value_name = "BYTES")]
    pub(crate) message_max: Option<NonZeroU32>,
    /// How many seconds a poll for work waits before it is answered empty. [default: 60]
    #[arg(long, env = "BOWLINE_POLL_WAIT", value_name = "SECONDS")]
    pub(crate) poll_wait: Option<NonZeroU16>,
    /// How many calls may be in flight at once, waiting polls included. More are refused, and SDKs
    /// try again. [default: 100000]
    #[arg(long, env = "BOWLINE_CALLS_MAX", value_name = "COUNT")]
    pub(crate) calls_max: Option<NonZeroU32>,
    /// How many of these may be one connection's: half of them at most. Further calls wait at the
    /// client. [default: 10000]
    #[arg(long, env = "BOWLINE_CALLS_EACH", value_name = "COUNT")]
    pub(crate) calls_each: Option<NonZeroU32>,
    /// How many clients and workers may be connected at once. Further ones wait until there is
    /// room. [default: 10000, or what the limit of open files leaves]
    #[arg(long, env = "BOWLINE_CLIENTS_MAX", value_name = "COUNT")]
    pub(crate) clients_max: Option<NonZeroU32>,
    /// How many of them may come from one address. Further ones are ended. Where all come through
    /// one proxy, as many as there may be. [default: half of them]
    #[arg(long, env = "BOWLINE_CLIENTS_EACH", value_name = "COUNT")]
    pub(crate) clients_each: Option<NonZeroU32>,
    /// How many bytes calls in flight may have in memory, with their answers. More are refused, and
    /// SDKs try again. [default: 268435456]
    #[arg(long, env = "BOWLINE_BYTES_MAX", value_name = "BYTES")]
    pub(crate) bytes_max: Option<NonZeroU32>,
    /// How many seconds a new connection has to make its first call. [default: 10]
    #[arg(long, env = "BOWLINE_HELLO_WAIT", value_name = "SECONDS")]
    pub(crate) hello_wait: Option<NonZeroU16>,
    /// How many seconds the message of a call has to arrive, and an answer to be taken.
    /// [default: 30]
    #[arg(long, env = "BOWLINE_ARRIVAL_WAIT", value_name = "SECONDS")]
    pub(crate) arrival_wait: Option<NonZeroU16>,
    /// After how many seconds a connection is asked to make room for a new one, so that clients
    /// spread over servers that were replaced; 0 for never. Calls in flight are finished.
    /// [default: 300]
    #[arg(long, env = "BOWLINE_CONNECTION_AGE", value_name = "SECONDS")]
    pub(crate) connection_age: Option<u32>,
    /// The largest input, header, memo or details that a client may send, in bytes: 2097152 at
    /// most. A file may say it for single namespaces: `[payloads.NAME] max = ..., warn = ...`.
    /// [default: 2097152]
    #[arg(long, env = "BOWLINE_PAYLOAD_MAX", value_name = "BYTES")]
    pub(crate) payload_max: Option<NonZeroU32>,
    /// From how many bytes on one is written of in the log. [default: 524288]
    #[arg(long, env = "BOWLINE_PAYLOAD_WARN", value_name = "BYTES")]
    pub(crate) payload_warn: Option<NonZeroU32>,
    /// The same for single namespaces, in a file only.
    #[arg(skip)]
    pub(crate) payloads: Option<BTreeMap<String, Payloads>>,
    /// How much to write to standard error. [default: warn]
    #[arg(long, env = "BOWLINE_LOG", value_enum, value_name = "LEVEL")]
    pub(crate) log: Option<LogLevel>,
    /// The server's certificate, in PEM, with those between it and its root. Read again when it
    /// changes, as all of these files.
    #[arg(long, env = "BOWLINE_TLS_CERT", value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate, in PEM.
    #[arg(long, env = "BOWLINE_TLS_KEY", value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The roots of clients' certificates, in PEM. Where there are neither API keys nor tokens,
    /// every client must have a certificate, and may do everything.
    #[arg(long, env = "BOWLINE_TLS_CLIENT_CA", value_name = "FILE")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// API keys, and what the names of clients' certificates may do: a file that `bowline key`
    /// writes.
    #[arg(long, env = "BOWLINE_KEYS", value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// The public keys of tokens (JWT): a file with a JWKS or with PEM, or the URL of a JWKS.
    #[arg(long, env = "BOWLINE_JWT_KEYS", value_name = "PLACE")]
    pub(crate) jwt_keys: Option<String>,
    /// Who must have made tokens (`iss`).
    #[arg(long, env = "BOWLINE_JWT_ISSUER", value_name = "NAME")]
    pub(crate) jwt_issuer: Option<String>,
    /// For whom tokens must be (`aud`).
    #[arg(long, env = "BOWLINE_JWT_AUDIENCE", value_name = "NAME")]
    pub(crate) jwt_audience: Option<String>,
    /// Where refused and state-changing requests are written down, a line of JSON each: a file, or
    /// `-` for standard error. What cannot be written down is not done. [default: -]
    #[arg(long, env = "BOWLINE_AUDIT", value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// How many runs one request may touch before somebody else must confirm it. [default: 1000]
    #[arg(long, env = "BOWLINE_BULK_MAX", value_name = "COUNT")]
    pub(crate) bulk_max: Option<u64>,
    /// Listen where others can reach it although nothing of ours keeps them out: something else
    /// does.
    #[arg(long, env = "BOWLINE_INSECURE", value_name = "BOOL", num_args = 0..=1,
          require_equals = true, default_missing_value = "true")]
    pub(crate) insecure: Option<bool>,
    /// Where else the file with the password of a database may be said.
    #[arg(skip)]
    pub(crate) password_file: Option<PathBuf>,
}

impl Options {
    /// What is said here, and where nothing is, what is said there.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            store: self.store.or(other.store),
            schema: self.schema.or(other.schema),
            listen: self.listen.or(other.listen),
            http: self.http.or(other.http),
            namespace: self.namespace.or(other.namespace),
            keep_days: self.keep_days.or(other.keep_days),
            lease: self.lease.or(other.lease),
            grace: self.grace.or(other.grace),
            connections: self.connections.or(other.connections),
            message_max: self.message_max.or(other.message_max),
            poll_wait: self.poll_wait.or(other.poll_wait),
            calls_max: self.calls_max.or(other.calls_max),
            calls_each: self.calls_each.or(other.calls_each),
            clients_max: self.clients_max.or(other.clients_max),
            clients_each: self.clients_each.or(other.clients_each),
            bytes_max: self.bytes_max.or(other.bytes_max),
            hello_wait: self.hello_wait.or(other.hello_wait),
            arrival_wait: self.arrival_wait.or(other.arrival_wait),
            connection_age: self.connection_age.or(other.connection_age),
            payload_max: self.payload_max.or(other.payload_max),
            payload_warn: self.payload_warn.or(other.payload_warn),
            payloads: self.payloads.or(other.payloads),
            log: self.log.or(other.log),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            tls_client_ca: self.tls_client_ca.or(other.tls_client_ca),
            keys: self.keys.or(other.keys),
            jwt_keys: self.jwt_keys.or(other.jwt_keys),
            jwt_issuer: self.jwt_issuer.or(other.jwt_issuer),
            jwt_audience: self.jwt_audience.or(other.jwt_audience),
            audit: self.audit.or(other.audit),
            bulk_max: self.bulk_max.or(other.bulk_max),
            insecure: self.insecure.or(other.insecure),
            password_file: self.password_file.or(other.password_file),
        }
    }
}

/// How large what is sent for a namespace may be.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Payloads {
    /// What is larger is refused.
    pub(crate) max: Option<NonZeroU32>,
    /// What is larger is written of in the log.
    pub(crate) warn: Option<NonZeroU32>,
}

/// Where HTTP is served, if anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Http {
    /// Nowhere.
    Off,
    /// Here.
    At(SocketAddr),
}

impl FromStr for Http {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            _ => text.parse().map(Self::At).map_err(|_| {
                format!("{text:?} is neither an address, as 127.0.0.1:8233, nor `off`")
            }),
        }
    }
}

impl TryFrom<String> for Http {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// How much is told.
#[derive(Clone, Copy, Debug, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    /// Only errors.
    Error,
    /// What you should look at.
    Warn,
    /// What happens.
    Info,
    /// What happens, in detail.
    Debug,
}
