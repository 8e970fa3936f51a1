//! The reference is made from the definitions: `UPDATE_EXPECT=1` writes it anew.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};
use expect_test::expect_file;

use super::Args;

#[test]
fn the_definitions_are_sound() {
    Args::command().debug_assert();
}

#[test]
fn the_reference_says_what_the_definitions_say() {
    let mut command = Args::command();
    command.build();
    let mut page = String::from(
        "# The command line\n\n\
         Made from the definitions of the command (`crates/bowline-cli/src/args/`), and checked\n\
         by a test against them. What to do with it stands in [operating.md](operating.md).\n",
    );
    writeln!(page, "\n```text\n{}\n```", long(&command)).expect("memory takes everything");
    page.push_str("\nEvery command knows these:\n\n");
    for arg in command.get_arguments().filter(|arg| arg.is_global_set()) {
        argument(&mut page, arg);
    }
    for inner in command.get_subcommands() {
        section(&mut page, inner);
    }
    expect_file!["../../../../docs/cli.md"].assert_eq(&page);
}

/// A command, or each of those inside of it.
fn section(page: &mut String, command: &Command) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    if command.has_subcommands() {
        for inner in command.get_subcommands() {
            section(page, inner);
        }
        return;
    }
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    writeln!(page, "\n## {name}\n\n```text\n{}\n```\n\n    {usage}\n", long(command))
        .expect("memory takes everything");
    let own = |arg: &&Arg| {
        !arg.is_hide_set()
            && !arg.is_global_set()
            && !["help", "version"].contains(&arg.get_id().as_str())
    };
    for arg in command.get_arguments().filter(own) {
        argument(page, arg);
    }
}

/// What a command is for, as its long help begins.
fn long(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    let text = about.map(ToString::to_string).unwrap_or_default();
    let text: Vec<String> = text.lines().flat_map(wrapped).collect();
    match text.iter().any(|line| line.starts_with("    ")) {
        // What ends with an example has no full stop.
        true => text.join("\n").trim().to_owned(),
        false => ended(text.join("\n").trim()),
    }
}

/// With the full stop that the definitions leave out.
fn ended(text: &str) -> String {
    let is_open = text.ends_with(|c: char| c.is_alphanumeric() || ")`".contains(c));
    if is_open { format!("{text}.") } else { text.to_owned() }
}

/// A line in as many as it takes to be no longer than usual.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let indent = &line[..line.len() - line.trim_start().len()];
    for word in line.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        match last.len() + word.len() > 98 && !last.is_empty() {
            true => lines.push(format!("{indent}{word}")),
            false if last.is_empty() => *last = format!("{indent}{word}"),
            false => *last = format!("{last} {word}"),
        }
    }
    lines
}

fn argument(page: &mut String, arg: &Arg) {
    let value = arg.get_value_names().and_then(|names| names.first());
    let value = value.map(|value| format!("<{value}>")).unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let mut name = match (arg.get_long(), takes) {
        (Some(long), true) => format!("--{long} {value}"),
        (Some(long), false) => format!("--{long}"),
        (None, _) => value,
    };
    if !arg.is_required_set() && arg.get_long().is_none() {
        name = format!("[{name}]");
    }
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let help = ended(&help.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut text = format!("`{name}`: {help}");
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| takes && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !words.is_empty() {
        text.push_str(&format!(" One of {}.", words.join(", ")));
    }
    if let Some(default) = arg.get_default_values().first().filter(|text| takes && !text.is_empty())
    {
        text.push_str(&format!(" Usually `{}`.", default.display()));
    }
    if let Some(variable) = arg.get_env() {
        text.push_str(&format!(" Also `{}`.", variable.display()));
    }
    let lines = wrapped(&text);
    writeln!(page, "- {}", lines.join("\n  ")).expect("memory takes everything");
}

/// Whoever installs what `packaging/` has gets a server that starts: every option and variable that
/// is named there exists.
#[test]
fn packaging_names_only_what_there_is() {
    let mut command = Args::command();
    command.build();
    let serve = command.find_subcommand("serve").expect("it is there");
    let all = || command.get_arguments().chain(serve.get_arguments());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    let mut named = 0;
    for file in ["Containerfile", "bowline.service", "bowline.toml", "kubernetes.yaml"] {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).expect("it reads");
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
        for word in words {
            let is_known = match word {
                word if word.starts_with("BOWLINE_") => {
                    all().any(|arg| arg.get_env().is_some_and(|variable| variable == word))
                }
                word if file == "kubernetes.yaml" && word.starts_with("--") && word.len() > 3 => {
                    let kubectl = ["--cert", "--key", "--from-literal", "--from-file", "--allow"];
                    kubectl.contains(&word) || all().any(|arg| arg.get_long() == Some(&word[2..]))
                }
                _ => continue,
            };
            assert!(is_known, "{file} names {word}");
            named += 1;
        }
        if file == "bowline.toml" {
            let uncommented: Vec<&str> = text
                .lines()
                .map(|line| {
                    line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line)
                })
                .filter(|line| !line.starts_with("store") || line.contains("/var/lib"))
                .collect();
            let read = toml::from_str::<super::Options>(&uncommented.join("\n"));
            assert!(read.expect("every option is known").keys.is_some());
        }
    }
    assert!(named > 10, "{named}");
}
