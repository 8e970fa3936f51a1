//! The names of things: every id is a type of its own, never a bare string or number.
//!
//! Text ids share one allocation between their clones, because the same queue or workflow name
//! stands in thousands of rows at once.

use std::{fmt, sync::Arc};

use minicbor::{
    Decode, Decoder, Encode, Encoder,
    decode::Error as DecodeError,
    encode::{Error as EncodeError, Write},
};

macro_rules! text {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// True for the empty text, which stands for "none given".
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// How many bytes it has.
            // Not of every kind does anybody ask.
            #[allow(dead_code)]
            pub(crate) fn len(&self) -> usize {
                self.0.len()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self(Arc::from(""))
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl<C> Encode<C> for $name {
            fn encode<W: Write>(
                &self,
                e: &mut Encoder<W>,
                _: &mut C,
            ) -> Result<(), EncodeError<W::Error>> {
                e.str(&self.0)?.ok()
            }
        }

        impl<'b, C> Decode<'b, C> for $name {
            fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
                Ok(Self::from(d.str()?))
            }
        }
    )*};
}

text! {
    /// The name that a workflow, activity, signal, query, update or marker is registered under.
    Name;
    /// The user's name for a chain of runs; at most one of its runs is open.
    WorkflowId;
    /// Where work waits for a worker.
    Queue;
    /// Given by a caller so that the same request, sent twice, counts once.
    RequestId;
    /// The caller's own name for an activity; empty under native rules, where its number serves.
    ActivityId;
    /// The caller's own name for a timer; empty under native rules.
    TimerId;
    /// Names one update of one run.
    UpdateId;
    /// Who did something, as they call themselves: a person, a program, a worker.
    Identity;
    /// The address of a worker's control channel.
    ControlQueue;
}

macro_rules! number {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode,
        )]
        #[cbor(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

number! {
    /// The number of a namespace; it stands first in every key of every store.
    Namespace(u32);
    /// The position of an event in its run's history, from 1. What an activity, timer or child
    /// is scheduled by also names it: its number is the id of that event.
    EventId(u64);
    /// The position of a message in its run's inbox, from 1.
    Number(u64);
    /// Rises with each commit that a run has seen, by however much; a commit names the one it was
    /// decided on.
    Version(u64);
    /// One opening of a store by a member; durable, never repeated.
    Epoch(u64);
    /// A scope of a run, numbered in the order of opening; 0 is the workflow's body.
    ScopeId(u32);
}

impl EventId {
    /// The id `n` events later. There is none beyond the last: no history comes so far, but bytes
    /// may say so that were damaged.
    pub fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }
}

/// Names a run for ever, in every store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct RunId {
    /// The namespace that the run lives in.
    #[n(0)]
    pub namespace: Namespace,
    /// The run's own 128 bits.
    #[n(1)]
    #[cbor(with = "wide")]
    pub uuid: u128,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hyphenated(self.uuid, f)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hyphenated(self.uuid, f)
    }
}

macro_rules! wide_id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
        #[cbor(transparent)]
        pub struct $name(#[cbor(with = "wide")] pub u128);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                hyphenated(self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                hyphenated(self.0, f)
            }
        }
    )*};
}

wide_id! {
    /// Names one attempt to commit, so that "was it done?" has an answer after a lost reply.
    CommitId;
    /// Names the receipt of a cancel request.
    ReceiptId;
    /// Names a request that waits for an answer outside history.
    AskId;
}

/// What a write of native code must name: a lease of one epoch, the `counter`th of it.
/// An older fence changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Fence {
    /// The opening of the store that the lease belongs to.
    #[n(0)]
    pub epoch: Epoch,
    /// Rises with every lease of the epoch.
    #[n(1)]
    pub counter: u64,
}

fn hyphenated(uuid: u128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let hex = format!("{uuid:032x}");
    let (a, rest) = hex.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(4);
    let (d, e) = rest.split_at(4);
    write!(f, "{a}-{b}-{c}-{d}-{e}")
}

/// 128 bits as sixteen bytes, big end first, so that byte order is number order.
mod wide {
    use super::*;

    pub(crate) fn encode<C, W: Write>(
        value: &u128,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.bytes(&value.to_be_bytes())?.ok()
    }

    pub(crate) fn decode<'b, C>(d: &mut Decoder<'b>, _: &mut C) -> Result<u128, DecodeError> {
        let bytes = d.bytes()?;
        let bytes = bytes.try_into().map_err(|_| DecodeError::message("a wide id has 16 bytes"))?;
        Ok(u128::from_be_bytes(bytes))
    }
}
