//! What `bowline serve` does in the end: the command line wins over the environment, both over the
//! file, and what nobody has said is as it usually is.

use std::{
    net::SocketAddr,
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use bowline_temporal::limits::{Limits, Sizes};

use crate::{
    args::{Http, LogLevel, Options, Payloads, Serve},
    compose::{SCHEMA, Site},
    protect::Protect,
    secret,
};

/// How many files a server needs for itself: its store, its ports, its database.
const FILES_OWN: usize = 128;

/// Everything a server is told.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) site: Site,
    pub(crate) listen: SocketAddr,
    pub(crate) http: Option<SocketAddr>,
    pub(crate) namespace: String,
    pub(crate) kept: Option<Duration>,
    pub(crate) lease: Duration,
    pub(crate) grace: Duration,
    pub(crate) limits: Limits,
    pub(crate) log: LogLevel,
    pub(crate) protect: Protect,
}

impl Settings {
    /// Reads the file, if one is named, and puts everything together.
    pub(crate) fn of(
        serve: Serve,
        schema: Option<String>,
        password_file: Option<PathBuf>,
    ) -> Result<Self> {
        let said = Options { schema, password_file, ..serve.options };
        let file = match &serve.config {
            Some(path) => read(path)?,
            None => Options::default(),
        };
        said.or(file).settle()
    }
}

impl Options {
    fn settle(self) -> Result<Settings> {
        let seconds = |given: u16| Duration::from_secs(given.into());
        let limits = self.limits()?;
        let protect = self.protect();
        let secret = secret::password(self.password_file.as_deref())?;
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Ok(Settings {
            site: Site {
                place: match (self.store, secret) {
                    (Some(place), Some(secret)) => place.with_password(&secret),
                    (Some(place), None) => place,
                    (None, _) => "bowline.db".parse().map_err(anyhow::Error::msg)?,
                },
                schema: self.schema.unwrap_or_else(|| SCHEMA.to_owned()),
                connections: self.connections.map(|count| count.get().into()),
            },
            listen: self.listen.unwrap_or_else(|| local(7233)),
            http: match self.http {
                Some(Http::Off) => None,
                Some(Http::At(address)) => Some(address),
                None => Some(local(8233)),
            },
            namespace: self.namespace.unwrap_or_else(|| "default".to_owned()),
            kept: self.keep_days.map(|days| Duration::from_secs(u64::from(days.get()) * 24 * 3600)),
            lease: self.lease.map_or(Duration::from_secs(30), |lease| seconds(lease.get())),
            grace: self.grace.map_or(Duration::from_secs(10), seconds),
            limits,
            log: self.log.unwrap_or(LogLevel::Warn),
            protect,
        })
    }
}

impl Options {
    /// Who is let in.
    fn protect(&self) -> Protect {
        Protect {
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            tls_client_ca: self.tls_client_ca.clone(),
            keys: self.keys.clone(),
            jwt_keys: self.jwt_keys.clone(),
            jwt_issuer: self.jwt_issuer.clone(),
            jwt_audience: self.jwt_audience.clone(),
            audit: self.audit.clone(),
            bulk_max: self.bulk_max,
            is_insecure: self.insecure.unwrap_or(false),
        }
    }

    /// The bounds of the port for SDKs.
    fn limits(&self) -> Result<Limits> {
        let seconds = |given: u16| Duration::from_secs(given.into());
        let count = |given: Option<NonZeroU32>, usual: usize| {
            given.map_or(usual, |given| given.get() as usize)
        };
        let usual = Limits::default();
        let sizes =
            sizes(Payloads { max: self.payload_max, warn: self.payload_warn }, usual.sizes)?;
        let connections = count(self.clients_max, usual.connections).min(files());
        let given = self.payloads.iter().flatten();
        let each = given.map(|(name, said)| Ok((name.clone(), self::sizes(*said, sizes)?)));
        Ok(Limits {
            message_in: count(self.message_max, usual.message_in),
            poll: self.poll_wait.map_or(usual.poll, |wait| seconds(wait.get())),
            calls: count(self.calls_max, usual.calls),
            calls_each: count(self.calls_each, usual.calls_each),
            connections,
            connections_each: count(self.clients_each, (connections / 2).max(1)),
            bytes: count(self.bytes_max, usual.bytes),
            hello: self.hello_wait.map_or(usual.hello, |wait| seconds(wait.get())),
            arrival: self.arrival_wait.map_or(usual.arrival, |wait| seconds(wait.get())),
            age: match self.connection_age {
                Some(0) => None,
                Some(given) => Some(Duration::from_secs(given.into())),
                None => usual.age,
            },
            sizes,
            sizes_of: each.collect::<Result<_>>()?,
        })
    }
}

