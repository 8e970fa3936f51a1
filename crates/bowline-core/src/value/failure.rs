//! What user code ended with when it did not end well: data, never a Rust error of ours.

use std::fmt;

use minicbor::{Decode, Encode};

use crate::{Blob, Payload, Span, Timeout};

/// What the code that failed thinks about trying again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[non_exhaustive]
pub enum Verdict {
    /// The retry policy decides.
    #[default]
    #[n(0)]
    ByPolicy,
    /// Never try this again.
    #[n(1)]
    Never,
    /// Try again, but only after this long.
    #[n(2)]
    After(#[n(0)] Span),
}

/// An error of user code, in a form that outlives the process.
#[derive(Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Failure {
    /// What happened, for people.
    #[n(0)]
    pub message: String,
    /// The error's type, for programs; retry policies may name it.
    #[n(1)]
    pub kind: String,
    /// Whether to try again.
    #[n(2)]
    pub verdict: Verdict,
    /// The error itself, if it can be read back as a value.
    #[n(3)]
    pub details: Option<Payload>,
    /// Where it happened.
    #[n(4)]
    pub trace: String,
    /// What it followed from.
    #[n(5)]
    pub source: Option<Box<Self>>,
    /// A door's own form of the whole failure, handed back untouched.
    #[n(6)]
    pub wire: Option<Blob>,
    /// The limit that was passed, where that is all that happened.
    #[n(7)]
    pub timeout: Option<Timeout>,
}

impl Failure {
    /// A failure with nothing but a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The same failure, of a named kind.
    pub fn kind(self, kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), ..self }
    }

    /// The same failure, never to be tried again.
    pub fn final_(self) -> Self {
        Self { verdict: Verdict::Never, ..self }
    }

    /// About how many bytes it takes.
    pub fn len(&self) -> usize {
        let own = self.message.len() + self.kind.len() + self.trace.len();
        let details = self.details.as_ref().map_or(0, Payload::len);
        let wire = self.wire.as_ref().map_or(0, Blob::len);
        own + details + wire + self.source.as_ref().map_or(0, |source| source.len())
    }

    /// True if it says nothing at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kind.is_empty() {
            write!(f, "{}: ", self.kind)?;
        }
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, " (from {source})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure[{self}]")
    }
}
