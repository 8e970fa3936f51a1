//! `api`: the public interface of the crate `bowline`, as text that changes only on purpose.
//!
//! It is read off the pages that rustdoc writes: every declaration, every method, every trait that
//! is implemented. What the compiler adds to each type by itself is left out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{Command, print, shell};

pub(crate) const COMMAND: Command = Command {
    name: "api",
    about: "Compare the public interface of the crate with the one that was agreed on",
    help: || {
        format!(
            "Usage: cargo xtask api [--bless]\n\n\
             Fails where the interface differs from {AGREED}.\n\
             --bless writes the file anew: read what has changed before it is committed."
        )
    },
    run,
};

/// Where the interface is written down.
const AGREED: &str = "crates/bowline/api.txt";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let bless = match arguments {
        [] => false,
        [one] if one == "--bless" => true,
        other => bail!("api takes --bless and nothing else: what is `{}`?", other.join(" ")),
    };
    let target = shell::target()?;
    let pages = target.join("doc/bowline");
    // Pages of items that are gone would stay.
    if pages.exists() {
        fs::remove_dir_all(&pages).context("the old pages cannot be removed")?;
    }
    shell::run(shell::cargo(&["doc", "-p", "bowline", "--all-features", "--no-deps", "--lib"])?)?;
    let found = interface(&pages)?;
    let agreed = shell::root()?.join(AGREED);
    if bless {
        return fs::write(&agreed, found).context("the interface cannot be written");
    }
    let expected = fs::read_to_string(&agreed).unwrap_or_default();
    let changes = changes(&expected, &found);
    for line in &changes {
        print::line(line);
    }
    if !changes.is_empty() {
        bail!("the public interface has changed: if that is meant, `cargo xtask api --bless`");
    }
    print::line("the public interface is as agreed");
    Ok(())
}

/// Every page's lines, under its name.
fn interface(pages: &Path) -> Result<String> {
    let mut items = BTreeMap::new();
    let mut folders = vec![pages.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).context("the pages cannot be listed")? {
            let path = entry?.path();
            match path.extension() {
                None if path.is_dir() => folders.push(path),
                Some(html) if html == "html" => {
                    let lines = lines(&fs::read_to_string(&path)?);
                    if !lines.is_empty() {
                        items.insert(name(pages, &path), lines);
                    }
                }
                _ => {}
            }
        }
    }
    let text = items.into_iter().map(|(name, lines)| format!("{name}\n{}\n", lines.join("\n")));
    Ok(text.collect::<Vec<_>>().join("\n"))
}

fn name(pages: &Path, path: &Path) -> String {
    let relative: PathBuf = path.strip_prefix(pages).unwrap_or(path).with_extension("");
    relative.display().to_string().replace(std::path::MAIN_SEPARATOR, "/")
}

/// The declarations of a page, in the order of the page.
fn lines(page: &str) -> Vec<String> {
    let page = page.split("id=\"synthetic-implementations\"").next().unwrap_or(page);
    let page = page.split("id=\"blanket-implementations\"").next().unwrap_or(page);
    let begins = ["<pre class=\"rust item-decl\"><code>", "class=\"code-header\">"];
    let mut lines = Vec::new();
    let mut rest = page;
    while let Some((at, begin)) =
        begins.iter().filter_map(|begin| Some((rest.find(begin)?, begin))).min()
    {
        rest = &rest[at + begin.len()..];
        let end = ["</code></pre>", "</h4>", "</h3>"].iter().filter_map(|end| rest.find(end)).min();
        let (declaration, after) = rest.split_at(end.unwrap_or(rest.len()));
        let line = plain(declaration);
        // What a trait asks for stands on the trait's own page.
        if !line.starts_with("fn ") && !line.starts_with("type ") {
            lines.push(format!("  {line}"));
        }
        rest = after;
    }
    lines
}

/// Markup as text, on one line.
fn plain(markup: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for letter in markup.chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            letter if !inside => text.push(letter),
            _ => {}
        }
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let text = entities.iter().fold(text, |text, (entity, letter)| text.replace(entity, letter));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lines that are on one side only, under the item that they belong to.
fn changes(expected: &str, found: &str) -> Vec<String> {
    let (expected, found) = (whole(expected), whole(found));
    let gone = expected.iter().filter(|line| !found.contains(line)).map(|line| format!("- {line}"));
    let new = found.iter().filter(|line| !expected.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

fn whole(text: &str) -> Vec<String> {
    let mut item = "";
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("  ") {
            Some(line) => lines.push(format!("{item}: {line}")),
            None => item = line,
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<pre class=\"rust item-decl\"><code>pub struct <b>Knot</b> {\n  /* … */ }\
        </code></pre><h4 class=\"code-header\">pub fn <a>tie</a>(&amp;self) -&gt; u8</h4>\
        <h3 id=\"blanket-implementations\"><h3 class=\"code-header\">impl Any</h3>";

    #[test]
    fn a_page_is_read_as_its_declarations() {
        assert_eq!(lines(PAGE), ["  pub struct Knot { /* … */ }", "  pub fn tie(&self) -> u8"]);
    }

    #[test]
    fn a_change_is_named_with_its_item() {
        let (old, new) = ("Knot\n  pub fn tie()\n", "Knot\n  pub fn tie(u8)\n");
        assert_eq!(changes(old, new), ["- Knot: pub fn tie()", "+ Knot: pub fn tie(u8)"]);
        assert!(changes(old, old).is_empty());
    }
}
