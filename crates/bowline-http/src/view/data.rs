//! Payloads, both ways: JSON as it is, texts as texts, everything else as Base64.

use std::{fmt, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bowline_core::{Fields, Format, Payload};
use serde_json::Value;

use crate::model::{Data, DataEncoding};

/// What knows the payloads of another door: it reads them for people, and writes them for workers.
pub trait Wire: Send + Sync + 'static {
    /// The values in a payload of that door; none if it does not read.
    fn read(&self, bytes: &[u8]) -> Option<Vec<Data>>;

    /// JSON values as that door sends them to its workers.
    fn write(&self, values: &[Value]) -> Vec<u8>;
}

/// How payloads are shown.
#[derive(Clone)]
pub(crate) struct Shown {
    /// Longer ones are left out.
    pub(crate) most: usize,
    /// Reads those of another door.
    pub(crate) wire: Option<Arc<dyn Wire>>,
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Shown {
    /// A payload, if there is one.
    pub(crate) fn maybe(&self, payload: &Option<Payload>) -> Option<Data> {
        payload.as_ref().map(|payload| self.one(payload))
    }

    /// A payload.
    pub(crate) fn one(&self, payload: &Payload) -> Data {
        let bytes = payload.bytes.as_slice();
        if bytes.len() > self.most {
            let (format, encoding) = (word(payload.format).to_owned(), DataEncoding::Omitted);
            return Data { format, encoding, value: Value::Null, bytes: bytes.len() as u64 };
        }
        match payload.format {
            Format::Json => json(bytes),
            Format::Wire => self.wired(bytes),
            _ => plain("bytes", bytes),
        }
    }

    /// Named payloads.
    pub(crate) fn all(&self, fields: &Fields) -> std::collections::BTreeMap<String, Data> {
        fields.iter().map(|(key, payload)| (key.clone(), self.one(payload))).collect()
    }

    fn wired(&self, bytes: &[u8]) -> Data {
        let Some(mut read) = self.wire.as_ref().and_then(|wire| wire.read(bytes)) else {
            return plain("wire", bytes);
        };
        if read.len() == 1 {
            return read.remove(0);
        }
        let value = serde_json::to_value(&read).unwrap_or(Value::Null);
        let (format, encoding) = ("list".to_owned(), DataEncoding::List);
        Data { format, encoding, value, bytes: bytes.len() as u64 }
    }
}

fn word(format: Format) -> &'static str {
    match format {
        Format::Json => "json",
        Format::Wire => "wire",
        _ => "bytes",
    }
}

/// JSON, if it is; a native run without a value has no bytes at all.
fn json(bytes: &[u8]) -> Data {
    match serde_json::from_slice(bytes) {
        Ok(value) => {
            let (format, encoding) = ("json".to_owned(), DataEncoding::Json);
            Data { format, encoding, value, bytes: bytes.len() as u64 }
        }
        Err(_) => plain("json", bytes),
    }
}

/// Bytes: a text where they are one that can be shown.
pub fn plain(format: &str, bytes: &[u8]) -> Data {
    let shows = |text: &&str| !text.chars().any(|c| c.is_control() && !"\n\r\t".contains(c));
    let (encoding, value) = match std::str::from_utf8(bytes).ok().filter(shows) {
        Some(text) => (DataEncoding::Text, text.to_owned()),
        None => (DataEncoding::Base64, BASE64_STANDARD.encode(bytes)),
    };
    let (format, value) = (format.to_owned(), Value::String(value));
    Data { format, encoding, value, bytes: bytes.len() as u64 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(most: usize) -> Shown {
        Shown { most, wire: None }
    }

    #[test]
    fn every_payload_is_shown_as_what_it_is() {
        let of = |format, bytes: &[u8]| {
            let data = shown(100).one(&Payload { format, bytes: bytes.into() });
            (data.format, data.encoding, data.value)
        };
        let is = |format: &str, encoding, value| (format.to_owned(), encoding, value);
        let table = [
            (Format::Json, &b"{\"a\":1}"[..], is("json", DataEncoding::Json, json!({ "a": 1 }))),
            (Format::Json, b"{oops", is("json", DataEncoding::Text, json!("{oops"))),
            (Format::Bytes, b"plain\ntext", is("bytes", DataEncoding::Text, json!("plain\ntext"))),
            (Format::Bytes, b"\0\x01", is("bytes", DataEncoding::Base64, json!("AAE="))),
            (Format::Wire, b"\xff", is("wire", DataEncoding::Base64, json!("/w=="))),
        ];
        for (format, bytes, expected) in table {
            assert_eq!(of(format, bytes), expected);
        }
        let long = shown(3).one(&Payload::json("12345"));
        assert_eq!(
            (long.encoding, long.value, long.bytes),
            (DataEncoding::Omitted, Value::Null, 5)
        );
    }
}
