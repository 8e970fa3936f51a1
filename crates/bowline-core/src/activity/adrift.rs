//! Attempts that are over although their code runs on.

use minicbor::{
    Decode, Decoder, Encode, Encoder,
    decode::Error as DecodeError,
    encode::{Error as EncodeError, Write},
};

use crate::Epoch;

/// Attempts of an activity that are over for its run, although their code is known to run on: by
/// their number, each with the opening of the store in whose process that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adrift(Vec<(u32, Epoch)>);

impl Adrift {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the process of any of them lives; code dies with its process.
    pub fn runs_in(&self, alive: Option<Epoch>) -> bool {
        self.0.iter().any(|(_, epoch)| Some(*epoch) == alive)
    }

    pub(super) fn contains(&self, attempt: u32) -> bool {
        self.0.iter().any(|(own, _)| *own == attempt)
    }

    pub(super) fn add(&mut self, attempt: u32, epoch: Epoch) {
        if !self.contains(attempt) {
            self.0.push((attempt, epoch));
        }
    }

    /// True if it was there.
    pub(super) fn remove(&mut self, attempt: u32) -> bool {
        let before = self.0.len();
        self.0.retain(|(own, _)| *own != attempt);
        self.0.len() < before
    }
}

// Hardly any row has one, so none costs nothing: it is left out, as an unset option is.
impl<C> Encode<C> for Adrift {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        ctx: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        self.0.encode(e, ctx)
    }

    fn is_nil(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'b, C> Decode<'b, C> for Adrift {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, DecodeError> {
        Vec::decode(d, ctx).map(Self)
    }

    fn nil() -> Option<Self> {
        Some(Self::default())
    }
}
