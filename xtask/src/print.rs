//! The only place that writes to the terminal.

/// Writes one line for the reader of the output.
#[expect(clippy::print_stdout, reason = "the one door to stdout")]
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Writes what went wrong, apart from the output.
#[expect(clippy::print_stderr, reason = "the one door to stderr")]
pub(crate) fn trouble(text: &str) {
    eprintln!("xtask: {text}");
}
