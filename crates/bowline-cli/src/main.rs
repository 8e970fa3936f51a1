//! The `bowline` command: looks after a store file while no program has it open.

mod args;
mod command;
mod compose;
mod print;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match compose::runtime(&args.command).and_then(|runtime| runtime.block_on(command::run(args))) {
        Ok(code) => code,
        Err(error) => {
            print::error(&error);
            ExitCode::from(2)
        }
    }
}
