//! `bowline completions` and `bowline man`: what is made from the definitions of the command line.

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use serde_json::json;

use crate::{args::Args, print::Printer};

pub(crate) fn completions(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    generate(shell, &mut Args::command(), "bowline", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(to: Option<&Path>, print: Printer) -> Result<ExitCode> {
    let command = Args::command();
    let Some(folder) = to else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        std::io::stdout().lock().write_all(&page)?;
        return Ok(ExitCode::SUCCESS);
    };
    if !folder.is_dir() {
        bail!("there is no directory {}", folder.display());
    }
    let cannot = || format!("the pages cannot be written to {}", folder.display());
    clap_mangen::generate_to(command, folder).with_context(cannot)?;
    let folder = folder.display().to_string();
    print.line(|| format!("the pages are in {folder}"), json!({ "to": folder }));
    Ok(ExitCode::SUCCESS)
}
