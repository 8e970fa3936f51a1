//! The decision: who asks, may they, and is it written down.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, header};

use crate::{
    Audit, Caller, Grants, How, Need, Peer, Proof, Radius, Refused, Right, Row, Ticket, Unusable,
    audit::{self, Line},
    browser,
    jwt::Tokens,
    key::{self, Keys},
    limits,
};

/// Everything a server knows about who may do what.
pub struct Access {
    keys: Option<Keys>,
    tokens: Option<Tokens>,
    /// Every certificate that is accepted may do everything, because nothing is said of them.
    trusts_certificates: bool,
    audit: Audit,
    radius: Radius,
    refused: AtomicU64,
}

/// What a server is told about who may do what.
pub struct AccessBuilder(Access);

impl AccessBuilder {
    /// API keys, and the names of certificates, from a file.
    ///
    /// # Errors
    /// If it does not read.
    pub fn keys(mut self, path: &Path) -> Result<Self, Unusable> {
        self.0.keys = Some(Keys::open(path)?);
        Ok(self)
    }

    /// The keys of tokens: a file with a JWKS or public keys in PEM, or the URL of a JWKS.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn token_keys(mut self, place: &str) -> Result<Self, Unusable> {
        self.0.tokens = Some(Tokens::open(place).await?);
        Ok(self)
    }

    /// Who must have made tokens, and for whom.
    ///
    /// # Errors
    /// If there are no keys of tokens.
    pub fn claims(
        mut self,
        issuer: Option<String>,
        audience: Option<String>,
    ) -> Result<Self, Unusable> {
        match &mut self.0.tokens {
            Some(tokens) => (tokens.issuer, tokens.audience) = (issuer, audience),
            None if issuer.is_none() && audience.is_none() => {}
            None => {
                let why = "an issuer or audience of tokens needs the keys of tokens";
                return Err(Unusable::Settings(why.into()));
            }
        }
        Ok(self)
    }

    /// Whoever has a certificate of the accepted authorities may do everything, unless a file says
    /// what the names of certificates may do.
    pub fn trust_certificates(mut self) -> Self {
        self.0.trusts_certificates = true;
        self
    }

    /// Where the audit log goes.
    pub fn audit(mut self, audit: Audit) -> Self {
        self.0.audit = audit;
        self
    }

    /// How many runs one request may touch on one's own word.
    pub fn radius(mut self, radius: Radius) -> Self {
        self.0.radius = radius;
        self
    }

    /// Done.
    pub fn build(self) -> Arc<Access> {
        Arc::new(self.0)
    }
}

impl Access {
    /// Begins with nobody who is let in, and an audit log on standard error.
    pub fn builder() -> AccessBuilder {
        AccessBuilder(Self {
            keys: None,
            tokens: None,
            trusts_certificates: false,
            audit: Audit::to_errors(),
            radius: Radius::default(),
            refused: AtomicU64::new(0),
        })
    }

    /// How many runs one request may touch on one's own word.
    pub fn radius(&self) -> Radius {
        self.radius
    }

