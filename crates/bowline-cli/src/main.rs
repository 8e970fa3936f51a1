//! The `bowline` command: serves a store, and looks after one.

mod args;
mod command;
mod compose;
mod http;
mod metrics;
mod print;
mod protect;
mod secret;
mod settings;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    if let Err(error) = secret::is_unspoken(std::env::args_os()) {
        print::error(&error);
        return ExitCode::from(2);
    }
    match compose::runtime(&args.command).and_then(|runtime| runtime.block_on(command::run(args))) {
        Ok(code) => code,
        Err(error) => {
            print::error(&error);
            ExitCode::from(2)
        }
    }
}
