//! What can go wrong in here, and how it is said outside.
//!
//! The one thing that matters most: an error says that nothing has happened, unless it says that
//! nobody knows. A statement that changes rows and is not answered may have been done.

use bowline_core::{Corrupt, RunId};
use bowline_store::Error;

/// Why a step did not do what it should.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The database says so.
    Sql(tokio_postgres::Error),
    /// The database says so, on a connection of the caller's own, or what it has sent does not
    /// read.
    Told { code: Option<String>, text: String },
    /// The database cannot be reached, or does not answer. Nothing was written.
    Away(String),
    /// A change was sent, and no answer came.
    Unsure(String),
    /// Somebody else has locked these runs, or something else that was needed, for longer than
    /// anybody waits for it. Nothing was written.
    Locked(Vec<RunId>),
    /// Somebody else was faster; nothing was written, and trying again will do.
    Lost,
    /// It was decided on rows from memory, and nothing will be written that would compare them
    /// with the database: they have to be read.
    Recalled,
    /// We say so.
    Said(Error),
}

/// What the database calls it when others were in the way: a serialization failure, a deadlock, a
/// lock that was not to be had, a key that somebody else has taken.
const RACES: [&str; 4] = ["40001", "40P01", LOCKED, "23505"];
const LOCKED: &str = "55P03";

impl Fault {
    /// True for an answer that is given before anything is written: the others of a group need not
    /// know of it.
    pub(crate) fn is_refusal(&self) -> bool {
        use Error::*;
        matches!(
            self,
            Self::Said(
                Conflict | Fenced | Missing(_) | Closed { .. } | IdTaken { .. } | Invalid(_)
            )
        )
    }

    /// True if nothing was written because others were in the way.
    pub(crate) fn is_race(&self) -> bool {
        match self {
            Self::Lost | Self::Recalled => true,
            Self::Sql(error) => error.code().is_some_and(|code| RACES.contains(&code.code())),
            Self::Told { code, .. } => code.as_deref().is_some_and(|code| RACES.contains(&code)),
            _ => false,
        }
    }

    /// True if the database was asked to wait so long for a lock, and no longer.
    pub(crate) fn is_locked(&self) -> bool {
        match self {
            Self::Sql(error) => error.code().is_some_and(|code| code.code() == LOCKED),
            Self::Told { code, .. } => code.as_deref() == Some(LOCKED),
            _ => false,
        }
    }

    /// True if every other item of a group would fare the same.
    pub(crate) fn is_common(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Unsure(_))
            || matches!(self, Self::Sql(error) if !is_definite(code(error)))
            || matches!(self, Self::Said(Error::Busy(_) | Error::ReadOnly(_)))
    }

    /// A row of this run does not read.
    pub(crate) fn corrupt(run: RunId, corrupt: Corrupt) -> Self {
        Self::Said(Error::Corrupt { run, corrupt })
    }

    /// What is said when a statement that commits by itself, or a COMMIT, was answered with this.
    /// Only an answer after which the connection lives on proves that nothing was committed.
    pub(crate) fn of_commit(error: tokio_postgres::Error) -> Self {
        match is_definite(code(&error)) {
            true => Self::Sql(error),
            false => Self::Unsure(format!("the connection was lost during a commit: {error}")),
        }
    }
}

fn code(error: &tokio_postgres::Error) -> Option<&str> {
    error.code().map(|code| code.code())
}

/// Whether the database has said that it did not do it.
fn is_definite(code: Option<&str>) -> bool {
    let Some(code) = code else { return false };
    // 08: the connection; 40003: completion unknown; 57P..: the server is going down. A session
    // that is ended because its transaction was idle (25P03) or open (25P04) for too long had not
    // begun to commit.
    !(code.starts_with("08") || code == "40003" || code.starts_with("57P"))
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Said(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Said(error) => error,
            Fault::Away(why) => Self::Busy(format!("the database cannot be reached: {why}")),
            Fault::Unsure(why) => Self::Unknown(why),
            Fault::Lost | Fault::Recalled => {
                Self::Busy("others were faster, again and again".into())
            }
            Fault::Locked(_) => {
                Self::Busy("somebody else's transaction has locked what is needed".into())
            }
            Fault::Sql(error) => said(error.code().map(|code| code.code()), shown(&error)),
            Fault::Told { code, text } => said(code.as_deref(), text),
        }
    }
}

fn said(code: Option<&str>, shown: String) -> Error {
    let Some(code) = code else {
        return Error::Busy(format!("the database cannot be reached: {shown}"));
    };
    match code {
        "22021" => Error::Invalid(format!("a text holds what the database cannot: {shown}")),
        "53100" => {
            Error::ReadOnly(format!("there is no room left: {shown}; free some, and it goes on"))
        }
        "25006" => {
            Error::ReadOnly(format!("the database is read-only, a standby perhaps: {shown}"))
        }
        // Left alone or open for too long in the middle of a transaction: the session was ended,
        // and with it what it had not committed.
        "25P03" | "25P04" => Error::Busy(shown),
        "42501" | "28000" | "28P01" | "3D000" => Error::Open(shown),
        code if ["08", "40", "53", "55", "57"].iter().any(|class| code.starts_with(class)) => {
            Error::Busy(shown)
        }
        _ => Error::Backend(shown),
    }
}

/// The database's own words, which the driver's error keeps to itself.
pub(crate) fn shown(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(own) => format!("{} ({})", own.message(), own.code().code()),
        None => {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(error);
            while let Some(inner) = source {
                text.push_str(&format!(": {inner}"));
                source = inner.source();
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: &str) -> Error {
        Fault::Told { code: Some(code.to_owned()), text: "why".to_owned() }.into()
    }

    /// A process that stood still in the middle of a transaction was told by the server that its
    /// session had been ended for that (25P03), and took it for something that does not pass.
    #[test]
    fn a_session_that_was_ended_is_tried_again() {
        let ended =
            ["25P03", "25P04", "57P01", "57P02", "57P03", "57P05", "57014", "08006", "53300"];
        for code in ended {
            let error = told(code);
            assert!(matches!(error, Error::Busy(_)), "{code}: {error:?}");
        }
        for code in ["25P01", "25P02", "42601", "XX000"] {
            let error = told(code);
            assert!(matches!(error, Error::Backend(_)), "{code}: {error:?}");
        }
    }

    /// In the middle of a commit it matters whether that was ended before it had begun.
    #[test]
    fn a_commit_is_unknown_where_it_may_have_been_done() {
        for code in ["57P01", "57P02", "57P03", "57P05", "08006", "08003", "40003"] {
            assert!(!is_definite(Some(code)), "{code}");
        }
        for code in ["25P03", "25P04", "57014", "40001", "40P01", "55P03", "53100"] {
            assert!(is_definite(Some(code)), "{code}");
        }
        assert!(!is_definite(None), "the connection was lost without a word");
    }
}
