//! Names, numbers, strings and single signs, each with its place; and the matching of brackets.

/// One token of masked code. `::` is two of them, `=>` as well.
pub(crate) struct Token {
    start: usize,
    text: String,
    /// The inside of a string literal, as written.
    literal: Option<String>,
}

impl Token {
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// The token as written; a string literal is a single `"`.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.text == word
    }

    /// Whether this is a name or a keyword.
    pub(crate) fn is_name(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }

    pub(crate) fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }
}

/// The tokens of `code`, which is `text` after masking.
pub(super) fn tokens(text: &str, code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut characters = code.char_indices().peekable();
    while let Some((start, first)) = characters.next() {
        if first.is_whitespace() {
            continue;
        }
        if first == '"' {
            let end = characters.find(|(_, next)| *next == '"').map_or(code.len(), |(end, _)| end);
            let literal = Some(text[start + 1..end].to_owned());
            tokens.push(Token { start, text: "\"".to_owned(), literal });
            continue;
        }
        let mut end = start + first.len_utf8();
        if is_word(first) {
            while let Some((at, next)) = characters.next_if(|(_, next)| is_word(*next)) {
                end = at + next.len_utf8();
            }
        }
        tokens.push(Token { start, text: code[start..end].to_owned(), literal: None });
    }
    tokens
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The index of the bracket that closes the one at `open`, of the same kind.
pub(super) fn close(tokens: &[Token], open: usize) -> Option<usize> {
    let opener = tokens.get(open)?.text();
    let closer = match opener {
        "{" => "}",
        "(" => ")",
        "[" => "]",
        _ => return None,
    };
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.is(opener) {
            depth += 1;
        } else if token.is(closer) {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

/// The index of the next `{` outside parentheses, unless a `;` or `}` ends the item before it.
pub(super) fn body(tokens: &[Token], from: usize) -> Option<usize> {
    let mut index = from;
    loop {
        match tokens.get(index)?.text() {
            "{" => return Some(index),
            ";" | "}" => return None,
            "(" | "[" => index = close(tokens, index)? + 1,
            _ => index += 1,
        }
    }
}

/// The attributes that stand before the token at `item`, as ranges of indices, nearest first.
///
/// Visibility may stand between.
pub(super) fn attributes(tokens: &[Token], item: usize) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut end = item;
    loop {
        if end >= 1 && tokens[end - 1].is("pub") {
            end -= 1;
            continue;
        }
        let Some(open) = end.checked_sub(1).and_then(|last| open(tokens, last)) else { break };
        if tokens[open].is("[") && open >= 1 && tokens[open - 1].is("#") {
            found.push(open - 1..end);
            end = open - 1;
        } else if tokens[open].is("(") && open >= 1 && tokens[open - 1].is("pub") {
            end = open - 1;
        } else {
            break;
        }
    }
    found
}

/// The index of the bracket that opens the one at `closing`.
fn open(tokens: &[Token], closing: usize) -> Option<usize> {
    let closer = tokens.get(closing)?.text();
    let opener = match closer {
        ")" => "(",
        "]" => "[",
        _ => return None,
    };
    let mut depth = 0_usize;
    for index in (0..=closing).rev() {
        if tokens[index].is(closer) {
            depth += 1;
        } else if tokens[index].is(opener) {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Token> {
        tokens(text, &super::super::mask::split(text).0)
    }

    #[test]
    fn words_strings_and_signs() {
        let tokens = read("let é_1 = f(\"a b\", 'x');");
        let texts: Vec<_> = tokens.iter().map(Token::text).collect();
        assert_eq!(texts, ["let", "é_1", "=", "f", "(", "\"", ",", ")", ";"]);
        assert_eq!(tokens[5].literal(), Some("a b"));
        assert!(tokens[1].is_name() && !tokens[2].is_name());
    }

    #[test]
    fn a_bracket_finds_its_partner() {
        let tokens = read("f(a, (b), [c])(d)");
        assert_eq!(close(&tokens, 1), Some(11));
        assert_eq!(close(&read("f(("), 1), None);
    }

    #[test]
    fn attributes_are_collected_behind_visibility() {
        let tokens = read("x; #[a] #[b(c)] pub(crate) mod m;");
        let item = tokens.iter().position(|token| token.is("mod")).unwrap();
        let names: Vec<_> = attributes(&tokens, item)
            .into_iter()
            .map(|range| tokens[range.start + 2].text())
            .collect();
        assert_eq!(names, ["b", "a"]);
    }
}
