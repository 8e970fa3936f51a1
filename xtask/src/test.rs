//! `test`: prepare what the tests need, run all of them, and put everything away again.

use anyhow::Result;

use crate::{Command, setup, shell};

pub(crate) const COMMAND: Command = Command {
    name: "test",
    about: "Prepare what the tests need, then run all of them, doc tests included",
    help: || {
        format!(
            "Usage: cargo xtask test [arguments of cargo test]\n\n\
             Without arguments every test of the workspace runs. To run fewer:\n  \
             cargo xtask test -p bowline-core          one package\n  \
             cargo xtask test cancel                   the tests with `cancel` in their name\n  \
             cargo xtask test -- --nocapture           with their output\n\n\
             Prepared first, where the chosen packages need it, and taken away afterwards:\n{}",
            setup::listing()
        )
    },
    run,
};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    // Held to the end: what was prepared is taken away when this is dropped, however it went.
    let prepared = setup::prepare(arguments)?;
    let mut command = shell::cargo(&["test"])?;
    shell::add_scope(&mut command, arguments);
    command.envs(prepared.environment());
    shell::run(command)
}
