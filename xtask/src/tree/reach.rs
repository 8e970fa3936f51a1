//! Follows `mod` from every crate root, as the compiler does.
//!
//! In:    a tree whose files have been taken apart.
//! Out:   the path of every Rust file that some crate compiles, and whether only its tests do.

use std::collections::BTreeMap;

use super::Tree;
use crate::source::Declaration;

/// Every Rust file that is reached, with whether all ways to it are for tests.
pub(super) fn walk(tree: &Tree) -> BTreeMap<String, bool> {
    let mut reached = BTreeMap::new();
    for package in packages(tree) {
        for (root, is_test) in roots(tree, &package) {
            visit(tree, &root, true, is_test, &mut reached);
        }
    }
    reached
}

/// The folder of every package, with a slash behind it; the root is the empty string.
fn packages(tree: &Tree) -> Vec<String> {
    tree.files
        .keys()
        .filter_map(|path| path.strip_suffix("Cargo.toml").map(str::to_owned))
        .collect()
}

fn roots(tree: &Tree, package: &str) -> Vec<(String, bool)> {
    let manifest = &tree.files[&format!("{package}Cargo.toml")].text;
    let named = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix("path"))
        .filter_map(|rest| rest.split('"').nth(1))
        .filter(|path| path.ends_with(".rs"));
    let mut roots = Vec::new();
    for path in named.chain(["src/lib.rs", "src/main.rs", "build.rs"]) {
        roots.push((format!("{package}{path}"), false));
    }
    for (folder, is_test) in
        [("src/bin/", false), ("tests/", true), ("benches/", true), ("examples/", true)]
    {
        let folder = format!("{package}{folder}");
        for path in tree.files.keys() {
            let Some(rest) = path.strip_prefix(&folder) else { continue };
            let is_own = !rest.contains('/') && rest.ends_with(".rs");
            let is_main = rest.ends_with("/main.rs") && rest.matches('/').count() == 1;
            if is_own || is_main {
                roots.push((path.clone(), is_test));
            }
        }
    }
    roots.retain(|(path, _)| tree.files.contains_key(path));
    roots
}

fn visit(
    tree: &Tree,
    path: &str,
    is_root: bool,
    is_test: bool,
    reached: &mut BTreeMap<String, bool>,
) {
    // A file that tests and the crate share is visited again for the crate's sake.
    if reached.get(path).is_some_and(|known| !known || is_test) {
        return;
    }
    reached.insert(path.to_owned(), is_test);
    let Some(source) = &tree.files[path].source else { return };
    for declaration in source.modules() {
        for candidate in places(path, is_root, &declaration) {
            if tree.files.contains_key(&candidate) {
                let is_test = is_test || declaration.is_test;
                visit(tree, &candidate, candidate.ends_with("/mod.rs"), is_test, reached);
            }
        }
    }
}

/// Where the file of a module may lie. Roots and `mod.rs` own their folder; `a.rs` owns `a/`.
fn places(path: &str, is_root: bool, declaration: &Declaration) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stem = path.trim_end_matches(".rs");
    let mut base = if is_root { folder.to_owned() } else { stem.to_owned() };
    for module in &declaration.inside {
        base = format!("{base}/{module}");
    }
    if let Some(explicit) = &declaration.path {
        let from = if declaration.inside.is_empty() { folder } else { &base };
        return vec![normalise(&format!("{from}/{explicit}"))];
    }
    let name = &declaration.name;
    vec![format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs")]
}

fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(files: &[(&str, &str)]) -> Vec<(String, bool)> {
        walk(&Tree::of(files)).into_iter().collect()
    }

    fn check(files: &[(&str, &str)], expected: &[(&str, bool)]) {
        let expected: Vec<_> =
            expected.iter().map(|(path, is_test)| ((*path).to_owned(), *is_test)).collect();
        assert_eq!(reached(files), expected);
    }

    #[test]
    fn modules_are_followed_into_their_folders() {
        check(
            &[
                ("k/Cargo.toml", ""),
                ("k/src/a.rs", "mod b;"),
                ("k/src/a/b.rs", ""),
                ("k/src/forgotten.rs", ""),
                ("k/src/lib.rs", "mod a; mod inline { mod c; }"),
                ("k/src/inline/c.rs", ""),
            ],
            &[
                ("k/src/a.rs", false),
                ("k/src/a/b.rs", false),
                ("k/src/inline/c.rs", false),
                ("k/src/lib.rs", false),
            ],
        );
    }

    #[test]
    fn test_code_is_known_by_the_way_to_it() {
        check(
            &[
                ("k/Cargo.toml", ""),
                ("k/src/lib.rs", "#[cfg(test)] mod tests;"),
                ("k/src/tests.rs", ""),
                ("k/tests/it/main.rs", "mod cancel;"),
                ("k/tests/it/cancel.rs", ""),
                ("k/tests/it/forgotten.rs", ""),
            ],
            &[
                ("k/src/lib.rs", false),
                ("k/src/tests.rs", true),
                ("k/tests/it/cancel.rs", true),
                ("k/tests/it/main.rs", true),
            ],
        );
    }

    #[test]
    fn paths_in_manifests_and_attributes_lead_on() {
        check(
            &[
                ("k/Cargo.toml", "[[bin]]\nname = \"k\"\npath = \"src/door.rs\""),
                ("k/src/door.rs", "#[path = \"../shared/room.rs\"] mod room;"),
                ("k/shared/room.rs", ""),
            ],
            &[("k/shared/room.rs", false), ("k/src/door.rs", false)],
        );
    }
}
