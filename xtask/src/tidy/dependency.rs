//! I1 and the directions of the house: who may depend on whom.
//!
//! The pure crates have a closed list; among ours, dependencies run one way: doors, engine, store,
//! core. What only tests need is free.

use super::{Check, Finding};
use crate::tree::{File, Tree};

pub(super) const CHECK: Check = Check {
    name: "dependency",
    about: "I1: the pure crates depend on next to nothing; dependencies run one way",
    run,
};

/// All that a pure crate may depend on.
const PURE: &[(&str, &[&str])] =
    &[("bowline-core", &["minicbor", "crc32fast"]), ("bowline-replay", &["bowline-core"])];

const CORE: &[&str] = &["bowline-core"];
const STORE: &[&str] = &["bowline-core", "bowline-store"];
const ENGINE: &[&str] = &["bowline-core", "bowline-replay", "bowline-store"];
const DOOR: &[&str] = &["bowline-core", "bowline-store", "bowline-engine", "bowline-access"];

/// Which of our crates each of our crates may depend on.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("bowline-core", &[]),
    ("bowline-access", &[]),
    ("bowline-replay", CORE),
    ("bowline-store", CORE),
    ("bowline-sqlite", STORE),
    ("bowline-postgres", STORE),
    ("bowline-engine", ENGINE),
    (
        "bowline",
        &[
            "bowline-core",
            "bowline-replay",
            "bowline-store",
            "bowline-engine",
            "bowline-sqlite",
            "bowline-postgres",
        ],
    ),
    ("bowline-temporal", DOOR),
    ("bowline-http", DOOR),
    (
        "bowline-cli",
        &[
            "bowline",
            "bowline-core",
            "bowline-replay",
            "bowline-store",
            "bowline-engine",
            "bowline-sqlite",
            "bowline-postgres",
            "bowline-temporal",
            "bowline-http",
            "bowline-access",
        ],
    ),
    ("bowline-sim", &["bowline-core", "bowline-replay", "bowline-store", "bowline-engine"]),
];

/// Where an error may be a text: libraries have types for theirs.
const ANYHOW: &[&str] = &["bowline-cli", "bowline-sim"];

fn run(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.files().filter(|file| file.crate_path() == Some("Cargo.toml"));
    manifests.flat_map(check_manifest).collect()
}

fn check_manifest(file: &File) -> Vec<Finding> {
    let name = file.crate_name().expect("the manifest lies in a crate");
    let Some((_, ours)) = DIRECTIONS.iter().find(|(known, _)| *known == name) else {
        let text = "the crate has no place in the house: name it in xtask/src/tidy/dependency.rs";
        return vec![Finding::failure(&file.path, 1, text)];
    };
    let pure = PURE.iter().find(|(known, _)| *known == name).map(|(_, list)| *list);
    let mut findings = Vec::new();
    for (line, dependency) in dependencies(&file.text) {
        let is_ours = dependency == "bowline" || dependency.starts_with("bowline-");
        let trouble = if is_ours && !ours.contains(&dependency.as_str()) {
            format!("{name} may not depend on {dependency}: dependencies run one way")
        } else if pure.is_some_and(|list| !list.contains(&dependency.as_str())) {
            format!("{name} is pure and may not depend on {dependency}: pass the value in")
        } else if dependency == "anyhow" && !ANYHOW.contains(&name) {
            format!("{name} is a library: give its errors a type instead of anyhow")
        } else {
            continue;
        };
        findings.push(Finding::failure(&file.path, line, trouble));
    }
    findings
}

/// The dependencies of a manifest with their lines, those for tests aside.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            let (is_list, single) = dependency_section(section);
            is_inside = is_list;
            found.extend(single.map(|name| (index + 1, name)));
        } else if is_inside && !line.is_empty() && !line.starts_with('#') {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let key = key.split('.').next().unwrap_or(key).trim().trim_matches('"');
            let renamed = value
                .split_once("package")
                .and_then(|(_, rest)| rest.split('"').nth(1).map(str::to_owned));
            found.push((index + 1, renamed.unwrap_or_else(|| key.to_owned())));
        }
    }
    found
}

/// Whether a section lists dependencies, or is one (`[dependencies.name]`).
fn dependency_section(section: &str) -> (bool, Option<String>) {
    let section = match section.rsplit_once("'.").or_else(|| section.rsplit_once("\".")) {
        Some((_, rest)) => rest,
        None => section,
    };
    for list in ["dependencies", "build-dependencies"] {
        if section == list {
            return (true, None);
        }
        if let Some(name) = section.strip_prefix(list).and_then(|rest| rest.strip_prefix('.')) {
            return (false, Some(name.to_owned()));
        }
    }
    (false, None)
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    fn check(name: &str, manifest: &str, line: usize, says: &str) {
        let path = format!("crates/{name}/Cargo.toml");
        assert_found(&CHECK, &[(&path, manifest)], &format!("{path}:{line}"), says);
    }

    #[test]
    fn a_pure_crate_may_not_reach_out() {
        check("bowline-core", "[dependencies]\nminicbor = \"2\"\ntokio = \"1\"", 3, "pure");
        check("bowline-replay", "[dependencies]\nrand.workspace = true", 2, "pure");
        check("bowline-core", "[dependencies.rand]\nversion = \"1\"", 1, "pure");
        check("bowline-core", "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"", 2, "pure");
        check("bowline-core", "[build-dependencies]\nprost = \"1\"", 2, "pure");
        check("bowline-core", "[dependencies]\ncrc32fast = { package = \"rand\" }", 2, "rand");
    }

    #[test]
    fn dependencies_run_one_way() {
        check("bowline-store", "[dependencies]\nbowline-engine.workspace = true", 2, "one way");
        check("bowline-engine", "[dependencies]\nbowline-sqlite.workspace = true", 2, "one way");
        check("bowline-http", "[dependencies]\nbowline.workspace = true", 2, "one way");
    }

    #[test]
    fn libraries_have_typed_errors_and_crates_have_a_place() {
        check("bowline-store", "[dependencies]\nanyhow.workspace = true", 2, "anyhow");
        check("bowline-extra", "", 1, "no place");
    }

    #[test]
    fn what_the_house_allows_passes() {
        let core = "[package]\nname = \"x\"\n\n[dependencies]\nminicbor.workspace = true\n\
                    # Why.\n\n[dev-dependencies]\nproptest.workspace = true\n";
        let cli = "[dependencies]\nanyhow.workspace = true\nbowline.workspace = true\n";
        assert_clean(
            &CHECK,
            &[("crates/bowline-core/Cargo.toml", core), ("crates/bowline-cli/Cargo.toml", cli)],
        );
    }
}
