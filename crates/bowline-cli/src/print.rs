//! The only place that writes to the terminal.

use std::io::{self, IsTerminal, Write};

use anyhow::Error;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    target::Refused,
    text::{Paint, fit, safe},
};

/// Where results go: a line of JSON each, or text for people.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Printer {
    pub(crate) json: bool,
    /// Whether there are colours: only where somebody sees them, and likes them.
    pub(crate) paint: Paint,
}

impl Printer {
    /// As the command line and the environment want it.
    pub(crate) fn new(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { json, paint: Paint(!json && !plain && io::stdout().is_terminal()) }
    }

    /// One result, in whichever form is wanted. Whoever does not read it any more is not told.
    pub(crate) fn line(self, text: impl FnOnce() -> String, json: Value) {
        let line = if self.json { json.to_string() } else { text() };
        let _ = self.write(&line);
    }

    /// One answer of the API for programs, or some lines for people.
    ///
    /// # Errors
    /// If nobody reads any more.
    pub(crate) fn answer(
        self,
        answer: &impl Serialize,
        lines: impl FnOnce() -> Vec<String>,
    ) -> anyhow::Result<()> {
        let text = match self.json {
            true => serde_json::to_string(answer)?,
            false => lines().join("\n"),
        };
        Ok(self.write(&text)?)
    }

    /// Something for people only.
    ///
    /// # Errors
    /// If nobody reads any more.
    pub(crate) fn tell(self, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self.json {
            true => Ok(()),
            false => Ok(self.write(&text())?),
        }
    }

    fn write(self, line: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// What is about to happen, or is worth knowing: not the answer.
    pub(crate) fn talk(self, text: &str) {
        if !self.json {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// A hint what to do next, if a person sits there.
    pub(crate) fn hint(self, text: impl FnOnce() -> String) {
        if io::stderr().is_terminal() {
            self.talk(&self.paint.text(crate::text::Look::Faint, &text()));
        }
    }
}

/// A piece of the terminal that is drawn again and again; nothing where it is not one.
pub(crate) struct Screen {
    is_live: bool,
    drawn: usize,
}

impl Screen {
    pub(crate) fn new(print: Printer) -> Self {
        Self { is_live: !print.json && io::stdout().is_terminal(), drawn: 0 }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Draws these lines over those from before. Lines that do not fit are cut: a line that wraps
    /// would be two.
    pub(crate) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        if !self.is_live {
            return Ok(());
        }
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let (rows, columns) =
            size.map_or((24, 80), |size| (size.ws_row.max(4).into(), size.ws_col.max(20).into()));
        let mut out = io::stdout().lock();
        if self.drawn > 0 {
            write!(out, "\x1b[{}A\r\x1b[J", self.drawn)?;
        }
        let shown = lines.len().min(rows - 2);
        for line in &lines[..shown] {
            writeln!(out, "{}", fit(line, columns))?;
        }
        self.drawn = shown;
        if shown < lines.len() {
            writeln!(out, "… and {} more lines", lines.len() - shown)?;
            self.drawn += 1;
        }
        out.flush()
    }
}

/// How far long work has come, where somebody sees it.
pub(crate) struct Bar {
    is_live: bool,
    /// In percent.
    told: Option<u64>,
}

impl Bar {
    pub(crate) fn new(print: Printer) -> Self {
        Self { is_live: !print.json && io::stderr().is_terminal(), told: None }
    }

    /// So much of all.
    pub(crate) fn draw(&mut self, done: u64, all: u64) {
        let percent = (done * 100).checked_div(all).unwrap_or(100).min(100);
        if !self.is_live || self.told == Some(percent) {
            return;
        }
        self.told = Some(percent);
        let full = (percent / 4) as usize;
        let (full, rest) = ("█".repeat(full), "░".repeat(25 - full));
        let end = if percent == 100 { "\n" } else { "" };
        let mut out = io::stderr();
        let _ = write!(out, "\r{full}{rest} {percent:>3} %{end}");
        let _ = out.flush();
    }
}

/// True if nobody reads any more: they have seen enough.
pub(crate) fn is_unread(error: &Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Why nothing was done.
pub(crate) fn error(error: &Error, json: bool) {
    let refused = error.downcast_ref::<Refused>();
    let text = format!("{error:#}");
    let said = match (json, refused) {
        (true, Some(refused)) => {
            json!({ "error": text, "code": refused.0.code, "todo": refused.todo() }).to_string()
        }
        (true, None) => json!({ "error": text, "code": "not_done" }).to_string(),
        (false, Some(refused)) => format!("bowline: {}\n  {}", safe(&text), refused.todo()),
        (false, None) => {
            let text: Vec<String> = text.lines().map(safe).collect();
            format!("bowline: {}", text.join("\n"))
        }
    };
    // Who cannot be told cannot be told that either.
    let _ = writeln!(io::stderr(), "{said}");
}
