//! Requests that were carried out, so that their repetition counts once.
//!
//! Only the newest are remembered: a request that is repeated has been sent shortly before, and a
//! run that lives for years must not carry every id that it ever saw.

use std::collections::{BTreeSet, VecDeque};

use minicbor::{
    Decode, Decoder, Encode, Encoder,
    decode::Error as DecodeError,
    encode::{Error as EncodeError, Write},
};

use crate::{RequestId, limits};

/// The newest requests that were carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    order: VecDeque<RequestId>,
    known: BTreeSet<RequestId>,
}

impl Requests {
    /// True if this request was carried out, and is not forgotten.
    pub fn contains(&self, id: &RequestId) -> bool {
        self.known.contains(id)
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// True if none is remembered.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Remembers a request, and forgets the oldest one if there are too many. The empty id
    /// stands for no request at all.
    pub(crate) fn insert(&mut self, id: &RequestId) {
        if id.is_empty() || !self.known.insert(id.clone()) {
            return;
        }
        self.order.push_back(id.clone());
        if self.order.len() > limits::REQUESTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

impl<C> Encode<C> for Requests {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        ctx: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.array(self.order.len() as u64)?;
        self.order.iter().try_for_each(|id| id.encode(e, ctx))
    }
}

impl<'b, C> Decode<'b, C> for Requests {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, DecodeError> {
        let mut requests = Self::default();
        for id in d.array_iter_with(ctx)? {
            requests.insert(&id?);
        }
        Ok(requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut requests = Requests::default();
        let id = |n: usize| RequestId::from(n.to_string());
        for n in 0..=limits::REQUESTS_MAX {
            requests.insert(&id(n));
        }
        requests.insert(&RequestId::default());
        requests.insert(&id(1));
        assert_eq!(requests.len(), limits::REQUESTS_MAX);
        assert!(!requests.contains(&id(0)));
        assert!(requests.contains(&id(1)));
        let kept: Requests = minicbor::decode(&minicbor::to_vec(&requests).unwrap()).unwrap();
        assert_eq!(kept, requests);
    }
}
