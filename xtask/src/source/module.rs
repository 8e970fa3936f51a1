//! Finds `mod name;`, with the inline modules around it, its `#[path]` and whether it is for tests.

use super::region::is_test_attribute;
use super::{Source, token};

/// One `mod name;`.
#[derive(Debug, PartialEq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    /// The inline modules that it stands in, outermost first.
    pub(crate) inside: Vec<String>,
    /// What its `#[path = "…"]` says.
    pub(crate) path: Option<String>,
    pub(crate) is_test: bool,
}

pub(super) fn declarations(source: &Source) -> Vec<Declaration> {
    let tokens = source.tokens();
    let mut found = Vec::new();
    // The inline modules that are open, each with the index of its closing brace.
    let mut inline: Vec<(String, usize)> = Vec::new();
    for index in 0..tokens.len() {
        inline.retain(|(_, close)| index < *close);
        if !tokens[index].is("mod") {
            continue;
        }
        let (Some(name), Some(next)) = (tokens.get(index + 1), tokens.get(index + 2)) else {
            break;
        };
        if next.is("{") {
            let close = token::close(tokens, index + 2).unwrap_or(tokens.len());
            inline.push((name.text().to_owned(), close));
        } else if next.is(";") && name.is_name() {
            found.push(declaration(source, index, name.text(), &inline));
        }
    }
    found
}

fn declaration(
    source: &Source,
    index: usize,
    name: &str,
    inline: &[(String, usize)],
) -> Declaration {
    let tokens = source.tokens();
    let mut path = None;
    let mut is_test = source.is_test(tokens[index].start());
    for range in token::attributes(tokens, index) {
        let attribute = &tokens[range.start + 2..range.end - 1];
        is_test = is_test || is_test_attribute(attribute);
        if attribute.first().is_some_and(|first| first.is("path")) {
            path = attribute.iter().find_map(|token| token.literal().map(str::to_owned));
        }
    }
    let inside = inline.iter().map(|(name, _)| name.clone()).collect();
    Declaration { name: name.to_owned(), inside, path, is_test }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, inside: &[&str], path: Option<&str>, is_test: bool) {
        let inside = inside.iter().map(|&module| module.to_owned()).collect();
        let path = path.map(str::to_owned);
        let expected = Declaration { name: name.to_owned(), inside, path, is_test };
        assert_eq!(Source::new(text).modules(), [expected], "{text}");
    }

    #[test]
    fn declarations_carry_what_is_needed_to_find_their_file() {
        check("pub(crate) mod a;", "a", &[], None, false);
        check("mod b { fn f() {} mod a; } mod c {}", "a", &["b"], None, false);
        check("#[path = \"x/y.rs\"]\nmod a;", "a", &[], Some("x/y.rs"), false);
        check("#[cfg(test)]\nmod a;", "a", &[], None, true);
        check("#[cfg(test)] mod t { mod a; }", "a", &["t"], None, true);
    }

    #[test]
    fn a_comment_declares_nothing() {
        assert_eq!(Source::new("// mod a;\nfn f() { \"mod b;\"; }").modules(), []);
    }
}
