//! What a check has to say about one line.

use std::fmt;

/// One line of tidy's output.
#[derive(Debug)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    text: String,
    is_failure: bool,
    /// The name by which a comment may allow it.
    escape: Option<&'static str>,
}

impl Finding {
    /// Something that must not be. The text says what is wrong and what to do.
    pub(crate) fn failure(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into(), is_failure: true, escape: None }
    }

    /// Something to think about.
    pub(crate) fn warning(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { is_failure: false, ..Self::failure(path, line, text) }
    }

    /// Lets a comment `tidy: allow(name) reason` allow it.
    pub(crate) fn or_allow(self, name: &'static str) -> Self {
        Self { escape: Some(name), ..self }
    }

    pub(crate) fn is_failure(&self) -> bool {
        self.is_failure
    }

    pub(crate) fn place(&self) -> (&str, usize) {
        (&self.path, self.line)
    }

    pub(crate) fn escape(&self) -> Option<&'static str> {
        self.escape
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.is_failure { "" } else { "warning: " };
        write!(f, "{}:{}: {level}{}", self.path, self.line, self.text)
    }
}
