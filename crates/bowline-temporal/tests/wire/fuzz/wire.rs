//! Bytes as they travel: any of them, and others made of real ones.

use prost::bytes::{Buf, BufMut};
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

/// Sends and receives bytes as they are.
#[derive(Clone, Copy, Default)]
pub(super) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }
}

/// Random choices from a seed, the same every time.
pub(super) struct Choices(u64);

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, most: usize) -> usize {
        (self.next() >> 33) as usize % most.max(1)
    }
}

/// One field of a message: its key, and the bytes after it, without their length.
#[derive(Clone)]
struct Field {
    key: u64,
    bytes: Vec<u8>,
}

/// Numbers at which something may go wrong.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    127,
    255,
    65_536,
    i32::MAX as u64,
    u32::MAX as u64,
    i64::MAX as u64,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    9_223_372_036_854_775,
    315_576_000_000,
];

/// Texts at which something may go wrong.
const TEXTS: &[&[u8]] = &[
    b"",
    b"\xff\xfe",
    b"\0",
    b"default",
    b"queue",
    b"0001-01-01",
    "é\u{1f600}\u{202e}".as_bytes(),
    b"* * * * * * *",
    b"@every 1s",
    b"00000000-0000-0000-0000-000000000000",
    b"WorkflowId = 'x' AND (",
    b"-9223372036854775808",
    b"%s%n../../",
];

/// Other bytes, made of real ones: fields are lost, doubled, exchanged and given other values, at
/// any depth; sometimes the bytes are simply damaged.
pub(super) fn mutated(bytes: &[u8], other: &[u8], choices: &mut Choices) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=choices.below(3) {
        bytes = match choices.below(6) {
            0 => damaged(bytes, other, choices),
            _ => changed(&bytes, choices, 0),
        };
    }
    bytes
}

fn damaged(mut bytes: Vec<u8>, other: &[u8], choices: &mut Choices) -> Vec<u8> {
    let at = choices.below(bytes.len() + 1);
    match choices.below(4) {
        0 => bytes.truncate(at),
        1 => drop(bytes.splice(at.., other[choices.below(other.len() + 1)..].iter().copied())),
        2 => bytes.insert(at, choices.below(256) as u8),
        _ if at < bytes.len() => bytes[at] ^= 1 << choices.below(8),
        _ => bytes.push(0x7a),
    }
    bytes
}

fn changed(bytes: &[u8], choices: &mut Choices, depth: usize) -> Vec<u8> {
    let Some(mut fields) = read(bytes).filter(|fields| !fields.is_empty() && depth < 20) else {
        return TEXTS[choices.below(TEXTS.len())].to_vec();
    };
    let at = choices.below(fields.len());
    match choices.below(12) {
        0 => drop(fields.remove(at)),
        1 => {
            let field = fields[at].clone();
            fields.extend(vec![field; 1 + choices.below(200)]);
        }
        2 => fields[at].key = (1 + choices.below(60) as u64) << 3 | fields[at].key & 7,
        3 => {
            let number = choices.below(60) as u64;
            let mut bytes = Vec::new();
            put(&mut bytes, NUMBERS[choices.below(NUMBERS.len())]);
            fields.push(Field { key: (1 + number) << 3, bytes });
        }
        4 if fields[at].key & 7 == 2 => {
            let text = [TEXTS[choices.below(TEXTS.len())], b"long"].concat();
            fields[at].bytes = text.repeat(1 + choices.below(3_000));
        }
        _ if fields[at].key & 7 == 0 => {
            fields[at].bytes.clear();
            put(&mut fields[at].bytes, NUMBERS[choices.below(NUMBERS.len())]);
        }
        _ if fields[at].key & 7 == 2 => {
            fields[at].bytes = changed(&fields[at].bytes, choices, depth + 1);
        }
        _ => fields[at].bytes.iter_mut().for_each(|byte| *byte = choices.below(256) as u8),
    }
    write(&fields)
}

fn read(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (key, _) = take(&mut bytes)?;
        let length = match key & 7 {
            0 => {
                let (_, value) = take(&mut bytes)?;
                fields.push(Field { key, bytes: value });
                continue;
            }
            1 => 8,
            2 => usize::try_from(take(&mut bytes)?.0).ok()?,
            5 => 4,
            _ => return None,
        };
        let (value, rest) = bytes.split_at_checked(length).filter(|_| key >> 3 > 0)?;
        fields.push(Field { key, bytes: value.to_vec() });
        bytes = rest;
    }
    Some(fields)
}

fn write(fields: &[Field]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        put(&mut bytes, field.key);
        if field.key & 7 == 2 {
            put(&mut bytes, field.bytes.len() as u64);
        }
        bytes.extend(&field.bytes);
    }
    bytes
}

/// A number as it travels, and its bytes.
fn take(bytes: &mut &[u8]) -> Option<(u64, Vec<u8>)> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
    let (own, rest) = bytes.split_at(end);
    *bytes = rest;
    let number = own.iter().rev().fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
    Some((number, own.to_vec()))
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
