//! A folder of its own for one test run.
//!
//! Tests kill processes, and a killed process cleans nothing up. Its database files land here and
//! go with the folder. It lies in the system's temporary folder because its path must stay short:
//! the path of a Unix socket has about a hundred bytes.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Ready, Step};

pub(super) const STEP: Step = Step {
    name: "scratch",
    about: "an empty temporary folder for this run (TMPDIR)",
    wanted_by: &[],
    prepare,
};

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A process that outlived its test may still write here; the folder then stays behind,
        // which is a nuisance and no failure of the tests.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn prepare() -> Result<Ready> {
    let folder = std::env::temp_dir().join(format!("bowline-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let environment = vec![("TMPDIR", folder.clone().into_os_string())];
    Ok(Ready { environment, guard: Box::new(Scratch(folder)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_exists_until_the_guard_is_dropped() {
        let ready = prepare().unwrap();
        let folder = PathBuf::from(&ready.environment[0].1);
        std::fs::write(folder.join("left-behind.db"), "rows").unwrap();
        assert!(folder.is_dir());
        drop(ready);
        assert!(!folder.exists());
    }
}
