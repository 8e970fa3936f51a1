//! API keys: `bwl_<id>_<secret>`. A file has the hash of each secret, and no secret.
//!
//! The same file says what the names of client certificates may do.

use std::{
    fmt,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::{
    Caller, Grants, How, Refused, Unusable,
    file::{self, Files},
    limits,
};

/// How every key begins.
pub(crate) const PREFIX: &str = "bwl_";

/// What the file says.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    keys: Vec<Entry>,
    #[serde(default)]
    certificates: Vec<Named>,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    name: String,
    /// Of the secret, in hexadecimal digits.
    sha256: String,
    permissions: Vec<String>,
    /// In seconds since the Unix epoch, as the next.
    created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("id", &self.id).field("name", &self.name).finish()
    }
}

impl Entry {
    fn is_live(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// What a name in a client's certificate may do.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Named {
    /// `*` for any name.
    name: String,
    permissions: Vec<String>,
}

/// The same, ready to be asked.
pub(crate) struct Known {
    keys: Vec<(Entry, [u8; 32], Arc<Grants>)>,
    certificates: Vec<(String, Arc<Grants>)>,
}

impl Known {
    fn read(contents: &[u8]) -> Result<Self, String> {
        let written = parse(contents)?;
        let keys = written.keys.into_iter().map(|entry| {
            let hash = unhex(&entry.sha256);
            let hash =
                hash.ok_or_else(|| format!("the hash of key {:?} does not read", entry.id))?;
            let grants = Grants::strict(&entry.permissions)?;
            Ok((entry, hash, Arc::new(grants)))
        });
        let certificates = written.certificates.into_iter().map(|named| {
            let grants = Grants::strict(&named.permissions)?;
            Ok((named.name, Arc::new(grants)))
        });
        Ok(Self {
            keys: keys.collect::<Result<_, String>>()?,
            certificates: certificates.collect::<Result<_, String>>()?,
        })
    }

    /// Who has sent this key.
    fn caller(&self, sent: &str, now: u64) -> Result<Caller, Refused> {
        let unknown = Refused::Bad("there is no such API key, or it was revoked");
        let parts = sent.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        let (id, secret) = parts.ok_or(Refused::Bad("the API key is not whole"))?;
        let found = self.keys.iter().find(|(entry, ..)| entry.id == id);
        let hash = hashed(secret);
        let (entry, wanted, grants) = found.ok_or(unknown.clone())?;
        if !bool::from(hash.as_slice().ct_eq(wanted.as_slice())) {
            return Err(unknown);
        }
        if !entry.is_live(now) {
            return Err(Refused::Bad("the API key has expired"));
        }
        Ok(Caller::new(How::Key, &entry.name, grants.clone()))
    }

    /// Whom a certificate with these names is of; none if nothing is said of any of them.
    fn certified(&self, names: &[String]) -> Option<Caller> {
        let exact = names.iter().find_map(|name| {
            let known = self.certificates.iter().find(|(known, _)| known == name)?;
            Some((name, &known.1))
        });
        let any = || {
            let (_, grants) = self.certificates.iter().find(|(known, _)| known == "*")?;
            Some((names.first()?, grants))
        };
        let (name, grants) = exact.or_else(any)?;
        Some(Caller::new(How::Certificate, name, grants.clone()))
    }
}

fn parse(contents: &[u8]) -> Result<Written, String> {
    serde_json::from_slice(contents).map_err(|why| why.to_string())
}

fn hashed(secret: &str) -> digest::Digest {
    digest::digest(&digest::SHA256, secret.as_bytes())
}

trait Bytes {
    fn as_slice(&self) -> &[u8];
}

impl Bytes for digest::Digest {
    fn as_slice(&self) -> &[u8] {
        self.as_ref()
    }
}

/// The keys and certificates that are known now.
pub(crate) struct Keys(Files<Known>);

impl Keys {
    pub(crate) fn open(path: &Path) -> Result<Self, Unusable> {
        let files = Files::open(vec![path.to_owned()], |contents| Known::read(&contents[0]))?;
        Ok(Self(files))
    }

    pub(crate) fn caller(&self, sent: &str, now: u64) -> Result<Caller, Refused> {
        self.0.now().caller(sent, now)
    }

