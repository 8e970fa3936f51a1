//! One Rust file as the checks see it: its code without comments and literals, in tokens.
//!
//! In:    the text of a file.
//! Out:   tokens with their lines, functions, module declarations, and where test code lies.
//! Never: a compiler. It knows brackets, attributes and a few keywords, and no types.

mod mask;
mod module;
mod region;
mod token;

use std::ops::Range;

pub(crate) use module::Declaration;
pub(crate) use token::Token;

/// A Rust file, taken apart once.
pub(crate) struct Source {
    /// The text with every comment and the inside of every literal blanked, byte for byte.
    code: String,
    /// The text with everything but comments blanked.
    comments: String,
    tokens: Vec<Token>,
    line_starts: Vec<usize>,
    tests: Vec<Range<usize>>,
}

/// A function with a body.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line_first: usize,
    pub(crate) line_last: usize,
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        let (code, comments) = mask::split(text);
        let tokens = token::tokens(text, &code);
        let tests = region::tests(&tokens);
        let line_starts = std::iter::once(0)
            .chain(
                text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1),
            )
            .collect();
        Self { code, comments, tokens, line_starts, tests }
    }

    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The line of a byte, counted from one.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Whether the byte lies in an item that only tests compile.
    pub(crate) fn is_test(&self, offset: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&offset))
    }

    /// The lines of the file with only their comments left.
    pub(crate) fn comment_lines(&self) -> impl Iterator<Item = &str> {
        self.comments.lines()
    }

    /// The lines of the file with only their code left.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = &str> {
        self.code.lines()
    }

    /// The index of the first token of every place where these tokens follow each other.
    pub(crate) fn find<'a>(&'a self, words: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
        self.tokens
            .windows(words.len())
            .enumerate()
            .filter(move |(_, window)| window.iter().zip(words).all(|(token, word)| token.is(word)))
            .map(|(index, _)| index)
    }

    /// Every function that has a body, those inside functions and macros included.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for (index, pair) in self.tokens.windows(2).enumerate() {
            if !pair[0].is("fn") || !pair[1].is_name() {
                continue;
            }
            let Some(open) = token::body(&self.tokens, index + 2) else { continue };
            let Some(close) = token::close(&self.tokens, open) else { continue };
            functions.push(Function {
                name: pair[1].text().to_owned(),
                line_first: self.line(pair[0].start()),
                line_last: self.line(self.tokens[close].start()),
            });
        }
        functions
    }

    /// Every `mod name;` of the file.
    pub(crate) fn modules(&self) -> Vec<Declaration> {
        module::declarations(self)
    }

    /// The index of the bracket that closes the one at `open`.
    pub(crate) fn close(&self, open: usize) -> Option<usize> {
        token::close(&self.tokens, open)
    }

    /// The index of the next `{` outside parentheses, unless the item ends before it.
    pub(crate) fn body(&self, from: usize) -> Option<usize> {
        token::body(&self.tokens, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_their_keyword_to_their_last_brace() {
        let source = Source::new(
            "trait T { fn declared(&self); }\n\
             fn one() -> [u8; 2] {\n    \"}\";\n    [1, 2]\n}\n\
             fn pointer(f: fn(u8) -> u8) {}\n",
        );
        let seen: Vec<_> = source
            .functions()
            .into_iter()
            .map(|function| (function.name, function.line_first, function.line_last))
            .collect();
        assert_eq!(seen, [("one".to_owned(), 2, 5), ("pointer".to_owned(), 6, 6)]);
    }

    #[test]
    fn tokens_are_found_across_line_breaks_and_not_in_comments() {
        let source = Source::new("// store.commit()\nself.store\n    .commit(x)");
        let found: Vec<_> = source.find(&["store", ".", "commit", "("]).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(source.line(source.tokens()[found[0]].start()), 2);
    }
}
