//! Signed tokens: RS256, ES256 and EdDSA, with keys from a file or a URL.
//!
//! In:    a token, as a request brings it.
//! Out:   who it is of, and what they may do (`permissions: ["namespace:role"]`).
//! Never: a token that says itself how it is to be verified: the kind of the key decides, and only
//!        these three kinds are known. Nothing is verified with a shared secret.

mod fetch;
mod set;

use std::{collections::HashMap, path::Path, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::digest;
use serde::Deserialize;
use serde_json::Value;

use crate::{Caller, Grants, How, Refused, Unusable, limits};
use set::Source;
pub(crate) use set::{Algorithm, KeySet};

/// Where the keys of tokens are, and what tokens must say.
pub(crate) struct Tokens {
    source: Source,
    pub(crate) issuer: Option<String>,
    pub(crate) audience: Option<String>,
    /// By the hash of the whole token: until when it holds, and with which keys it was verified.
    seen: Mutex<HashMap<[u8; 32], Seen>>,
}

struct Seen {
    caller: Caller,
    expires: u64,
    keys: u64,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that must be understood: none is.
    #[serde(default)]
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Claims {
    /// A number: a text that looks like one is another type, and refused.
    exp: Value,
    #[serde(default)]
    nbf: Option<Value>,
    #[serde(default)]
    sub: Option<String>,
    #[serde(default)]
    iss: Option<String>,
    #[serde(default)]
    aud: Option<Value>,
    #[serde(default)]
    permissions: Vec<Value>,
}

impl Tokens {
    /// Reads the keys for the first time.
    pub(crate) async fn open(place: &str) -> Result<Self, Unusable> {
        let source = match place.contains("://") {
            true => Source::url(place).await?,
            false => Source::file(Path::new(place))?,
        };
        Ok(Self { source, issuer: None, audience: None, seen: Mutex::default() })
    }

    /// Who has sent this token.
    pub(crate) async fn caller(&self, token: &str, now: u64) -> Result<Caller, Refused> {
        let (keys, version) = self.source.now().await;
        let hash = hash(token);
        if let Some(caller) = self.remembered(&hash, version, now) {
            return Ok(caller);
        }
        let (keys, version) = match read_header(token)?.kid {
            Some(kid) if !keys.has(&kid) => self.source.look_again().await,
            _ => (keys, version),
        };
        let (caller, expires) = self.verify(token, &keys, now)?;
        let mut seen = self.seen.lock();
        // Whoever makes up tokens cannot fill it: only those that are sound come in.
        if seen.len() >= limits::TOKENS {
            seen.clear();
        }
        seen.insert(hash, Seen { caller: caller.clone(), expires, keys: version });
        Ok(caller)
    }

    fn remembered(&self, hash: &[u8; 32], keys: u64, now: u64) -> Option<Caller> {
        let seen = self.seen.lock();
        let found = seen.get(hash)?;
        (found.keys == keys && now < found.expires).then(|| found.caller.clone())
    }

    fn verify(&self, token: &str, keys: &KeySet, now: u64) -> Result<(Caller, u64), Refused> {
        let header = read_header(token)?;
        if header.crit.is_some() {
            return Err(Refused::Bad("the token has extensions that are not understood"));
        }
        let algorithm = Algorithm::named(&header.alg)
            .ok_or(Refused::Bad("the token is not signed with RS256, ES256 or EdDSA"))?;
        let (signed, signature) = token.rsplit_once('.').ok_or(UNREADABLE)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| UNREADABLE)?;
        if !keys.verify(algorithm, header.kid.as_deref(), signed.as_bytes(), &signature) {
            return Err(Refused::Bad("the token's signature is of no known key"));
        }
        let (_, claims) = signed.split_once('.').ok_or(UNREADABLE)?;
        let claims: Claims = read(claims)?;
        let expires = self.holds(&claims, now)?;
        let sub = claims.sub.as_deref().filter(|sub| !sub.is_empty());
        let sub = sub.ok_or(Refused::Bad("the token has no subject (`sub`)"))?;
        let grants = Grants::lenient(claims.permissions.iter().filter_map(Value::as_str));
        Ok((Caller::new(How::Token, sub, Arc::new(grants)), expires))
    }

    /// Until when it holds.
    fn holds(&self, claims: &Claims, now: u64) -> Result<u64, Refused> {
        let skew = limits::SKEW.as_secs();
        let expires = seconds(&claims.exp)
            .ok_or(Refused::Bad("the token's time of expiry (`exp`) is not a number"))?;
        let expires = expires.saturating_add(skew);
        if now >= expires {
            return Err(Refused::Bad("the token has expired"));
        }
        if let Some(begins) = &claims.nbf {
            let begins = seconds(begins).ok_or(UNREADABLE)?;
            if now.saturating_add(skew) < begins {
                return Err(Refused::Bad("the token does not hold yet"));
            }
        }
        if self.issuer.is_some() && self.issuer != claims.iss {
            return Err(Refused::Bad("the token is of another issuer"));
        }
        let Some(wanted) = &self.audience else { return Ok(expires) };
        let is_for_us = match &claims.aud {
            Some(Value::String(one)) => one == wanted,
            Some(Value::Array(many)) => many.iter().any(|one| one == wanted.as_str()),
            _ => false,
        };
        match is_for_us {
            true => Ok(expires),
            false => Err(Refused::Bad("the token is for another audience")),
        }
    }
}

const UNREADABLE: Refused = Refused::Bad("the token does not read");

fn hash(token: &str) -> [u8; 32] {
    let hash = digest::digest(&digest::SHA256, token.as_bytes());
    hash.as_ref().try_into().unwrap_or_default()
}

fn seconds(number: &Value) -> Option<u64> {
    // A fraction is allowed, as the standard has it.
    number.as_u64().or_else(|| number.as_f64().filter(|at| *at >= 0.0).map(|at| at as u64))
}

fn read_header(token: &str) -> Result<Header, Refused> {
    let mut parts = token.split('.');
    let (Some(header), Some(_), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Refused::Bad("it is neither an API key nor a token"));
    };
    read(header)
}

fn read<T: for<'de> Deserialize<'de>>(part: &str) -> Result<T, Refused> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| UNREADABLE)?;
    serde_json::from_slice(&bytes).map_err(|_| UNREADABLE)
}

#[cfg(test)]
mod tests;