/// How large what clients send may be, where somebody has said so.
fn sizes(said: Payloads, usual: Sizes) -> Result<Sizes> {
    let refused = said.max.map_or(usual.refused, |most| most.get() as usize);
    let most = Sizes::default().refused;
    if refused > most {
        bail!("a payload may have {most} bytes at most, not {refused}");
    }
    let told = said.warn.map_or(usual.told, |told| told.get() as usize);
    Ok(Sizes { refused, told: told.min(refused) })
}

/// How many connections the limit of open files leaves, beside what the server needs itself.
fn files() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    limit.saturating_sub(FILES_OWN).max(limit / 2)
}

/// What a file says. A name that does not exist is refused, with its line.
fn read(path: &Path) -> Result<Options> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the file {} cannot be read", path.display()))?;
    parse(&text).with_context(|| format!("{} is not understood", path.display()))
}

fn parse(text: &str) -> Result<Options> {
    Ok(toml::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        parse(text).expect("it reads")
    }

    #[test]
    fn the_nearest_word_counts() {
        let said = options("listen = \"127.0.0.1:1\"\ngrace = 0");
        let file = options("listen = \"127.0.0.1:2\"\nnamespace = \"shop\"\nhttp = \"off\"");
        let settings = said.or(file).settle().expect("it is acceptable");
        assert_eq!(settings.listen.port(), 1);
        assert_eq!((settings.namespace.as_str(), settings.http), ("shop", None));
        assert_eq!(settings.grace, Duration::ZERO);
        assert_eq!(settings.lease, Duration::from_secs(30), "nobody has said anything");
        assert_eq!(settings.site.place.to_string(), "bowline.db");
    }

    #[test]
    fn every_option_may_stand_in_the_file() {
        let settings = options(
            "store = \"postgres://me@db/runs\"\nschema = \"runs\"\nlisten = \"0.0.0.0:7233\"\n\
             http = \"0.0.0.0:8233\"\nnamespace = \"shop\"\nkeep_days = 30\nlease = 20\n\
             grace = 60\nconnections = 16\nmessage_max = 1000\npoll_wait = 5\ncalls_max = 7\n\
             log = \"info\"\ncalls_each = 3\nclients_max = 9\nclients_each = 4\nbytes_max = 4096\n\
             hello_wait = 1\narrival_wait = 2\nconnection_age = 0\npayload_max = 5000\n\
             payload_warn = 4000\n[payloads.shop]\nmax = 100",
        );
        let settings = settings.settle().expect("it is acceptable");
        assert_eq!((settings.site.schema.as_str(), settings.site.connections), ("runs", Some(16)));
        assert_eq!((settings.limits.message_in, settings.limits.calls), (1000, 7));
        assert_eq!(settings.kept, Some(Duration::from_secs(30 * 24 * 3600)));
        let limits = &settings.limits;
        assert_eq!((limits.calls_each, limits.connections, limits.bytes), (3, 9, 4096));
        assert_eq!(limits.connections_each, 4);
        assert_eq!((limits.hello.as_secs(), limits.arrival.as_secs(), limits.age), (1, 2, None));
        assert_eq!(limits.sizes, Sizes { refused: 5000, told: 4000 });
        assert_eq!(limits.sizes_of["shop"], Sizes { refused: 100, told: 100 });
    }

    #[test]
    fn more_than_the_rules_take_is_refused() {
        let much = options("[payloads.shop]\nmax = 2097153");
        let refused = much.settle().expect_err("the rules would refuse it").to_string();
        assert!(refused.contains("2097152"), "{refused}");
    }

    #[test]
    fn a_wrong_word_in_the_file_is_named_with_its_line() {
        for (text, says) in [
            ("grace = 1\nlisten_on = \"x\"", ["line 2", "listen_on"]),
            ("store = \"mysql://db\"", ["line 1", "mysql://"]),
            ("\n\nlease = 0", ["line 3", "lease = 0"]),
            ("grace = ", ["line 1", "grace"]),
        ] {
            let refused = format!("{:#}", parse(text).expect_err("it is wrong"));
            assert!(says.iter().all(|word| refused.contains(word)), "{text:?}: {refused}");
        }
    }
}
