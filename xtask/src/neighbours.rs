//! `neighbours`: the crate beside others that bring SQLite along, or a driver of Postgres.
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
        for Neighbour { name, dependency, .. } in NEIGHBOURS {
            text.push_str(&format!("  {name:<14} {dependency}\n"));
        }
        text
    },
    run: |arguments| match arguments.first() {
        Some(first) => bail!("neighbours takes no arguments: what is `{first}`?"),
        None => run(),
    },
};

/// A program that has the crate, with these features of it, beside another dependency.
struct Neighbour {
    name: &'static str,
    feature: Option<&'static str>,
    dependency: &'static str,
    program: &'static str,
}

const NEIGHBOURS: &[Neighbour] = &[
    beside("sqlx-08", r#"sqlx = { version = "0.8", features = ["sqlite", "runtime-tokio"] }"#),
    beside("sqlx-09", r#"sqlx = { version = "0.9", features = ["sqlite", "runtime-tokio"] }"#),
    beside("sqlx-09-macros", r#"sqlx = { version = "0.9", features = ["postgres", "macros"] }"#),
    beside("diesel-2", r#"diesel = { version = "2", features = ["sqlite"] }"#),
    // Both ends of the range: what a transaction shows is the type of the program's own version.
    shown("rusqlite-first", "rusqlite-0_32", r#"rusqlite = "0.32""#),
    shown("rusqlite-last", "rusqlite-0_41", r#"rusqlite = "0.41""#),
    // What the program's `sqlx` shows is what the crate means, and the whole of it is beside us.
    given("given-sqlx-08", "sqlx-0_8", r#"sqlx = { version = "0.8", features = ["postgres"] }"#),
    given("given-sqlx-09", "sqlx-0_9", r#"sqlx = { version = "0.9", features = ["postgres"] }"#),
];

const fn beside(name: &'static str, dependency: &'static str) -> Neighbour {
    Neighbour { name, feature: None, dependency, program: PROGRAM }
}

const fn shown(name: &'static str, feature: &'static str, dependency: &'static str) -> Neighbour {
    Neighbour { name, feature: Some(feature), dependency, program: TRANSACTION }
}

const fn given(name: &'static str, feature: &'static str, dependency: &'static str) -> Neighbour {
    Neighbour { name, feature: Some(feature), dependency, program: GIVEN }
}

/// Uses the crate, so that it is not only resolved.
const PROGRAM: &str = "//! A neighbour.\n\nuse bowline::prelude::*;\n\n\
    async fn hello(_: Ctx) -> bowline::Result<()> {\n    Ok(())\n}\n\n\
    fn main() {\n    drop(Bowline::open(\"hello.db\").workflow(hello));\n}\n";

/// Writes a row of its own, and cancels, in one transaction.
const TRANSACTION: &str = "//! A neighbour.\n\nuse bowline::{ClientError, Receipt, prelude::*};\n\n\
    fn insert(db: &rusqlite::Connection) -> rusqlite::Result<usize> {\n    \
    db.execute(\"INSERT INTO orders VALUES (?)\", [1])\n}\n\n\
    async fn both(bowline: Bowline) -> Result<Receipt, ClientError> {\n    \
    let client = bowline.clone();\n    \
    let work = bowline.transaction(move |tx| {\n        \
    insert(tx.connection())?;\n        \
    client.cancel_in(tx, \"order-1\", \"why not\")\n    });\n    work.await\n}\n\n\
    fn main() {\n    let _ = both;\n}\n";

/// Cancels in a transaction of its own driver.
const GIVEN: &str = "//! A neighbour.\n\nuse bowline::{ClientError, Receipt, prelude::*};\n\n\
    async fn both(bowline: Bowline, pool: sqlx::PgPool) -> Result<Receipt, ClientError> {\n    \
    let mut tx = pool.begin().await?;\n    \
    sqlx::query(\"DELETE FROM orders\").execute(&mut *tx).await?;\n    \
    let receipt = bowline.cancel_in(&mut tx, \"order-1\", \"why not\").await?;\n    \
    tx.commit().await?;\n    Ok(receipt)\n}\n\n\
    fn main() {\n    let _ = both;\n}\n";

pub(crate) fn run() -> Result<()> {
    let (root, target) = (shell::root()?, shell::target()?.join("neighbours"));
    for Neighbour { name, feature, dependency, program } in NEIGHBOURS {
        let folder = target.join(name);
        fs::create_dir_all(folder.join("src")).context("a program cannot be written")?;
        let bowline = root.join("crates/bowline");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\nbowline = {{ path = {:?}, features = {:?} }}\n{dependency}\n",
            bowline.display().to_string(),
            Vec::from_iter(*feature)
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), program)?;
        let path = folder.join("Cargo.toml").display().to_string();
        let mut check = shell::cargo(&["check", "--quiet", "--manifest-path", &path])?;
        check.arg("--target-dir").arg(target.join("target"));
        shell::run(check).with_context(|| format!("bowline cannot live beside {dependency}"))?;
    }
    print::line(&format!("bowline lives beside all {} neighbours", NEIGHBOURS.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever widens the range must say so in the features, and have its ends built.
    #[test]
    fn the_features_name_every_version_of_the_range() {
        let workspace = include_str!("../../Cargo.toml");
        let manifest = include_str!("../../crates/bowline/Cargo.toml");
        let range = workspace.split_once("rusqlite = { version = \">=0.").expect("there is one").1;
        let (first, rest) = range.split_once(", <0.").expect("it has two ends");
        let (end, _) = rest.split_once('"').expect("it ends");
        let number = |text: &str| text.parse::<u32>().expect("it is a number");
        let versions: Vec<_> = (number(first)..number(end)).collect();
        for version in &versions {
            let feature = format!("\nrusqlite-0_{version} = ");
            assert!(manifest.contains(&feature), "no feature is named after 0.{version}");
        }
        for version in [versions.first(), versions.last()].into_iter().flatten() {
            let feature = format!("rusqlite-0_{version}");
            let is_it = |neighbour: &Neighbour| neighbour.feature == Some(feature.as_str());
            assert!(NEIGHBOURS.iter().any(is_it), "{feature} is not built");
        }
    }
}
