//! User data, carried and never looked into: bytes beside the name of their format.

use std::{collections::BTreeMap, fmt, sync::Arc};

use minicbor::{
    Decode, Decoder, Encode, Encoder,
    decode::Error as DecodeError,
    encode::{Error as EncodeError, Write},
};

/// Bytes that are shared, not copied, between a message, an event and a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blob(Arc<[u8]>);

impl Blob {
    /// The bytes themselves.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Default for Blob {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::from(bytes))
    }
}

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Self(Arc::from(bytes))
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(&self.0) {
            Ok(text) if text.len() <= 120 => write!(f, "b{text:?}"),
            _ => write!(f, "{} bytes", self.0.len()),
        }
    }
}

impl<C> Encode<C> for Blob {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W::Error>> {
        e.bytes(&self.0)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Blob {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
        Ok(Self::from(d.bytes()?))
    }
}

/// How a payload's bytes are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Format {
    /// One JSON value.
    #[default]
    #[n(0)]
    Json,
    /// Plain bytes.
    #[n(1)]
    Bytes,
    /// A door's own serialised form: kept and handed back untouched, read by that door alone.
    #[n(2)]
    Wire,
}

/// One value of the user's: an input, a result, a detail.
#[derive(Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Payload {
    /// How the bytes are to be read.
    #[n(0)]
    pub format: Format,
    /// The sender's bytes.
    #[n(1)]
    pub bytes: Blob,
}

impl Payload {
    /// A JSON value, already serialised.
    pub fn json(text: impl Into<String>) -> Self {
        Self { format: Format::Json, bytes: Blob::from(text.into().into_bytes()) }
    }

    /// A door's own form.
    pub fn wire(bytes: impl Into<Blob>) -> Self {
        Self { format: Format::Wire, bytes: bytes.into() }
    }

    /// How many bytes it carries.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if it carries none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{:?}", self.format, self.bytes)
    }
}

/// Named payloads: memo, headers.
pub type Fields = BTreeMap<String, Payload>;
