//! A query falls apart into words.

/// One word of a query.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// A name, keyword, number or sign.
    Plain(String),
    /// What stood in quotes.
    Quoted(String),
    /// What stood in backticks: a name, whatever it looks like.
    Name(String),
}

/// The words of a query, read from left to right.
#[derive(Debug)]
pub(super) struct Words {
    words: Vec<Word>,
    at: usize,
}

const SIGNS: &[&str] = &["!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","];

impl Words {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut words = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            rest = if let Some(sign) = sign {
                words.push(Word::Plain((*sign).to_owned()));
                &rest[sign.len()..]
            } else if ['\'', '"', '`'].contains(&first) {
                let (quoted, after) = quoted(rest, first)?;
                words.push(if first == '`' { Word::Name(quoted) } else { Word::Quoted(quoted) });
                after
            } else {
                let ends = |c: char| c.is_whitespace() || "!<>=(),'\"`".contains(c);
                let length = rest.find(ends).unwrap_or(rest.len());
                if length == 0 {
                    return Err(format!("invalid query: what is {first:?}?"));
                }
                words.push(Word::Plain(rest[..length].to_owned()));
                &rest[length..]
            };
            rest = rest.trim_start();
        }
        Ok(Self { words, at: 0 })
    }

    fn next(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.next().is_none()
    }

    /// Whether the next word is this one; upper and lower case are the same.
    pub(super) fn sees(&self, word: &str) -> bool {
        matches!(self.next(), Some(Word::Plain(plain)) if plain.eq_ignore_ascii_case(word))
    }

    /// Takes the next word if it is this one.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        let sees = self.sees(word);
        self.at += usize::from(sees);
        sees
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.takes(word) {
            true => Ok(()),
            false => Err(self.unexpected(word)),
        }
    }

    /// The name of a field.
    pub(super) fn name(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Word::Plain(name) | Word::Name(name)) if !SIGNS.contains(&name.as_str()) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("the name of a field")),
        }
    }

    /// A value, and whether it stood in quotes.
    pub(super) fn value(&mut self) -> Result<(String, bool), String> {
        let value = match self.next() {
            Some(Word::Quoted(text)) => (text.clone(), true),
            Some(Word::Plain(text)) if !SIGNS.contains(&text.as_str()) => (text.clone(), false),
            _ => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        Ok(value)
    }

    pub(super) fn finish(&self) -> Result<(), String> {
        match self.is_at_end() {
            true => Ok(()),
            false => Err(self.unexpected("the end")),
        }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found = match self.next() {
            Some(Word::Plain(text) | Word::Name(text)) => format!("{text:?}"),
            Some(Word::Quoted(text)) => format!("the value {text:?}"),
            None => "the end".to_owned(),
        };
        format!("invalid query: expected {wanted}, found {found}")
    }
}

/// What stands in quotes, and what follows; a doubled quote, or one after a backslash, stands for
/// itself.
fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut inner = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        match character {
            '\\' if next == Some(quote) || next == Some('\\') => {
                inner.extend(next);
                characters.next();
            }
            _ if character == quote && next == Some(quote) => {
                inner.push(quote);
                characters.next();
            }
            _ if character == quote => return Ok((inner, &text[at + quote.len_utf8()..])),
            _ => inner.push(character),
        }
    }
    Err(format!("invalid query: a {quote} is never closed"))
}
