//! The repository as data: every path, and the text of every file that a check may want to read.
//!
//! In:    a folder, or, in tests, a list of paths and texts.
//! Out:   files in the order of their paths, Rust files taken apart, test files known as such.
//! Never: reads again. All checks see one state of the tree.

mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};

use crate::source::Source;

/// Folders whose content is nobody's source: built, fetched or kept by git.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", ".venv", "__pycache__"];

/// The kinds of file whose text is kept.
const READ: &[&str] = &["rs", "md", "toml", "sql"];

pub(crate) struct Tree {
    files: BTreeMap<String, File>,
    /// Every file and every folder, also those whose text nobody needs.
    paths: BTreeSet<String>,
}

pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Set for Rust files.
    pub(crate) source: Option<Source>,
    /// Whether the whole file is compiled for tests only.
    is_test: bool,
    /// Whether a crate root leads to this file by `mod`.
    is_reached: bool,
}

impl Tree {
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut texts = BTreeMap::new();
        let mut paths = BTreeSet::new();
        read_folder(root, "", &mut texts, &mut paths)?;
        Ok(Self::new(texts, paths))
    }

    fn new(texts: BTreeMap<String, String>, paths: BTreeSet<String>) -> Self {
        let files = texts.into_iter().map(|(path, text)| {
            let source = path.ends_with(".rs").then(|| Source::new(&text));
            let file = File { path: path.clone(), text, source, is_test: false, is_reached: false };
            (path, file)
        });
        let mut tree = Self { files: files.collect(), paths };
        for (path, is_test) in reach::walk(&tree) {
            let file = tree.files.get_mut(&path).expect("the walk visits files of the tree");
            file.is_reached = true;
            file.is_test = is_test;
        }
        tree
    }

    /// Whether there is a file or a folder of this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path.trim_end_matches('/'))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values()
    }

    /// The Rust files, with what they are made of.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files().filter_map(|file| file.source.as_ref().map(|source| (file, source)))
    }

    /// The Rust files below `crates/*/src`.
    pub(crate) fn crate_sources(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.rust().filter(|(file, _)| file.is_crate_source())
    }
}

impl File {
    /// The folder of the crate below `crates/`, if the file is in one.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split_once('/').map(|(name, _)| name)
    }

    /// The path below the crate's folder.
    pub(crate) fn crate_path(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split_once('/').map(|(_, path)| path)
    }

    fn is_crate_source(&self) -> bool {
        self.crate_path().is_some_and(|path| path.starts_with("src/"))
    }

    /// Whether the byte is code that only tests, benches or examples compile.
    pub(crate) fn is_test(&self, offset: usize) -> bool {
        self.is_test || self.source.as_ref().is_some_and(|source| source.is_test(offset))
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.is_reached
    }

    /// Whether this is the file of the module `base` or a file below it: `base` is `a/b`, without
    /// `.rs`.
    pub(crate) fn is_in_room(&self, base: &str) -> bool {
        self.path.strip_prefix(base).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }
}

fn read_folder(
    root: &Path,
    folder: &str,
    texts: &mut BTreeMap<String, String>,
    paths: &mut BTreeSet<String>,
) -> Result<()> {
    let place = root.join(folder);
    let entries =
        std::fs::read_dir(&place).with_context(|| format!("cannot list {}", place.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                paths.insert(path.clone());
                read_folder(root, &path, texts, paths)?;
            }
            continue;
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        if kind.is_file() && READ.contains(&extension) {
            let text = std::fs::read_to_string(entry.path())
                .with_context(|| format!("cannot read {path} as text"))?;
            texts.insert(path.clone(), text);
        }
        paths.insert(path);
    }
    Ok(())
}

#[cfg(test)]
impl Tree {
    /// A tree of these files, for the tests of the checks.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut paths = BTreeSet::new();
        for (path, _) in files {
            paths.insert((*path).to_owned());
            for (end, _) in path.match_indices('/') {
                paths.insert(path[..end].to_owned());
            }
        }
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self::new(texts.collect(), paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_known_and_rooms_have_a_border() {
        let tree = Tree::of(&[("a/b/c.rs", ""), ("a/b.rs", ""), ("a/bc.rs", "")]);
        assert!(tree.has("a/b") && tree.has("a/b/") && tree.has("a/b/c.rs") && !tree.has("a/c"));
        let inside: Vec<_> = tree.files().map(|file| file.is_in_room("a/b")).collect();
        assert_eq!(inside, [true, true, false]);
    }

    #[test]
    fn the_repository_itself_loads() {
        let tree = Tree::load(&crate::shell::root().unwrap()).unwrap();
        assert!(tree.has("xtask/src/tree.rs"));
        assert!(tree.file("xtask/src/tree.rs").unwrap().is_reached());
        assert!(!tree.has("target") && !tree.has(".git"));
    }
}
