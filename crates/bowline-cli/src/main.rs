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
mod target;
mod text;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let json = args.json;
    let run = || {
        secret::is_unspoken(std::env::args_os())?;
        compose::runtime(&args.command)?.block_on(command::run(args))
    };
    match run() {
        Ok(code) => code,
        Err(error) if print::is_unread(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print::error(&error, json);
            ExitCode::from(command::NOT_DONE)
        }
    }
}
