//! `bowline key`: who has a key, and what it opens.

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, bail};
use bowline_access::{KeyFile, Shown};
use serde_json::json;

use crate::{args::Key, print::Printer};

const DAY: u64 = 24 * 3600;

pub(crate) fn run(key: Key, print: Printer) -> Result<ExitCode> {
    match key {
        Key::New { keys, name, allow, days } => {
            let lasts = days.map(|days| Duration::from_secs(u64::from(days) * DAY));
            let made = KeyFile::open(&keys)?.make(&name, &allow, lasts)?;
            print.line(
                || made.key.clone(),
                json!({ "id": made.id, "name": name, "key": made.key, "permissions": allow }),
            );
        }
        Key::List { keys } => {
            if !keys.exists() {
                bail!("there is no file {}", keys.display());
            }
            for key in KeyFile::open(&keys)?.shown() {
                print.line(|| shown(&key), as_json(&key));
            }
        }
        Key::Revoke { keys, id } => {
            // Whoever has the whole key at hand has its id too.
            let id = id.strip_prefix("bwl_").unwrap_or(&id);
            let id = id.split('_').next().unwrap_or_default();
            if !KeyFile::open(&keys)?.revoke(id)? {
                bail!("there is no key {id:?} in {}", keys.display());
            }
            print.line(|| format!("key {id} is revoked"), json!({ "revoked": id }));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(key: &Shown) -> String {
    let state = match key.expires {
        None => "does not expire".to_owned(),
        Some(at) if key.is_live => format!("expires {}", moment(at)),
        Some(at) => format!("expired {}", moment(at)),
    };
    format!("{}  {}  {}  {state}", key.id, key.name, key.permissions.join(","))
}

fn as_json(key: &Shown) -> serde_json::Value {
    json!({
        "id": key.id,
        "name": key.name,
        "permissions": key.permissions,
        "created": key.created,
        "expires": key.expires,
        "live": key.is_live,
    })
}

fn moment(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().and_then(|at| jiff::Timestamp::from_second(at).ok());
    at.map_or_else(|| seconds.to_string(), |at| at.to_string())
}
