//! Finds the items that only tests compile: `#[cfg(test)]`, `#[test]`, `#[tokio::test]`.

use std::ops::Range;

use super::token::{self, Token};

/// The bytes of every test item; a whole file that begins with `#![cfg(test)]` is one range.
pub(super) fn tests(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for index in 0..tokens.len() {
        if !tokens[index].is("#") {
            continue;
        }
        let inner = tokens.get(index + 1).is_some_and(|token| token.is("!"));
        let open = index + 1 + usize::from(inner);
        let Some(close) = token::close(tokens, open) else { continue };
        if !is_test_attribute(&tokens[open + 1..close]) {
            continue;
        }
        if inner {
            return std::iter::once(0..usize::MAX).collect();
        }
        let end = item_end(tokens, close + 1);
        let end = tokens.get(end).map_or(usize::MAX, |token| token.start() + 1);
        ranges.push(tokens[index].start()..end);
    }
    ranges
}

/// Whether what stands between the brackets of an attribute makes its item a test.
pub(super) fn is_test_attribute(inside: &[Token]) -> bool {
    let has = |word: &str| inside.iter().any(|token| token.is(word));
    if inside.first().is_some_and(|first| first.is("cfg")) {
        return has("test") && !has("not");
    }
    let path = inside.iter().take_while(|token| token.is_name() || token.is(":"));
    path.last().is_some_and(|last| last.is("test"))
}

const ITEMS: &[&str] = &[
    "const",
    "enum",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "use",
];

/// The index of the last token of the item that begins at `from`.
///
/// A field or an enum's variant ends at its comma; in an item a comma may stand in the generics.
fn item_end(tokens: &[Token], from: usize) -> usize {
    let mut index = from;
    let mut is_item = false;
    while let Some(token) = tokens.get(index) {
        match token.text() {
            "{" => return token::close(tokens, index).unwrap_or(tokens.len()),
            ";" | "}" => return index,
            "," if !is_item => return index,
            "(" | "[" => match token::close(tokens, index) {
                Some(close) => index = close,
                None => return tokens.len(),
            },
            word => is_item = is_item || ITEMS.contains(&word),
        }
        index += 1;
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use crate::source::Source;

    fn is_test(text: &str, needle: &str) -> bool {
        Source::new(text).is_test(text.find(needle).unwrap())
    }

    #[test]
    fn a_test_module_is_test_code_and_its_neighbours_are_not() {
        let text = "fn before() {}\n#[cfg(test)]\nmod tests { fn inside() {} }\nfn after() {}";
        assert!(is_test(text, "inside"));
        assert!(!is_test(text, "before") && !is_test(text, "after"));
    }

    #[test]
    fn test_functions_count_without_a_module() {
        let text =
            "#[tokio::test(flavor = \"x\")]\nasync fn tried<A, B>() { inside }\nfn after() {}";
        assert!(is_test(text, "inside") && !is_test(text, "after"));
    }

    #[test]
    fn what_tests_do_not_compile_is_no_test_code() {
        assert!(!is_test("#[cfg(not(test))]\nfn real() {}", "real"));
        assert!(!is_test("#[must_use]\nfn test() { real }", "real"));
    }

    #[test]
    fn a_field_for_tests_ends_at_its_comma() {
        let text = "struct S { #[cfg(test)] probe: u8, real: u8 }";
        assert!(is_test(text, "probe") && !is_test(text, "real"));
    }

    #[test]
    fn an_inner_attribute_makes_the_whole_file_test_code() {
        assert!(is_test("//! Tests.\n#![cfg(test)]\nfn inside() {}", "inside"));
    }
}