    /// How many requests were refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Who asks; none if nothing says so. What is wrong is refused, whatever else is right.
    ///
    /// # Errors
    /// If credentials are there and not accepted.
    pub async fn identify(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, Refused> {
        let bearer = match bearer(headers)? {
            Some(sent) => Some(sent),
            // Only where browsers are spoken to.
            None if peer.door() == "http" => browser::cookie(headers),
            None => None,
        };
        let sent = match bearer {
            Some(sent) => Some(self.verify(sent).await?),
            None => None,
        };
        Ok(self.shown(peer).or(sent))
    }

    /// Who a connection is of by itself.
    fn shown(&self, peer: &Peer) -> Option<Caller> {
        match peer.proof()? {
            Proof::User(name) => Some(Caller::new(How::User, name, Arc::new(Grants::all()))),
            Proof::Certificate(names) => match (&self.keys, self.trusts_certificates) {
                (Some(keys), _) => keys.certified(names),
                (None, true) => {
                    let name = names.first().map_or("unnamed", String::as_str);
                    Some(Caller::new(How::Certificate, name, Arc::new(Grants::all())))
                }
                (None, false) => None,
            },
        }
    }

    /// Who shows this credential.
    pub(crate) async fn verify(&self, sent: &str) -> Result<Caller, Refused> {
        if sent.len() > limits::CREDENTIAL {
            return Err(Refused::Bad("they are too long"));
        }
        let now = key::now();
        match (sent.starts_with(key::PREFIX), &self.keys, &self.tokens) {
            (true, Some(keys), _) => keys.caller(sent, now),
            (true, None, _) => Err(Refused::Bad("this server has no API keys")),
            (false, _, Some(tokens)) => tokens.caller(sent, now).await,
            (false, _, None) => Err(Refused::Bad("this server takes no tokens")),
        }
    }

    /// Lets a call in whose line in the table is known, as far as can be said without having read
    /// what it asks.
    ///
    /// # Errors
    /// If it has no line, or who asks is not known and must be.
    pub async fn admit(
        self: &Arc<Self>,
        row: Option<Row>,
        call: &str,
        peer: &Arc<Peer>,
        headers: &HeaderMap,
    ) -> Result<Ticket, Refused> {
        let known = self.identify(peer, headers).await;
        let refused = match (known, row) {
            (Ok(caller), Some(row)) if row.need == Need::Nothing || caller.is_some() => {
                return Ok(Ticket::new(self, row, caller, peer));
            }
            (Err(refused), _) => (None, refused),
            (Ok(None), _) => (None, Refused::Missing),
            (Ok(caller), _) => (caller, Refused::Unlisted),
        };
        let (caller, why) = refused;
        // A refusal stands whether or not it can be written down.
        let _ = self.tell(peer, call, caller.as_ref(), &Asked::default(), Outcome::Refused(&why));
        Err(why)
    }

    pub(crate) fn tell(
        &self,
        peer: &Peer,
        verb: &str,
        caller: Option<&Caller>,
        asked: &Asked<'_>,
        outcome: Outcome<'_>,
    ) -> Result<(), Refused> {
        let (word, why) = match outcome {
            Outcome::Allowed => ("allowed", String::new()),
            Outcome::Failed(why) => ("failed", why.to_owned()),
            Outcome::Refused(why) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                ("refused", why.code().to_owned() + ": " + &why.to_string())
            }
        };
        let line = Line {
            at: audit::now(),
            door: peer.door(),
            peer: peer.address(),
            who: caller.map(Caller::who),
            said: cut(asked.said),
            verb: cut(verb),
            ns: cut(asked.namespace),
            target: cut(asked.target),
            outcome: word,
            why,
            request_id: cut(asked.request_id),
        };
        self.audit.write(&line).map_err(|error| {
            tracing::error!(%error, "the audit log cannot be written: changes are refused");
            Refused::Unaudited
        })
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("keys", &self.keys.is_some())
            .field("tokens", &self.tokens.is_some())
            .field("audit", &self.audit)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AccessBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

pub(crate) enum Outcome<'a> {
    Allowed,
    Failed(&'a str),
    Refused(&'a Refused),
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(limits::SAID)]
}

/// What `authorization: Bearer ...` brings.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refused> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let Some(first) = sent.next() else { return Ok(None) };
    if sent.next().is_some() {
        return Err(Refused::Bad("there is more than one of them"));
    }
    let text = first.to_str().map_err(|_| Refused::Bad("they do not read"))?;
    match text.split_once(' ') {
        Some((scheme, credential)) if scheme.eq_ignore_ascii_case("bearer") => {
            Ok(Some(credential.trim()))
        }
        _ => Err(Refused::Bad("they must be sent as `authorization: Bearer ...`")),
    }
}

/// What a request is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The namespace that it names.
    pub namespace: &'a str,
    /// What it is done to.
    pub target: &'a str,
    /// Who asks, as it says of itself.
    pub said: &'a str,
    /// Its own id, if it has one.
    pub request_id: &'a str,
    /// What it needs beside what every request of its kind needs.
    pub also: Option<Right>,
}
