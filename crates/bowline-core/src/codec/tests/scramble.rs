//! Other values from a given one: its encoding, with every leaf exchanged for a random one.
//!
//! What comes out may not be readable, because this knows no types: then the original is tried
//! again with fewer changes.

use minicbor::{Decode, Encode, data::Type};

/// An envelope around bytes that may be anything.
pub(super) fn envelope(value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![crate::codec::FORMAT, 0, 0, 0, 0];
    bytes.extend_from_slice(value);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..1]);
    hasher.update(&bytes[5..]);
    bytes[1..5].copy_from_slice(&hasher.finalize().to_le_bytes());
    bytes
}

/// Random choices from a seed, the same every time.
pub(super) struct Choices(u64);

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        // xorshift*: enough for choosing.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below another one.
    pub(super) fn below(&mut self, most: usize) -> usize {
        (self.next() >> 33) as usize % most.max(1)
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}

/// A value like `value`, with about one leaf in `every` exchanged; `value` itself if no such
/// exchange can be read.
pub(super) fn scramble<T>(value: &T, seed: u64) -> T
where
    T: Encode<()> + for<'b> Decode<'b, ()> + Clone,
{
    let bytes = minicbor::to_vec(value).expect("a sample encodes");
    let mut choices = Choices::new(seed);
    for every in [2, 4, 8, 16, 32, 64] {
        let mut out = Vec::new();
        let mut decoder = minicbor::Decoder::new(&bytes);
        let mut encoder = minicbor::Encoder::new(&mut out);
        copy(&mut decoder, &mut encoder, &mut choices, every);
        if let Ok(other) = minicbor::decode(&out) {
            return other;
        }
    }
    value.clone()
}

fn copy(
    from: &mut minicbor::Decoder<'_>,
    to: &mut minicbor::Encoder<&mut Vec<u8>>,
    choices: &mut Choices,
    every: u64,
) {
    const SAMPLE: &str = "a sample is readable";
    let change = choices.one_in(every);
    match from.datatype().expect(SAMPLE) {
        Type::Array => {
            let length = from.array().expect(SAMPLE).expect("a definite length");
            to.array(length).expect(SAMPLE);
            (0..length).for_each(|_| copy(from, to, choices, every));
        }
        Type::Map => {
            let length = from.map().expect(SAMPLE).expect("a definite length");
            to.map(length).expect(SAMPLE);
            (0..2 * length).for_each(|_| copy(from, to, choices, every));
        }
        Type::Bool => {
            let value = from.bool().expect(SAMPLE);
            to.bool(value != change).expect(SAMPLE);
        }
        Type::String => {
            let value = from.str().expect(SAMPLE);
            let random = format!("{value}-{:x}-é", choices.next());
            to.str(if change { &random } else { value }).expect(SAMPLE);
        }
        Type::Bytes => {
            let mut value = from.bytes().expect(SAMPLE).to_vec();
            if change {
                value.iter_mut().for_each(|byte| *byte = choices.next() as u8);
            }
            to.bytes(&value).expect(SAMPLE);
        }
        Type::Null => {
            from.null().expect(SAMPLE);
            to.null().expect(SAMPLE);
        }
        Type::F64 => {
            let value = from.f64().expect(SAMPLE);
            to.f64(if change { value * 3.25 } else { value }).expect(SAMPLE);
        }
        _ => number(from, to, change.then(|| choices.next())),
    }
}

/// Whole numbers, which are also the tags of kinds: those change into other kinds, or into
/// something that cannot be read.
fn number(
    from: &mut minicbor::Decoder<'_>,
    to: &mut minicbor::Encoder<&mut Vec<u8>>,
    random: Option<u64>,
) {
    let value = i64::try_from(from.int().expect("a whole number")).expect("a small number");
    let value = match random {
        // Small numbers are readable as more types than large ones.
        Some(random) if random.is_multiple_of(3) => (random >> 1) as i64,
        Some(random) => (random % 200) as i64,
        None => value,
    };
    to.i64(value).expect("writing to memory cannot fail");
}
