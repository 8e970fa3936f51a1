//! What the steps for Temporal's SDKs share: a place beside the build, stamps, and how a lack is
//! told.
//!
//! Each SDK comes from its own registry, in the versions that a lock file names. A machine without
//! its tools is told so by name, and those tests say that they were skipped; where `CI` is set,
//! that is a failure.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Ready;
use crate::{print, shell};

/// The packages whose tests need an SDK.
pub(super) const USERS: &[&str] = &["bowline-cli"];

/// What a step has prepared, or that it could not.
pub(super) fn ready(
    language: &str,
    variable: &'static str,
    prepared: Result<PathBuf>,
) -> Result<Ready> {
    let environment = match prepared {
        Ok(path) => vec![(variable, path.into_os_string())],
        Err(error) if std::env::var_os("CI").is_some() => return Err(error),
        Err(error) => {
            print::line(&format!("SKIPPED: tests with the {language} SDK: {error:#}"));
            Vec::new()
        }
    };
    Ok(Ready { environment, guard: Box::new(()) })
}

/// A folder beside the build that outlives the test run.
pub(super) fn folder(name: &str) -> Result<PathBuf> {
    let folder = shell::target()?.join("sdk").join(name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Where the program in one language is written.
pub(super) fn sources(language: &str) -> Result<PathBuf> {
    Ok(shell::root()?.join("crates/bowline-cli/tests/sdk").join(language))
}

/// Does something unless it was done before with the same files.
pub(super) fn once(
    stamp: &Path,
    files: &[PathBuf],
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        let text = std::fs::read(file);
        text.with_context(|| format!("cannot read {}", file.display()))?.hash(&mut hasher);
    }
    let key = format!("{:016x}", hasher.finish());
    if std::fs::read_to_string(stamp).is_ok_and(|done| done == key) {
        return Ok(());
    }
    make()?;
    // Written last, so that what was half made is made again.
    std::fs::write(stamp, key).with_context(|| format!("cannot write {}", stamp.display()))
}

/// The files of a folder, in order.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        files.push(entry.with_context(cannot)?.path());
    }
    files.sort();
    Ok(files)
}

/// Copies files into a folder.
pub(super) fn copy(files: &[PathBuf], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    for file in files {
        let name = file.file_name().context("a file has a name")?;
        std::fs::copy(file, folder.join(name))
            .with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// A program of the machine's, which must be there.
pub(super) fn tool(name: &str, version: &[&str]) -> Result<OsString> {
    match Command::new(name).args(version).output() {
        Ok(output) if output.status.success() => Ok(name.into()),
        _ => bail!("there is no `{name}` on this machine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_worked_on_once_and_a_failure_is_tried_again() {
        let folder = std::env::temp_dir().join(format!("bowline-once-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (stamp, file) = (folder.join("stamp"), folder.join("file"));
        let mut count = 0;
        let mut make = |text: &str, outcome: Result<()>| {
            std::fs::write(&file, text).unwrap();
            let made = once(&stamp, std::slice::from_ref(&file), || {
                count += 1;
                outcome
            });
            (made.is_ok(), count)
        };
        assert_eq!(make("one", Err(anyhow::anyhow!("no"))), (false, 1));
        assert_eq!(make("one", Ok(())), (true, 2));
        assert_eq!(make("one", Ok(())), (true, 2));
        assert_eq!(make("two", Ok(())), (true, 3));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
