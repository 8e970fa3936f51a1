//! A folder has 25 files of Rust at the most: more of them are two things, or three.

use std::collections::BTreeMap;

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "folder", about: "A folder has 25 files of Rust at most", run };

const FILES_MAX: usize = 25;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, _) in tree.rust() {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    let full = folders.into_iter().filter(|(_, files)| *files > FILES_MAX);
    full.map(|(folder, files)| {
        let text = format!("{files} files, {FILES_MAX} are the most: group them by what they do");
        Finding::failure(folder, 1, text)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    #[test]
    fn full_folders_are_found() {
        let paths: Vec<String> = (0..26).map(|n| format!("crates/a/src/f{n}.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert_found(&CHECK, &files, "crates/a/src:1", "26 files, 25");
        assert_clean(&CHECK, &files[1..]);
    }
}
