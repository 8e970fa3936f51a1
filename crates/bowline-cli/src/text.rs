//! How things are shown to people. Everything here is a function of what it is given.

mod data;
mod history;
mod moment;
mod run;
mod table;
mod tree;

pub(crate) use data::{Length, data, failure};
pub(crate) use history::HistoryText;
pub(crate) use moment::{LocalTime, span};
pub(crate) use run::{page, runs};
pub(crate) use table::{Table, fit};
pub(crate) use tree::{orphans, receipt};

/// A text of somebody else's, on one line and without anything that a terminal would obey: what
/// moves the cursor, and what turns the direction of writing.
pub(crate) fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let marks = matches!(c, '\u{200e}' | '\u{200f}');
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match c.is_control() || marks || turns {
            true => safe.extend(c.escape_default()),
            false => safe.push(c),
        }
    }
    safe
}

/// The same on several lines, each behind this indentation.
pub(crate) fn safe_lines(text: &str, indent: &str) -> String {
    let lines: Vec<String> =
        text.trim_end().lines().map(|line| format!("{indent}{}", safe(line))).collect();
    lines.join("\n")
}

/// How a piece of text looks, where there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Strong,
    Good,
    Bad,
    Busy,
    Faint,
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// A piece of text as it looks.
    pub(crate) fn text(self, look: Look, text: &str) -> String {
        let code = match look {
            Look::Strong => 1,
            Look::Good => 32,
            Look::Bad => 31,
            Look::Busy => 33,
            Look::Faint => 2,
        };
        match self.0 && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

/// How the state of a run looks.
pub(crate) fn look_of(state: &str) -> Look {
    match state {
        "completed" => Look::Good,
        "failed" | "timed_out" | "parked" => Look::Bad,
        "cancelling" => Look::Busy,
        "cancelled" | "terminated" | "continued_as_new" => Look::Faint,
        _ => Look::Strong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workflow id may be anything, and a terminal obeys what it is sent.
    #[test]
    fn nothing_of_others_moves_the_cursor() {
        assert_eq!(safe("a\x1b[2Jb\r\n\tc"), r"a\u{1b}[2Jb\r\n\tc");
        assert_eq!(safe("\u{9b}31m \u{202e}evil"), r"\u{9b}31m \u{202e}evil");
        assert_eq!(safe("größe 箱"), "größe 箱");
        assert_eq!(safe_lines("at a\n  at b\x07\n", "  "), "  at a\n    at b\\u{7}");
    }

    #[test]
    fn without_colours_a_text_is_itself() {
        assert_eq!(Paint(false).text(Look::Bad, "x"), "x");
        assert_eq!(Paint(true).text(Look::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Paint(true).text(Look::Bad, ""), "");
    }
}
