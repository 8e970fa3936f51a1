//! The chores that are one call of cargo: `fmt`, `lint` and `docs`.

use anyhow::Result;

use crate::{Command, shell};

pub(crate) const FMT: Command = Command {
    name: "fmt",
    about: "Format every Rust file",
    help: || {
        "Usage: cargo xtask fmt [--check]\n\n\
         --check changes nothing and fails where a file is not formatted."
            .to_owned()
    },
    run: fmt,
};

pub(crate) const LINT: Command = Command {
    name: "lint",
    about: "Run clippy on everything; a warning is a failure",
    help: || {
        "Usage: cargo xtask lint [-p PACKAGE]... [other arguments of cargo clippy]\n\n\
         The lints stand in the root Cargo.toml; the pure crates ban more in their clippy.toml."
            .to_owned()
    },
    run: lint,
};

pub(crate) const DOCS: Command = Command {
    name: "docs",
    about: "Build the documentation; a warning is a failure",
    help: || {
        "Usage: cargo xtask docs [-p PACKAGE]... [--open]\n\n\
         Documents the libraries of the workspace, with all their features, and nothing that they \
         depend on."
            .to_owned()
    },
    run: docs,
};

pub(crate) fn fmt(arguments: &[String]) -> Result<()> {
    let mut command = shell::cargo(&["fmt", "--all"])?;
    command.args(arguments);
    shell::run(command)
}

pub(crate) fn lint(arguments: &[String]) -> Result<()> {
    let mut command = shell::cargo(&["clippy", "--all-targets"])?;
    shell::add_scope(&mut command, arguments);
    // What follows the dashes goes to clippy itself, so ours must come last.
    if !arguments.iter().any(|argument| argument == "--") {
        command.arg("--");
    }
    command.args(["-D", "warnings"]);
    shell::run(command)
}

pub(crate) fn docs(arguments: &[String]) -> Result<()> {
    let mut command = shell::cargo(&["doc", "--no-deps", "--lib", "--all-features"])?;
    shell::add_scope(&mut command, arguments);
    command.env("RUSTDOCFLAGS", "-D warnings");
    shell::run(command)
}
