//! Bytes and back: one envelope for everything that is stored.
//!
//! An envelope is a format version, a checksum, and a CBOR value whose fields are numbered. A
//! truncated or bit-flipped envelope is refused, never misread; fields of a newer version are
//! skipped, fields of an older one are filled in.

use std::fmt;

use minicbor::{Decode, Encode};

use crate::{Blob, Event, EventId};

/// The version that this build writes. It reads this one and all before it.
pub const FORMAT: u8 = 1;

const HEADER: usize = 5;

/// Bytes that cannot be read as what they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Corrupt {
    /// There are fewer bytes than an envelope has.
    Truncated,
    /// The checksum does not fit the bytes.
    Checksum,
    /// A newer version wrote this.
    Newer(u8),
    /// The checksum fits, but the value does not read: what went wrong.
    Value(String),
    /// There are bytes after the value.
    Trailing,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the stored bytes are cut short"),
            Self::Checksum => f.write_str("the stored bytes are damaged: their checksum differs"),
            Self::Newer(version) => {
                write!(f, "the stored bytes have format {version}, this build reads {FORMAT}")
            }
            Self::Value(why) => write!(f, "the stored bytes do not read: {why}"),
            Self::Trailing => f.write_str("the stored bytes go on after their value"),
        }
    }
}

impl std::error::Error for Corrupt {}

/// Puts a value into an envelope.
pub fn encode<T: Encode<()>>(value: &T) -> Vec<u8> {
    let mut bytes = vec![FORMAT, 0, 0, 0, 0];
    minicbor::encode(value, &mut bytes).expect("writing to memory cannot fail");
    let sum = checksum(&bytes);
    bytes[1..HEADER].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Takes a value out of its envelope.
///
/// # Errors
/// If the bytes are not exactly what [`encode`] of this or an older version wrote.
pub fn decode<'b, T: Decode<'b, ()>>(bytes: &'b [u8]) -> Result<T, Corrupt> {
    let (header, _) = bytes.split_first_chunk::<HEADER>().ok_or(Corrupt::Truncated)?;
    let [version, sum @ ..] = *header;
    if checksum(bytes) != u32::from_le_bytes(sum) {
        return Err(Corrupt::Checksum);
    }
    if version != FORMAT {
        return Err(Corrupt::Newer(version));
    }
    let mut decoder = minicbor::Decoder::new(&bytes[HEADER..]);
    let value = decoder.decode().map_err(|error| Corrupt::Value(error.to_string()))?;
    match decoder.position() == bytes.len() - HEADER {
        true => Ok(value),
        false => Err(Corrupt::Trailing),
    }
}

/// The version byte is covered too: a flip there must not look like another version.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..1]);
    hasher.update(&bytes[HEADER..]);
    hasher.finalize()
}

/// The events of one commit: one row of history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The id of the first event.
    pub first: EventId,
    /// The id of the last event.
    pub last: EventId,
    /// All of them, in an envelope.
    pub bytes: Blob,
}

impl Batch {
    /// Encodes events that follow each other without a gap; none for no events.
    pub fn of(events: &Vec<Event>) -> Option<Self> {
        let (first, last) = (events.first()?.id, events.last()?.id);
        assert_eq!(
            last.0 - first.0 + 1,
            events.len() as u64,
            "events of a batch have neighbouring ids"
        );
        Some(Self { first, last, bytes: Blob::from(encode(events)) })
    }

    /// Makes one row of two of which the second follows the first, without reading their events.
    ///
    /// # Errors
    /// If the bytes of either are no events at all.
    pub fn join(&self, next: &Self) -> Result<Self, Corrupt> {
        assert_eq!(next.first, self.last.plus(1), "events of a batch have neighbouring ids");
        let ((before, own), (after, more)) = (items(&self.bytes)?, items(&next.bytes)?);
        let mut bytes = vec![FORMAT, 0, 0, 0, 0];
        minicbor::Encoder::new(&mut bytes)
            .array(before + after)
            .expect("writing to memory cannot fail");
        bytes.extend_from_slice(own);
        bytes.extend_from_slice(more);
        let sum = checksum(&bytes);
        bytes[1..HEADER].copy_from_slice(&sum.to_le_bytes());
        Ok(Self { first: self.first, last: next.last, bytes: Blob::from(bytes) })
    }

    /// Reads the events back.
    ///
    /// # Errors
    /// If the bytes are damaged, or hold other events than the batch claims.
    pub fn events(&self) -> Result<Vec<Event>, Corrupt> {
        let events: Vec<Event> = decode(self.bytes.as_slice())?;
        let ids = self.first.0..=self.last.0;
        match events.iter().map(|event| event.id.0).eq(ids) {
            true => Ok(events),
            false => Err(Corrupt::Value("the events have other ids than their row".into())),
        }
    }
}

/// How many values an envelope of an array has, and their bytes.
fn items(bytes: &Blob) -> Result<(u64, &[u8]), Corrupt> {
    let body = bytes.as_slice().get(HEADER..).ok_or(Corrupt::Truncated)?;
    if bytes.as_slice()[0] != FORMAT {
        return Err(Corrupt::Newer(bytes.as_slice()[0]));
    }
    let mut decoder = minicbor::Decoder::new(body);
    let count = decoder.array().map_err(|error| Corrupt::Value(error.to_string()))?;
    let count = count.ok_or_else(|| Corrupt::Value("an array without a length".into()))?;
    Ok((count, &body[decoder.position()..]))
}

#[cfg(test)]
mod tests;
