//! Every text, map and part of a request has a bound, and is held to it before it is unfolded.
//!
//! In:    the bytes of a request, as they came or as they were unpacked.
//! Out:   how much it will be in memory, and the largest of what it brings for histories; or why it
//!        is refused.
//! Never: a list of requests: the shapes of all of them come from their descriptors, so that a call
//!        that is added has its bounds already.
//!
//! What a worker's commands and failures say is left to the rules: there it is the turn or the
//! attempt that fails, not the call, which would be made again and again.

mod codec;
mod field;
mod rule;

use std::{collections::BTreeMap, sync::LazyLock};

use prost::Name;

use crate::limits;
pub(crate) use codec::Codec;
pub(crate) use field::{Content, Fields, shape, shapes};
use rule::{Field, Rule};

/// What a field is on the wire.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    /// A message, at its place among all shapes.
    Part(usize),
    /// Numbers and bytes.
    Plain,
}

/// A message, as its descriptor has it.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// A pair of a map.
    is_entry: bool,
    /// In the order of their numbers.
    fields: &'static [(u32, &'static str, Kind)],
}

static SHAPES: &[Shape] = include!(concat!(env!("OUT_DIR"), "/shapes.rs"));

/// The same with the bound of every field.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| SHAPES.iter().map(Rule::of).collect());

/// Why a message is not unfolded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverBound {
    #[error("{0} has {1} bytes, more than {2}")]
    Long(&'static str, usize, usize),
    #[error("{0} has more than {1} entries")]
    Many(&'static str, usize),
    #[error("the message has more than {} parts", limits::PARTS)]
    Parts,
    #[error("failed to decode Protobuf message: it does not read")]
    Unreadable,
}

/// What is known of a message that is within all bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    /// About how many bytes it will have in memory.
    pub(crate) bytes: usize,
    /// The largest of what it brings to be kept in a history.
    pub(crate) blob: usize,
}

/// Looks at a message of a known kind.
pub(crate) fn weigh<M: Name>(bytes: &[u8]) -> Result<Weight, OverBound> {
    let place = shape::<M>().ok_or(OverBound::Unreadable)?;
    let mut walk = Walk::default();
    walk.message(&RULES[place], bytes, At { depth: 0, is_free: false })?;
    let bytes = bytes.len() + walk.parts * limits::PART_BYTES;
    // What answers a turn or an attempt is not refused for its size: it fails by it.
    let is_answer = M::NAME.starts_with("Respond") || M::NAME.starts_with("RecordActivity");
    Ok(Weight { bytes, blob: if is_answer { 0 } else { walk.blob } })
}

/// Reads a message that came inside of another one.
pub(crate) fn read<M: Name + Default>(bytes: &[u8]) -> Result<M, String> {
    weigh::<M>(bytes).map_err(|fault| fault.to_string())?;
    M::decode(bytes).map_err(|why| why.to_string())
}

/// Where a walk is.
#[derive(Clone, Copy)]
struct At {
    depth: u32,
    /// The rules have their own bounds for what stands here.
    is_free: bool,
}

#[derive(Default)]
struct Walk {
    parts: usize,
    blob: usize,
}

impl Walk {
    fn message(&mut self, rule: &Rule, mut rest: &[u8], at: At) -> Result<(), OverBound> {
        if at.depth > limits::DEPTH {
            return Err(OverBound::Unreadable);
        }
        let at = At { depth: at.depth + 1, is_free: at.is_free || rule.is_free };
        if rule.is_blob && !at.is_free {
            self.blob = self.blob.max(rest.len());
        }
        let mut entries = BTreeMap::new();
        while !rest.is_empty() {
            let key = varint(&mut rest)?;
            let number = u32::try_from(key >> 3).map_err(|_| OverBound::Unreadable)?;
            match key & 7 {
                0 => drop(varint(&mut rest)?),
                1 => drop(take(&mut rest, 8)?),
                5 => drop(take(&mut rest, 4)?),
                2 => {
                    let length = varint(&mut rest)?;
                    let length = usize::try_from(length).map_err(|_| OverBound::Unreadable)?;
                    let value = take(&mut rest, length)?;
                    self.parts += 1;
                    if self.parts > limits::PARTS {
                        return Err(OverBound::Parts);
                    }
                    if let Some(field) = rule.field(number) {
                        self.field(field, value, &mut entries, at)?;
                    }
                }
                // Nobody has written groups for long.
                _ => return Err(OverBound::Unreadable),
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        value: &[u8],
        entries: &mut BTreeMap<u32, usize>,
        at: At,
    ) -> Result<(), OverBound> {
        if !at.is_free && value.len() > field.longest {
            return Err(OverBound::Long(field.name, value.len(), field.longest));
        }
        let Kind::Part(place) = field.kind else { return Ok(()) };
        let rule = &RULES[place];
        if field.most < usize::MAX || rule.is_entry {
            let count = entries.entry(field.number).or_insert(0);
            *count += 1;
            let most = field.most.min(limits::MAP);
            if *count > most && !at.is_free {
                return Err(OverBound::Many(field.name, most));
            }
        }
        self.message(rule, value, at)
    }
}

fn varint(rest: &mut &[u8]) -> Result<u64, OverBound> {
    let mut value = 0_u64;
    for at in 0..10 {
        let byte = *rest.get(at).ok_or(OverBound::Unreadable)?;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            *rest = &rest[at + 1..];
            return Ok(value);
        }
    }
    Err(OverBound::Unreadable)
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Result<&'b [u8], OverBound> {
    let (taken, left) = rest.split_at_checked(length).ok_or(OverBound::Unreadable)?;
    *rest = left;
    Ok(taken)
}

#[cfg(test)]
mod tests;
