//! The keys that tokens are verified with, and where they come from.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::RwLock;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use rustls::pki_types::{SubjectPublicKeyInfoDer, pem::PemObject};
use serde::Deserialize;

use super::fetch;
use crate::{
    Unusable,
    der::{self, tag},
    file::Files,
    limits,
};

/// How a token may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key. Its kind says what it can verify, and nothing else is tried with it.
#[derive(Clone, Debug)]
enum Public {
    /// Modulus and exponent.
    Rsa(Vec<u8>, Vec<u8>),
    /// The same, as a file has it.
    RsaWhole(Vec<u8>),
    /// A point, uncompressed.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Public {
    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa(..) | Self::RsaWhole(_) => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    fn verify(&self, signed: &[u8], signature: &[u8]) -> bool {
        let rsa = &signature::RSA_PKCS1_2048_8192_SHA256;
        let verified = match self {
            Self::Rsa(n, e) => RsaPublicKeyComponents { n, e }.verify(rsa, signed, signature),
            Self::RsaWhole(key) => UnparsedPublicKey::new(rsa, key).verify(signed, signature),
            Self::P256(key) => UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, key)
                .verify(signed, signature),
            Self::Ed25519(key) => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(signed, signature)
            }
        };
        verified.is_ok()
    }
}

/// Keys, each with its name if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySet(Vec<(Option<String>, Public)>);

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a JWKS, or public keys in PEM.
    pub(crate) fn read(contents: &[u8]) -> Result<Self, String> {
        let is_json = contents.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        let keys = if is_json { Self::jwks(contents)? } else { Self::pem(contents)? };
        match keys.0.len() {
            0 => Err("it has no public key that RS256, ES256 or EdDSA is verified with".into()),
            many if many > limits::KEY_SET => Err(format!("more than {} keys", limits::KEY_SET)),
            _ => Ok(keys),
        }
    }

    fn jwks(contents: &[u8]) -> Result<Self, String> {
        let jwks: Jwks = serde_json::from_slice(contents).map_err(|why| why.to_string())?;
        // Others may stand beside the ones that can be used, for other purposes.
        let keys = jwks.keys.into_iter().filter_map(|jwk| {
            let key = jwk.public()?;
            let fits = jwk.alg.is_none_or(|alg| Algorithm::named(&alg) == Some(key.algorithm()));
            let is_for_signing = jwk.purpose.is_none_or(|purpose| purpose == "sig");
            (fits && is_for_signing).then_some((jwk.kid, key))
        });
        Ok(Self(keys.collect()))
    }

    fn pem(contents: &[u8]) -> Result<Self, String> {
        let mut keys = Vec::new();
        for key in SubjectPublicKeyInfoDer::pem_slice_iter(contents) {
            let key = key.map_err(|why| why.to_string())?;
            let read = unwrapped(&key).ok_or("a public key is neither RSA, P-256 nor Ed25519")?;
            keys.push((None, read));
        }
        Ok(Self(keys))
    }

    pub(crate) fn has(&self, kid: &str) -> bool {
        self.0.iter().any(|(named, _)| named.as_deref().is_none_or(|named| named == kid))
    }

    /// Whether one of the keys has signed this. A key that a token names is the only one tried.
    pub(crate) fn verify(
        &self,
        algorithm: Algorithm,
        kid: Option<&str>,
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        let may_be = |named: &Option<String>| match (named, kid) {
            (Some(named), Some(kid)) => named == kid,
            _ => true,
        };
        let mut fitting =
            self.0.iter().filter(|(named, key)| may_be(named) && key.algorithm() == algorithm);
        fitting.any(|(_, key)| key.verify(signed, signature))
    }
}

impl Jwk {
    fn public(&self) -> Option<Public> {
        let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => Some(Public::Rsa(bytes(&self.n)?, bytes(&self.e)?)),
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(&self.x)?, bytes(&self.y)?);
                let point = [&[4], &*x, &*y].concat();
                (x.len() == 32 && y.len() == 32).then_some(Public::P256(point))
            }
            ("OKP", Some("Ed25519")) => Some(Public::Ed25519(bytes(&self.x)?)),
            _ => None,
        }
    }
}

/// The key itself, out of what says which kind it is.
fn unwrapped(key: &[u8]) -> Option<Public> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
    let mut whole = key;
    let mut inner = der::expect(tag::SEQUENCE, &mut whole)?;
    let mut kind = der::expect(tag::SEQUENCE, &mut inner)?;
    let bits = der::expect(tag::BITS, &mut inner)?;
    let bits = bits.strip_prefix(&[0])?.to_vec();
    match der::expect(tag::OID, &mut kind)? {
        RSA => Some(Public::RsaWhole(bits)),
        EC if der::expect(tag::OID, &mut kind)? == P256 => Some(Public::P256(bits)),
        ED25519 => Some(Public::Ed25519(bits)),
        _ => None,
    }
}

/// Where keys come from. What is read gets a number, which grows with every change.
pub(super) enum Source {
    File(Files<(Arc<KeySet>, u64)>),
    Url(Fetched),
}

pub(super) struct Fetched {
    url: String,
    held: RwLock<Answered>,
    /// One asks at a time.
    asking: tokio::sync::Mutex<()>,
}

struct Answered {
    keys: Arc<KeySet>,
    version: u64,
    at: Instant,
    /// When the URL was last asked, with or without success.
    asked: Instant,
}

impl Source {
    pub(super) fn file(path: &Path) -> Result<Self, Unusable> {
        let versions = AtomicU64::new(0);
        let read = move |contents: &[Vec<u8>]| {
            let keys = KeySet::read(&contents[0])?;
            Ok((Arc::new(keys), versions.fetch_add(1, Ordering::Relaxed)))
        };
        Ok(Self::File(Files::open(vec![path.to_owned()], read)?))
    }

    pub(super) async fn url(url: &str) -> Result<Self, Unusable> {
        let keys = Arc::new(fetch::keys(url).await?);
        let now = Instant::now();
        let held = RwLock::new(Answered { keys, version: 0, at: now, asked: now });
        Ok(Self::Url(Fetched { url: url.to_owned(), held, asking: Default::default() }))
    }

    /// The keys that are known now.
    pub(super) async fn now(&self) -> (Arc<KeySet>, u64) {
        match self {
            Self::File(files) => {
                let read = files.now();
                (read.0.clone(), read.1)
            }
            Self::Url(fetched) => {
                if fetched.held.read().at.elapsed() >= limits::KEY_SET_AGE {
                    fetched.fetch().await;
                }
                fetched.now()
            }
        }
    }

    /// The same, when a token names a key that is not among them.
    pub(super) async fn look_again(&self) -> (Arc<KeySet>, u64) {
        if let Self::Url(fetched) = self {
            fetched.fetch().await;
        }
        self.now().await
    }
}

impl Fetched {
    fn now(&self) -> (Arc<KeySet>, u64) {
        let held = self.held.read();
        (held.keys.clone(), held.version)
    }

    /// Asks the URL, unless that was done a moment ago. What was known before stays if it does not
    /// answer.
    async fn fetch(&self) {
        let _one = self.asking.lock().await;
        if self.held.read().asked.elapsed() < limits::KEY_SET_PAUSE {
            return;
        }
        self.held.write().asked = Instant::now();
        match fetch::keys(&self.url).await {
            Ok(keys) => {
                let mut held = self.held.write();
                held.keys = Arc::new(keys);
                held.version += 1;
                held.at = Instant::now();
            }
            Err(error) => tracing::error!(%error, "the keys of tokens stay as they were"),
        }
    }
}
