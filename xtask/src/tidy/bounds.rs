//! I9: every queue and buffer has a bound, so nothing in the sources may be unbounded.

use super::{Check, Finding};
use crate::source::Source;
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "bounds", about: "I9: no unbounded channel in the sources", run };

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.crate_sources() {
        for index in unbounded(source) {
            let token = &source.tokens()[index];
            let text = "an unbounded queue: give it a bound, and the bound a name in limits.rs";
            let finding = Finding::failure(&file.path, source.line(token.start()), text);
            findings.push(finding.or_allow("unbounded"));
        }
    }
    findings
}

/// Names that say so, and the standard library's channel, which does not.
fn unbounded(source: &Source) -> Vec<usize> {
    let tokens = source.tokens();
    let named = (0..tokens.len()).filter(|index| {
        let token = &tokens[*index];
        token.is_name() && token.text().to_lowercase().contains("unbounded")
    });
    let plain = source.find(&["mpsc", ":", ":", "channel"]).filter(|index| {
        let open = (index + 4..tokens.len()).find(|at| tokens[*at].is("("));
        open.is_some_and(|open| tokens.get(open + 1).is_some_and(|next| next.is(")")))
    });
    named.chain(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const PATH: &str = "crates/bowline-engine/src/a.rs";

    #[test]
    fn unbounded_channels_are_found() {
        for line in [
            "let (a, b) = mpsc::unbounded_channel();",
            "struct S { sender: UnboundedSender<u8> }",
            "let (a, b) = std::sync::mpsc::channel::<u8>();",
        ] {
            assert_found(&CHECK, &[(PATH, line)], "crates/bowline-engine/src/a.rs:1", "bound");
        }
    }

    #[test]
    fn bounded_channels_and_prose_pass() {
        let text = "//! Never unbounded.\nlet a = mpsc::channel(8);\nlet b = oneshot::channel();\n\
                    let c = mpsc::sync_channel(1);";
        assert_clean(&CHECK, &[(PATH, text)]);
    }
}
