//! The fields of a message, one after the other, as far as they read.

use prost::Name;

use super::{Kind, SHAPES, Shape, take, varint};

/// What a field has on the wire.
pub(crate) enum Content<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// The fields of a message.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Content<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let key = varint(&mut self.0).ok()?;
        let number = u32::try_from(key >> 3).ok()?;
        let value = match key & 7 {
            0 => Content::Number(varint(&mut self.0).ok()?),
            1 => take(&mut self.0, 8).map(|_| Content::Other).ok()?,
            5 => take(&mut self.0, 4).map(|_| Content::Other).ok()?,
            2 => {
                let length = usize::try_from(varint(&mut self.0).ok()?).ok()?;
                Content::Bytes(take(&mut self.0, length).ok()?)
            }
            _ => return None,
        };
        Some((number, value))
    }
}

/// All shapes, in the order of their names.
pub(crate) fn shapes() -> &'static [Shape] {
    SHAPES
}

/// The place of a message among them.
pub(crate) fn shape<M: Name>() -> Option<usize> {
    let wanted = || M::PACKAGE.bytes().chain(*b".").chain(M::NAME.bytes());
    SHAPES.binary_search_by(|shape| shape.name.bytes().cmp(wanted())).ok()
}

impl Shape {
    /// The number of a field.
    pub(crate) fn field(&self, name: &str) -> Option<u32> {
        self.fields.iter().find(|field| field.1 == name).map(|field| field.0)
    }

    /// The message that a field has.
    pub(crate) fn part(&self, name: &str) -> Option<&'static Self> {
        match self.fields.iter().find(|field| field.1 == name)?.2 {
            Kind::Part(place) => SHAPES.get(place),
            _ => None,
        }
    }
}
