//! `sim`: plays worlds of the simulator, optimised.

use anyhow::Result;

use crate::{Command, shell};

pub(crate) const COMMAND: Command = Command {
    name: "sim",
    about: "Play simulated worlds: many members, many faults, one seed for each",
    help: || {
        "Usage: cargo xtask sim [--seeds N] [--from S] [--workers W] [--plant NAME]\n       \
         cargo xtask sim --seed S [--whole] [--plant NAME]\n\n\
         Plays the worlds of N seeds and says which rules were broken by which; or tells the \
         story of one seed, cut down to what is needed if a rule is broken there. --plant puts a \
         mended defect back, to see that it is found."
            .to_owned()
    },
    run,
};

fn run(arguments: &[String]) -> Result<()> {
    let mut command = shell::cargo(&["run", "--quiet", "--profile", "sim", "-p", "bowline-sim"])?;
    command.args(["--features", "planted", "--"]).args(arguments);
    shell::run(command)
}
