//! `neighbours`: the crate beside the other crates that bring SQLite along.
//!
//! A program may link one `sqlite3` only, so a crate that insists on one version of it cannot be
//! added beside those that insist on another. Each case here is a program that has both.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::{Command, print, shell};

pub(crate) const COMMAND: Command = Command {
    name: "neighbours",
    about: "Build the crate beside others that bring SQLite along",
    help: || {
        let mut text = String::from("Resolves and checks one small program for each of:\n");
        for (name, dependency) in NEIGHBOURS {
            text.push_str(&format!("  {name:<14} {dependency}\n"));
        }
        text
    },
    run: |arguments| match arguments.first() {
        Some(first) => bail!("neighbours takes no arguments: what is `{first}`?"),
        None => run(),
    },
};

const NEIGHBOURS: &[(&str, &str)] = &[
    ("sqlx-08", r#"sqlx = { version = "0.8", features = ["sqlite", "runtime-tokio"] }"#),
    ("sqlx-09", r#"sqlx = { version = "0.9", features = ["sqlite", "runtime-tokio"] }"#),
    ("sqlx-09-macros", r#"sqlx = { version = "0.9", features = ["postgres", "macros"] }"#),
    ("diesel-2", r#"diesel = { version = "2", features = ["sqlite"] }"#),
];

/// Uses the crate, so that it is not only resolved.
const PROGRAM: &str = "//! A neighbour.\n\nuse bowline::prelude::*;\n\n\
    async fn hello(_: Ctx) -> bowline::Result<()> {\n    Ok(())\n}\n\n\
    fn main() {\n    drop(Bowline::open(\"hello.db\").workflow(hello));\n}\n";

pub(crate) fn run() -> Result<()> {
    let (root, target) = (shell::root()?, shell::target()?.join("neighbours"));
    for (name, dependency) in NEIGHBOURS {
        let folder = target.join(name);
        fs::create_dir_all(folder.join("src")).context("a program cannot be written")?;
        let bowline = root.join("crates/bowline");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\nbowline = {{ path = {:?} }}\n{dependency}\n",
            bowline.display().to_string()
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), PROGRAM)?;
        let path = folder.join("Cargo.toml").display().to_string();
        let mut check = shell::cargo(&["check", "--quiet", "--manifest-path", &path])?;
        check.arg("--target-dir").arg(target.join("target"));
        shell::run(check).with_context(|| format!("bowline cannot live beside {dependency}"))?;
    }
    print::line(&format!("bowline lives beside all {} neighbours", NEIGHBOURS.len()));
    Ok(())
}
