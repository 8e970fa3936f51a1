//! Text of a client's own in a line of the log: quoted, and cut.

use std::fmt;

use crate::limits;

/// A text as it may stand in a line: on that line, with an end.
pub(crate) struct Quoted<'t>(pub(crate) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.floor_char_boundary(limits::LOGGED);
        write!(to, "{:?}", &self.0[..end])?;
        if end < self.0.len() {
            write!(to, " and {} bytes more", self.0.len() - end)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line() {
        let forged = "x\n2026-01-01 ERROR all is lost\u{1b}[31m";
        let said = Quoted(forged).to_string();
        assert_eq!(said, "\"x\\n2026-01-01 ERROR all is lost\\u{1b}[31m\"");
        let long = Quoted(&"ü".repeat(1_000)).to_string();
        assert!(long.len() < 300 && long.ends_with("\" and 1800 bytes more"), "{long}");
    }
}
