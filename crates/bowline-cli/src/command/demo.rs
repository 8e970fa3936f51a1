//! `bowline demo`: a fleet of runs on a temporary file, cancelled in every way there is, its worker
//! killed in the middle; and then the proof that nothing is left.
//!
//! Everything that is shown is read back from the store, or asked of the operating system.

mod alive;
mod keeper;
mod line;
mod print;
mod proof;
mod story;
mod worker;
mod workflow;

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde_json::json;

use self::print::Teller;

/// What the demo may be told.
pub(crate) struct DemoOptions {
    pub(crate) json: bool,
    /// Keeps the store in this new directory.
    pub(crate) keep: Option<PathBuf>,
    /// This process is the worker, on this file.
    pub(crate) worker: Option<PathBuf>,
}

pub(crate) async fn run(options: DemoOptions) -> Result<ExitCode> {
    if let Some(file) = options.worker {
        worker::run(&file).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let place = DemoFolder::new(options.keep)?;
    let tell = Teller::new(options.json);
    let ended = tokio::select! {
        ended = play(&place, &tell) => ended,
        _ = tokio::signal::ctrl_c() => bail!("the demo was interrupted"),
    };
    match ended {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::from(1)),
        // Whoever read our output has left, and needs no words about it.
        Err(error) if is_unread(&error) => Ok(ExitCode::from(2)),
        Err(error) => Err(error),
    }
}

/// True if nothing was left.
async fn play(place: &DemoFolder, tell: &Teller) -> Result<bool> {
    let file = place.file();
    let title = "A small fleet is started, stopped in many ways, and killed with -9 on the way.";
    tell.say(&tell.paint(print::Look::Strong, title))?;
    tell.say("What you see is read back from one SQLite file, or asked of the operating system.")?;
    tell.fact("demo", &format!("The file: {}", file.display()), json!({ "store": file }))?;
    let told = story::tell(&file, tell).await?;
    let is_clean = proof::read(&file, &told, tell).await?;
    if let DemoFolder::Kept(folder) = place {
        let file = folder.join(NAME);
        tell.say(&format!("\nThe file was kept: bowline list {}", file.display()))?;
    }
    Ok(is_clean)
}

fn is_unread(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// The file's name.
const NAME: &str = "demo.db";

/// Where the store is.
enum DemoFolder {
    /// It is removed in the end.
    Temporary(tempfile::TempDir),
    Kept(PathBuf),
}

impl DemoFolder {
    fn new(keep: Option<PathBuf>) -> Result<Self> {
        let Some(folder) = keep else {
            let folder = tempfile::Builder::new().prefix("bowline-demo-").tempdir();
            return Ok(Self::Temporary(folder.context("there is no room for a temporary file")?));
        };
        let made = std::fs::create_dir(&folder);
        made.with_context(|| format!("the directory {} cannot be made", folder.display()))?;
        Ok(Self::Kept(folder))
    }

    fn file(&self) -> PathBuf {
        let folder: &Path = match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(folder) => folder,
        };
        folder.join(NAME)
    }
}
