//! Why somebody is not let in, or may not do something.

use crate::Right;

/// Why a request is refused. The text is for the caller, and says nothing that only others may
/// know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Nothing was sent that says who asks.
    #[error(
        "credentials are needed: send an API key or a token as `authorization: Bearer ...`, or \
         use a client certificate"
    )]
    Missing,
    /// What was sent is not accepted.
    #[error("the credentials are not accepted: {0}")]
    Bad(&'static str),
    /// Who asks is known, and may not.
    #[error("{who} may not do this{}: the right `{right}` is needed", within(.namespace))]
    Forbidden {
        /// Who.
        who: String,
        /// What they lack.
        right: Right,
        /// Where; empty if that does not matter.
        namespace: String,
    },
    /// A run that somebody else has started.
    #[error("{who} may cancel only what {who} has started: the right `cancel_others` is needed")]
    NotYours {
        /// Who asks.
        who: String,
    },
    /// There is no such call in the table.
    #[error("nobody may call this: it is in no table of rights")]
    Unlisted,
    /// So many runs that somebody else must agree.
    #[error("this would touch {runs} runs: more than {most} must be confirmed by somebody else")]
    Unconfirmed {
        /// How many.
        runs: u64,
        /// How many may be touched on one's own word.
        most: u64,
    },
    /// A page of another site has made the request.
    #[error("a page of another site, or one under a foreign name, has made this request")]
    Foreign,
    /// It could not be written down.
    #[error("the audit log cannot be written, so nothing is changed")]
    Unaudited,
}

fn within(namespace: &str) -> String {
    match namespace {
        "" => String::new(),
        named => format!(" in the namespace {named:?}"),
    }
}

impl Refused {
    /// Whether other credentials are what is needed, and not more rights.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Missing | Self::Bad(_))
    }

    /// A word for programs, which stays the same.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "credentials_missing",
            Self::Bad(_) => "credentials_bad",
            Self::Forbidden { .. } => "forbidden",
            Self::NotYours { .. } => "not_yours",
            Self::Unlisted => "unlisted",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::Foreign => "foreign_origin",
            Self::Unaudited => "unaudited",
        }
    }
}

/// Why what a server was told about access cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// A file cannot be read.
    #[error("the file {path} cannot be read: {why}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        why: std::io::Error,
    },
    /// A file does not say what it should.
    #[error("the file {path} cannot be used: {why}")]
    Content {
        /// Which.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A key set cannot be fetched.
    #[error("the key set at {url} cannot be read: {why}")]
    Url {
        /// Where.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// Two things that do not go together, or one that is missing.
    #[error("{0}")]
    Settings(String),
}
