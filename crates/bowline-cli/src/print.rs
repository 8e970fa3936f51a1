//! The only place that writes to the terminal.

use serde_json::Value;

/// Where results go: a line of JSON each, or text for people.
#[derive(Clone, Copy)]
pub(crate) struct Printer {
    pub(crate) json: bool,
}

impl Printer {
    /// One result, in whichever form is wanted.
    #[expect(clippy::print_stdout, reason = "this is where results go")]
    pub(crate) fn line(self, text: impl FnOnce() -> String, json: Value) {
        match self.json {
            true => println!("{json}"),
            false => println!("{}", text()),
        }
    }
}

/// Why nothing was done.
#[expect(clippy::print_stderr, reason = "this is where errors go")]
pub(crate) fn error(error: &anyhow::Error) {
    eprintln!("bowline: {error:#}");
}