    pub(crate) fn certified(&self, names: &[String]) -> Option<Caller> {
        self.0.now().certified(names)
    }
}

/// A file with keys, as those see it who make and revoke them.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    written: Written,
}

/// A new key. It is shown once: the file has only its hash.
pub struct Made {
    /// By which it can be revoked.
    pub id: String,
    /// What its user sends.
    pub key: String,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What may be seen of a key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shown {
    /// By which it can be revoked.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub permissions: Vec<String>,
    /// In seconds since the Unix epoch.
    pub created: u64,
    /// The same.
    pub expires: Option<u64>,
    /// Whether it has not expired.
    pub is_live: bool,
}

impl KeyFile {
    /// Reads a file, which may not be there yet.
    ///
    /// # Errors
    /// If it is there and does not read.
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let content = |why: String| Unusable::Content { path: path.display().to_string(), why };
        let written = match path.exists() {
            false => Written::default(),
            true => {
                let contents = file::contents(path)?;
                Known::read(&contents).map_err(content)?;
                parse(&contents).map_err(content)?
            }
        };
        Ok(Self { path: path.to_owned(), written })
    }

    /// Makes a key and writes the file.
    ///
    /// # Errors
    /// If a permission is not understood, the name has two live keys already, or the file cannot
    /// be written.
    pub fn make(
        &mut self,
        name: &str,
        permissions: &[String],
        lasts: Option<Duration>,
    ) -> Result<Made, Unusable> {
        let now = now();
        Grants::strict(permissions).map_err(Unusable::Settings)?;
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if name.is_empty() || name.len() > limits::WHO || !name.chars().all(is_fit) {
            return Err(Unusable::Settings(format!(
                "{name:?} cannot be the name of a key: use letters, digits and - _ . @"
            )));
        }
        let live = self.written.keys.iter().filter(|key| key.name == name && key.is_live(now));
        if live.count() >= limits::KEYS_LIVE {
            return Err(Unusable::Settings(format!(
                "{name} has two live keys already: revoke the one that is not used any more"
            )));
        }
        let (id, secret) = (random::<8>()?, random::<32>()?);
        let key = format!("{PREFIX}{id}_{secret}");
        self.written.keys.push(Entry {
            id: id.clone(),
            name: name.to_owned(),
            sha256: hex(hashed(&secret).as_ref()),
            permissions: permissions.to_vec(),
            created: now,
            expires: lasts.map(|lasts| now.saturating_add(lasts.as_secs())),
        });
        self.write()?;
        Ok(Made { id, key })
    }

    /// Forgets a key and writes the file; false if there is none of this id.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn revoke(&mut self, id: &str) -> Result<bool, Unusable> {
        let before = self.written.keys.len();
        self.written.keys.retain(|key| key.id != id);
        let is_found = self.written.keys.len() < before;
        if is_found {
            self.write()?;
        }
        Ok(is_found)
    }

    /// All keys, in the order in which they were made.
    pub fn shown(&self) -> Vec<Shown> {
        let now = now();
        let shown = |key: &Entry| Shown {
            id: key.id.clone(),
            name: key.name.clone(),
            permissions: key.permissions.clone(),
            created: key.created,
            expires: key.expires,
            is_live: key.is_live(now),
        };
        self.written.keys.iter().map(shown).collect()
    }

    /// A new file takes the place of the old one, so that nobody reads half of it. Only its owner
    /// may read it.
    fn write(&self) -> Result<(), Unusable> {
        let failed = |why| Unusable::File { path: self.path.display().to_string(), why };
        let text = serde_json::to_vec_pretty(&self.written);
        let text = text.map_err(|why| Unusable::Settings(why.to_string()))?;
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut new = options.open(&beside).map_err(failed)?;
        new.write_all(&text).and_then(|()| new.write_all(b"\n")).map_err(failed)?;
        new.sync_all().map_err(failed)?;
        std::fs::rename(&beside, &self.path).map_err(failed)
    }
}

pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn random<const N: usize>() -> Result<String, Unusable> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Unusable::Settings("the system has no random numbers".into()))?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.map(byte).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests;
