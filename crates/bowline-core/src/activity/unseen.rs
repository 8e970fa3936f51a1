//! Attempts whose end nobody has seen, whatever became of their activity.

use minicbor::{
    Decode, Decoder, Encode, Encoder,
    decode::Error as DecodeError,
    encode::{Error as EncodeError, Write},
};

use crate::{Epoch, Identity, Time, limits};

/// What is known of an attempt that is over for its run, and of which nobody has seen the end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[non_exhaustive]
pub enum Sight {
    /// Its code is known to run on: its process says so.
    #[n(0)]
    RunsOn,
    /// Its worker fell silent, or is a remote one that passed a limit: nobody knows.
    #[n(1)]
    Silent,
    /// The same, for so long that a policy presumes it dead. Nobody knows.
    #[n(2)]
    Presumed(#[n(0)] Time),
    /// Somebody said that its process is gone: who, and when.
    #[n(3)]
    SaidGone(#[n(0)] Identity, #[n(1)] Time),
}

/// An attempt whose end nobody has seen.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct UnseenAttempt {
    /// Which attempt.
    #[n(0)]
    pub attempt: u32,
    /// The opening of the store in whose process it ran; unset if that was a remote worker's.
    #[n(1)]
    pub epoch: Option<Epoch>,
    /// Who had it, as they call themselves.
    #[n(2)]
    pub worker: Identity,
    /// Since when nobody has known more of it.
    #[n(3)]
    pub since: Time,
    /// What is known.
    #[n(4)]
    pub sight: Sight,
}

impl UnseenAttempt {
    /// Whether its code may be running, for all that is known. Who says that a process is gone is
    /// believed, and named.
    pub fn may_run(&self) -> bool {
        !matches!(self.sight, Sight::SaidGone(..))
    }
}

/// What has become known of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gone {
    /// It has ended: it said goodbye, or somebody on its host has looked.
    Seen,
    /// It is there and has come back: what was begun under its old name has ended, except for
    /// what is known to run on.
    Back,
    /// Somebody said so, then.
    Said(Identity, Time),
}

/// Attempts of an activity that are over for its run and whose end nobody has seen, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen(Vec<UnseenAttempt>);

impl Unseen {
    /// A list of these.
    pub fn new(attempts: Vec<UnseenAttempt>) -> Self {
        Self(attempts)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &UnseenAttempt> {
        self.0.iter()
    }

    /// True if the code of any of them may be running.
    pub fn may_run(&self) -> bool {
        self.0.iter().any(UnseenAttempt::may_run)
    }

    /// True if any of them was begun in that opening of the store.
    pub fn names(&self, epoch: Epoch) -> bool {
        self.0.iter().any(|own| own.epoch == Some(epoch))
    }

    /// True if no further attempt may begin: there would be no room to remember it.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= limits::UNSEEN_MAX
    }

    pub(super) fn find(&self, attempt: u32) -> Option<&UnseenAttempt> {
        self.0.iter().find(|own| own.attempt == attempt)
    }

    /// Adds it, or what more is known of it.
    pub(super) fn add(&mut self, unseen: UnseenAttempt) {
        match self.0.iter_mut().find(|own| own.attempt == unseen.attempt) {
            Some(own) => own.sight = unseen.sight,
            None => self.0.push(unseen),
        }
    }

    /// True if it was there.
    pub(super) fn remove(&mut self, attempt: u32) -> bool {
        let before = self.0.len();
        self.0.retain(|own| own.attempt != attempt);
        self.0.len() < before
    }

    /// True if that changes anything.
    pub(super) fn hear(&mut self, epoch: Epoch, gone: &Gone) -> bool {
        let before = self.0.clone();
        match gone {
            Gone::Seen => self.0.retain(|own| own.epoch != Some(epoch)),
            Gone::Back => {
                self.0.retain(|own| own.epoch != Some(epoch) || own.sight == Sight::RunsOn);
            }
            Gone::Said(by, at) => {
                let own = self.0.iter_mut().filter(|own| own.epoch == Some(epoch));
                for own in own.filter(|own| own.may_run()) {
                    own.sight = Sight::SaidGone(by.clone(), *at);
                }
            }
        }
        self.0 != before
    }

    /// Presumes dead whoever has been silent since that moment or longer. True if somebody was.
    pub(super) fn presume(&mut self, since: Time, now: Time) -> bool {
        let silent = self.0.iter_mut().filter(|own| own.sight == Sight::Silent);
        let mut changed = false;
        for own in silent.filter(|own| own.since <= since) {
            own.sight = Sight::Presumed(now);
            changed = true;
        }
        changed
    }
}

// Hardly any row has one, so none costs nothing: it is left out, as an unset option is.
impl<C> Encode<C> for Unseen {
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

impl<'b, C> Decode<'b, C> for Unseen {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, DecodeError> {
        Vec::decode(d, ctx).map(Self)
    }

    fn nil() -> Option<Self> {
        Some(Self::default())
    }
}
