//! A copy of the file, made while the store goes on working.
//!
//! The copy is of one moment: a reader's transaction stays open while its pages are copied, and
//! the writer goes on beside it. It takes its name only when it is whole, and never another's.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use bowline_store::{Error, Result};
use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};
use tokio::sync::oneshot;

use crate::{
    SqliteStore, begin_thread, connection::place, fault::Fault, limits, settings, shared::Shared,
};

/// How far a backup has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Pages that are copied.
    pub pages: u64,
    /// Pages in all.
    pub of: u64,
}

impl SqliteStore {
    /// Copies the store into a new file, which can be opened as a store of its own. `progress` is
    /// called now and then. It goes on if the answer is dropped.
    ///
    /// # Errors
    /// [`Error::Invalid`] if something lies at that place already: nothing is overwritten.
    pub async fn backup(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(Copied) + Send + 'static,
    ) -> Result<()> {
        let to = place::resolve(to.as_ref())?;
        let alive = self.alive.upgrade().ok_or(Error::Shut)?;
        let shared = self.shared.clone();
        let (reply, answer) = oneshot::channel();
        begin_thread("bowline-backup", move || {
            let _ = reply.send(copy(&shared, &to, &mut progress));
            drop(alive);
        })?;
        answer.await.unwrap_or(Err(Error::Shut))
    }
}

fn copy(shared: &Shared, to: &Path, progress: &mut dyn FnMut(Copied)) -> Result<()> {
    let part = beside(to);
    if to.exists() {
        return Err(exists(to));
    }
    let fresh = File::options().write(true).create_new(true).open(&part);
    fresh.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(&part),
        _ => Error::Invalid(format!("cannot write {}: {error}", part.display())),
    })?;
    let copied = pages(shared, &part, progress).and_then(|()| name(&part, to));
    if copied.is_err() {
        let _ = fs::remove_file(&part);
    }
    copied
}

fn pages(shared: &Shared, part: &Path, progress: &mut dyn FnMut(Copied)) -> Result<()> {
    let source = settings::reader(&shared.path, &shared.settings)?;
    // The transaction begins with the first row that is read.
    source.execute_batch("BEGIN").map_err(Fault::from)?;
    source.query_row("SELECT count(*) FROM versions", [], |_| Ok(())).map_err(Fault::from)?;
    let mut target = Connection::open(part).map_err(Fault::from)?;
    let backup = Backup::new(&source, &mut target).map_err(Fault::from)?;
    loop {
        let step = backup.step(limits::BACKUP_PAGES).map_err(Fault::from)?;
        let (left, of) = (backup.progress().remaining, backup.progress().pagecount);
        let number = |pages: i32| u64::try_from(pages).unwrap_or(0);
        progress(Copied { pages: number(of - left), of: number(of) });
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            other => return Err(Error::Busy(format!("the backup cannot go on: {other:?}"))),
        }
    }
}

/// Gives the whole copy its name. A link, unlike a renaming, never takes another file's place.
fn name(part: &Path, to: &Path) -> Result<()> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => exists(to),
        _ => Error::Invalid(format!("cannot write {}: {error}", to.display())),
    };
    File::open(part).and_then(|file| file.sync_all()).map_err(failed)?;
    fs::hard_link(part, to).map_err(failed)?;
    fs::remove_file(part).map_err(failed)?;
    if let Some(folder) = to.parent() {
        // The name is as durable as the pages, where folders can be synced.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

fn beside(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn exists(path: &Path) -> Error {
    Error::Invalid(format!("{} exists already: nothing is overwritten", path.display()))
}
