//! The workshop: every chore around the code, under one command.
//!
//! In:    `cargo xtask <command> [arguments]`.
//! Out:   the chore's own output, and an exit code that scripts can trust.
//! Never: knows a chore. Each command is a file of its own, listed in `COMMANDS`.

mod api;
mod chore;
mod ci;
mod neighbours;
mod print;
mod setup;
mod shell;
mod sim;
mod soak;
mod source;
mod test;
mod tidy;
mod tree;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// One word after `cargo xtask`.
struct Command {
    name: &'static str,
    /// One line for the list of commands.
    about: &'static str,
    /// What `cargo xtask <name> --help` says below that line.
    help: fn() -> String,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[Command] = &[
    test::COMMAND,
    ci::COMMAND,
    chore::FMT,
    chore::LINT,
    tidy::COMMAND,
    chore::DOCS,
    api::COMMAND,
    neighbours::COMMAND,
    soak::COMMAND,
    sim::COMMAND,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print::trouble(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        print::line(&overview());
        return Ok(());
    };
    if is_help(name) {
        print::line(&overview());
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        bail!("there is no command `{name}`; `cargo xtask --help` lists those that exist");
    };
    if rest.first().is_some_and(|first| is_help(first)) {
        print::line(&format!("{}.\n\n{}", command.about, (command.help)()));
        return Ok(());
    }
    (command.run)(rest)
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "--help" | "-h" | "help")
}

fn overview() -> String {
    let mut text = String::from(
        "The chores around Bowline's code.\n\n\
         Usage: cargo xtask <command> [arguments]\n\n\
         Commands:\n",
    );
    for command in COMMANDS {
        text.push_str(&format!("  {:<6} {}\n", command.name, command.about));
    }
    text.push_str(
        "\nNew here? `cargo xtask test` builds everything and runs every test.\n\
         Before a commit, `cargo xtask ci` says what a reviewer's machine would say.\n\
         `cargo xtask <command> --help` explains one command.",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overview_names_every_command() {
        let text = overview();
        for command in COMMANDS {
            assert!(text.contains(command.about), "`{}` is missing", command.name);
        }
    }

    #[test]
    fn unknown_command_is_refused_and_says_where_to_look() {
        let error = dispatch(&["tets".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`tets`") && error.contains("--help"), "{error}");
    }
}
