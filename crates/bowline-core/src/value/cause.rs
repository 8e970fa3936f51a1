//! Why something was cancelled or stopped, and because of what, up to the first mover.

use std::fmt;

use minicbor::{
    Decode, Decoder, Encode, Encoder,
    decode::Error as DecodeError,
    encode::{Error as EncodeError, Write},
};

use crate::{Identity, Ladder, Ladders, RequestId, RunLadder};

macro_rules! codes {
    ($($(#[$doc:meta])* $number:literal $name:ident $text:literal;)*) => {
        /// Why, as a closed and stable set of words. A code of a newer version reads as `Other`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name,)*
            /// A code that this version does not know.
            Other,
        }

        impl Code {
            /// Every code that this version knows.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable word for this code, the same at every door.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other => "other",
                }
            }

            fn number(self) -> u32 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Other => 0,
                }
            }

            fn numbered(number: u32) -> Self {
                match number {
                    $($number => Self::$name,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

codes! {
    /// Somebody asked for it.
    1 Requested "requested";
    /// The parent's run closed.
    2 ParentClosed "parent_closed";
    /// The parent was cancelled.
    3 ParentCancelled "parent_cancelled";
    /// The scope that it belongs to was left.
    4 ScopeExit "scope_exit";
    /// Another branch of a race was faster.
    5 SelectLost "select_lost";
    /// Its future was dropped.
    6 FutureDropped "future_dropped";
    /// Its deadline passed.
    7 Deadline "deadline";
    /// Its run completed without it.
    8 RunCompleted "run_completed";
    /// Its run failed.
    9 RunFailed "run_failed";
    /// Its run was cancelled.
    10 RunCancelled "run_cancelled";
    /// Its run timed out.
    11 RunTimedOut "run_timed_out";
    /// Its run was terminated.
    12 RunTerminated "run_terminated";
    /// Its run continued as a new one.
    13 RunContinued "run_continued";
    /// Its run was deleted.
    14 Deleted "deleted";
    /// A gentler request had not helped in time.
    15 Escalated "escalated";
    /// Stop: the worker is shutting down.
    16 WorkerDrain "worker_drain";
    /// Stop: the worker went silent.
    17 WorkerLost "worker_lost";
    /// Stop: the lease belongs to somebody else now.
    18 LeaseLost "lease_lost";
    /// Stop: the attempt took too long.
    19 AttemptTimedOut "attempt_timed_out";
    /// Stop: a newer attempt runs.
    20 Superseded "superseded";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<C> Encode<C> for Code {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W::Error>> {
        e.u32(self.number())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Code {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
        Ok(Self::numbered(d.u32()?))
    }
}

/// Why something was cancelled or stopped. The first cause of a cancel wins and never changes.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Cause {
    /// Why, as a word that programs may match on.
    #[n(0)]
    pub code: Code,
    /// Why, in the words of the one who asked.
    #[n(1)]
    pub detail: String,
    /// Who asked; empty for decisions that code made.
    #[n(2)]
    pub requested_by: Identity,
    /// The request that asked.
    #[n(3)]
    pub request_id: Option<RequestId>,
    /// What this was a consequence of.
    #[n(4)]
    pub parent: Option<Box<Self>>,
    /// How hard to push, if the request says so.
    #[n(5)]
    pub ladders: Option<Box<Ladders>>,
}

impl Cause {
    /// A cause with nothing but its code.
    pub fn new(code: Code) -> Self {
        Self {
            code,
            detail: String::new(),
            requested_by: Identity::default(),
            request_id: None,
            parent: None,
            ladders: None,
        }
    }

    /// A request by somebody, in their words.
    pub fn requested(detail: impl Into<String>, by: impl Into<Identity>) -> Self {
        Self { detail: detail.into(), requested_by: by.into(), ..Self::new(Code::Requested) }
    }

    /// The same cause, explained.
    pub fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    /// The same cause, as a consequence of `parent`.
    pub fn because(self, parent: Self) -> Self {
        Self { parent: Some(Box::new(parent)), ..self }
    }

    /// Iterates over this cause and what it followed from, up to the first.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |cause| cause.parent.as_deref())
    }

    /// What is done to a run that stays open, if whoever asked for its cancel says so.
    pub fn run_ladder(&self) -> Option<RunLadder> {
        self.chain().find_map(|cause| cause.ladders.as_ref()?.run)
    }

    /// How a running activity is stopped, if whoever asked for its cancel says so.
    pub fn activity_ladder(&self) -> Option<Ladder> {
        self.chain().find_map(|cause| cause.ladders.as_ref()?.activities)
    }

    /// True if that ladder may only make the activity's own one quicker.
    pub fn only_hastens(&self) -> bool {
        let first = self.chain().find_map(|cause| cause.ladders.as_ref());
        first.is_some_and(|ladders| ladders.hastens)
    }

    /// Both ladders, as they are found along the chain.
    pub(crate) fn effective(&self) -> Ladders {
        let (run, activities) = (self.run_ladder(), self.activity_ladder());
        Ladders { run, activities, hastens: self.only_hastens() }
    }

    /// True if this is the same request or decision, however hard it pushes by now.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.code, &self.detail, &self.requested_by, &self.request_id, &self.parent)
            == (other.code, &other.detail, &other.requested_by, &other.request_id, &other.parent)
    }

    /// What started it all.
    pub fn root(&self) -> &Self {
        self.chain().last().unwrap_or(self)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, cause) in self.chain().enumerate() {
            if depth > 0 {
                f.write_str(", because ")?;
            }
            write!(f, "{}", cause.code)?;
            if !cause.requested_by.is_empty() {
                write!(f, " by {}", cause.requested_by)?;
            }
            if !cause.detail.is_empty() {
                write!(f, " ({})", cause.detail)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cause[{self}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_code_reads_as_other() {
        let bytes = minicbor::to_vec(9_999_u32).expect("a number encodes");
        assert_eq!(minicbor::decode::<Code>(&bytes).expect("decodes"), Code::Other);
    }

    #[test]
    fn every_code_has_a_word_and_a_number_of_its_own() {
        for code in Code::ALL {
            assert_eq!(Code::numbered(code.number()), *code);
            assert_eq!(Code::ALL.iter().filter(|c| c.as_str() == code.as_str()).count(), 1);
        }
    }

    #[test]
    fn the_chain_reads_from_the_effect_to_the_first_mover() {
        let cause = Cause::new(Code::ScopeExit)
            .because(Cause::new(Code::Deadline).because(Cause::requested("too late", "alice")));
        assert_eq!(
            cause.to_string(),
            "scope_exit, because deadline, because requested by alice (too late)"
        );
        assert_eq!(cause.root().code, Code::Requested);
    }
}
