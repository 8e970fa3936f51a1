//! Sessions: commands, and all that they print, how they exit, as a reviewer reads it.

mod database;
mod store;
mod wrong;

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::{err, out, plain::Plain};

/// Somebody at a terminal, in a folder; what they type and see is written down.
struct Session<'a> {
    folder: &'a Path,
    /// Options that every command has, and nobody wants to read.
    hidden: Vec<String>,
    /// A text that is written as another one.
    shown_as: Vec<(String, String)>,
    plain: Plain,
    seen: String,
    /// The last receipt that was named.
    receipt: String,
}

impl<'a> Session<'a> {
    fn new(folder: &'a Path) -> Self {
        let shown_as = vec![(format!("{}/", folder.display()), String::new())];
        Self {
            folder,
            hidden: Vec::new(),
            shown_as,
            plain: Plain::default(),
            seen: String::new(),
            receipt: String::new(),
        }
    }

    /// What is typed: words apart by spaces, `'` around those with spaces. `RECEIPT` is the last
    /// one that was named.
    fn command(&self, typed: &str) -> Command {
        let mut words: Vec<String> = Vec::new();
        for (at, part) in typed.split('\'').enumerate() {
            match at % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        let words = words.iter().map(|word| match word.as_str() {
            "RECEIPT" => self.receipt.clone(),
            word => self.shown_as.iter().fold(word.to_owned(), |word, (real, shown)| {
                match shown.is_empty() {
                    true => word,
                    false => word.replace(shown, real),
                }
            }),
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
        command.args(&self.hidden).args(words).current_dir(self.folder).stdin(Stdio::null());
        command.env("TZ", "Europe/Berlin").env("USER", "tester").env_remove("NO_COLOR");
        command
    }

    /// Types a command, and writes down what is seen.
    fn types(&mut self, typed: &str) -> Output {
        let output = self.command(typed).output().expect("the command runs");
        self.saw(typed, &output);
        output
    }

    fn saw(&mut self, typed: &str, output: &Output) {
        let (out, err) = (out(output), err(output));
        assert!(!out.contains('\x1b'), "there are colours in a pipe: {out}");
        let named = out.split("receipt ").nth(1).filter(|_| !out.contains("bowline receipt"));
        if let Some(id) = named.and_then(|rest| rest.get(..36)) {
            self.receipt = id.to_owned();
        }
        let mut text = |text: &str, sign: &str| {
            let text = self
                .shown_as
                .iter()
                .fold(text.to_owned(), |text, (real, shown)| text.replace(real, shown));
            let text = self.plain.text(&text);
            text.lines().map(|line| format!("{sign}{line}").trim_end().to_owned() + "\n").collect()
        };
        let (out, err): (String, String) = (text(&out, ""), text(&err, "! "));
        let code =
            output.status.code().map_or_else(|| "killed".to_owned(), |code| code.to_string());
        let code = if code == "0" { String::new() } else { format!("= {code}\n") };
        self.seen.push_str(&format!("$ bowline {typed}\n{out}{err}{code}\n"));
    }
}
