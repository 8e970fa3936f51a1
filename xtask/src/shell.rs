//! How a chore starts other programs: always in the root of the repository, always shown first.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::print;

/// The root of the repository.
///
/// Cargo names the folder of this package when it runs it. The path is not taken at compile time:
/// a target folder that two checkouts share would then point into the wrong one.
pub(crate) fn root() -> Result<PathBuf> {
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") {
        let package = PathBuf::from(package);
        return Ok(package.parent().context("xtask has no parent folder")?.to_path_buf());
    }
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    let root = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
    Ok(root.context("not inside the repository: run `cargo xtask` from there")?.to_path_buf())
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> Result<PathBuf> {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => Ok(root()?.join(folder)),
        None => Ok(root()?.join("target")),
    }
}

/// A call of the cargo that started us, in the root, without a terminal to ask questions on.
pub(crate) fn cargo(arguments: &[&str]) -> Result<Command> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()?).stdin(Stdio::null());
    // What we were built as would have build scripts that look at it run again, here and then in
    // the next call that is not ours.
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(ours) {
            command.env_remove(name);
        }
    }
    Ok(command)
}

/// Runs a command to its end with our own output; a failure names the command.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let shown = shown(&command);
    print::line(&format!("$ {shown}"));
    let status = command.status().with_context(|| format!("`{shown}` did not start"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs a command to its end; what it said is the answer.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let shown = shown(&command);
    print::line(&format!("$ {shown}"));
    command.stderr(Stdio::inherit()).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("`{shown}` did not start"))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` said what is no text"))
}

/// Adds `--workspace`, unless the caller's arguments choose packages themselves.
pub(crate) fn add_scope(command: &mut Command, arguments: &[String]) {
    if !chooses_packages(arguments) {
        command.arg("--workspace");
    }
    command.args(arguments);
}

fn chooses_packages(arguments: &[String]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| {
        argument.starts_with("--package")
            || argument == "--workspace"
            || (argument.starts_with("-p") && !argument.starts_with("--"))
    })
}

/// Whether the caller's arguments let the tests of one of these packages run.
pub(crate) fn may_choose(arguments: &[String], packages: &[&str]) -> bool {
    // What is not the name of another package may be a pattern or the whole workspace.
    let mut words = arguments.iter().take_while(|argument| *argument != "--");
    let mut chosen = Vec::new();
    while let Some(word) = words.next() {
        let name = match word.as_str() {
            "-p" | "--package" => words.next().map(String::as_str),
            "--workspace" => return true,
            word => word.strip_prefix("--package=").or_else(|| word.strip_prefix("-p")),
        };
        chosen.extend(name);
    }
    let is_one = |name: &&str| packages.contains(name) || name.contains(['*', '?', '[', '@', '/']);
    chosen.is_empty() || chosen.iter().any(is_one)
}

/// The command as a person would type it: the program without its folder.
fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let mut words = vec![name];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scoped(arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let mut command = Command::new("/somewhere/bin/cargo");
        command.arg("test");
        add_scope(&mut command, &arguments);
        shown(&command)
    }

    #[test]
    fn the_whole_workspace_is_the_default() {
        assert_eq!(scoped(&[]), "cargo test --workspace");
        assert_eq!(scoped(&["cancel"]), "cargo test --workspace cancel");
    }

    #[test]
    fn what_other_packages_do_not_need_is_known() {
        let may = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
            may_choose(&arguments, &["bowline-cli"])
        };
        assert!(may(&[]) && may(&["cancel"]) && may(&["-p", "bowline-cli", "--test", "sdk"]));
        assert!(may(&["-pbowline-cli"]) && may(&["-p", "bowline-*"]) && may(&["--workspace"]));
        assert!(!may(&["-p", "bowline-core"]) && !may(&["--package=xtask", "--", "bowline-cli"]));
    }

    #[test]
    fn a_chosen_package_replaces_the_workspace() {
        assert_eq!(scoped(&["-p", "bowline-core"]), "cargo test -p bowline-core");
        assert_eq!(scoped(&["--package=xtask"]), "cargo test --package=xtask");
    }

    #[test]
    fn what_follows_the_dashes_belongs_to_the_test_binary() {
        assert_eq!(scoped(&["--", "-p"]), "cargo test --workspace -- -p");
    }

    #[test]
    fn a_failing_program_is_named() {
        let error = run(Command::new("false")).unwrap_err().to_string();
        assert!(error.contains("`false` failed"), "{error}");
    }
}
