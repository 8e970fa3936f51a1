//! Splits a text into code and comments, each as long as the text, the rest blanked.
//!
//! Strings keep their quotes and lose what is between them; character literals vanish whole.
//! Newlines stay everywhere, so that a byte has the same line in all three.

/// The code and the comments of a Rust text.
pub(super) fn split(text: &str) -> (String, String) {
    let mut splitter = Splitter {
        bytes: text.as_bytes(),
        at: 0,
        code: blank(text.as_bytes()),
        comments: blank(text.as_bytes()),
    };
    while splitter.at < splitter.bytes.len() {
        splitter.step();
    }
    let whole = |bytes| String::from_utf8(bytes).expect("only whole tokens are copied");
    (whole(splitter.code), whole(splitter.comments))
}

fn blank(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }).collect()
}

struct Splitter<'a> {
    bytes: &'a [u8],
    at: usize,
    code: Vec<u8>,
    comments: Vec<u8>,
}

impl Splitter<'_> {
    fn step(&mut self) {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"//") {
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            self.comment(length);
        } else if rest.starts_with(b"/*") {
            self.comment(block_comment(rest));
        } else if let Some(hashes) = self.raw_string() {
            let prefix = rest.iter().position(|byte| *byte == b'"').unwrap_or(0);
            self.at += prefix;
            self.string(raw_length(&rest[prefix..], hashes), hashes);
        } else if rest[0] == b'"' {
            self.string(string_length(rest), 0);
        } else if let Some(length) = character(rest) {
            self.at += length;
        } else {
            self.code[self.at] = rest[0];
            self.at += 1;
        }
    }

    fn comment(&mut self, length: usize) {
        let range = self.at..self.at + length;
        self.comments[range.clone()].copy_from_slice(&self.bytes[range]);
        self.at += length;
    }

    /// Keeps the quotes of the string that begins here, and passes it.
    fn string(&mut self, length: usize, hashes: usize) {
        let last = (self.at + length - 1).saturating_sub(hashes);
        self.code[self.at] = b'"';
        self.code[last] = b'"';
        self.at += length;
    }

    /// The number of hashes of the raw string that begins here, if one does.
    fn raw_string(&self) -> Option<usize> {
        let before = self.at.checked_sub(1).map(|at| self.bytes[at]);
        if before.is_some_and(is_name_byte) {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let prefix = match rest {
            [b'r', ..] => 1,
            [b'b' | b'c', b'r', ..] => 2,
            _ => return None,
        };
        let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
        (rest.get(prefix + hashes) == Some(&b'"')).then_some(hashes)
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The length of a block comment; they nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a string with escapes, from its first quote to its last.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a raw string from its first quote to its last hash.
fn raw_length(rest: &[u8], hashes: usize) -> usize {
    let mut end = vec![b'"'];
    end.resize(hashes + 1, b'#');
    let inside = rest[1..].windows(end.len()).position(|window| window == end);
    inside.map_or(rest.len(), |position| 1 + position + end.len())
}

/// The length of a character literal; a lifetime is none.
fn character(rest: &[u8]) -> Option<usize> {
    if rest[0] != b'\'' {
        return None;
    }
    if rest.get(1) == Some(&b'\\') {
        let close = rest.iter().skip(3).position(|byte| *byte == b'\'')?;
        return Some(close + 4);
    }
    let first = std::str::from_utf8(&rest[1..rest.len().min(5)])
        .or_else(|error| std::str::from_utf8(&rest[1..1 + error.valid_up_to()]))
        .ok()?
        .chars()
        .next()?;
    let close = 1 + first.len_utf8();
    (first != '\'' && rest.get(close) == Some(&b'\'')).then_some(close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let (code, comments) = split(text);
        assert_eq!((code.len(), comments.len()), (text.len(), text.len()));
        code
    }

    #[test]
    fn comments_leave_the_code() {
        assert_eq!(code("a // b {\nc"), "a       \nc");
        assert_eq!(code("a /* { /* } */ { */ b"), "a                   b");
        assert_eq!(split("a // b\nc").1, "  // b\n ");
    }

    #[test]
    fn strings_keep_only_their_quotes() {
        assert_eq!(code(r#"f("} \" {", x)"#), r#"f("      ", x)"#);
        assert_eq!(code(r##"f(r#"} " {"#, x)"##), "f(  \"     \" , x)");
        assert_eq!(code("f(b\"{\", x)"), "f(b\" \", x)");
        assert_eq!(code("\"// no comment\""), "\"             \"");
    }

    #[test]
    fn a_raw_name_is_no_string() {
        assert_eq!(code("r#type = \"x\""), "r#type = \" \"");
    }

    #[test]
    fn characters_go_and_lifetimes_stay() {
        assert_eq!(code("x == '{' && 'a"), "x ==     && 'a");
        assert_eq!(code(r"x == '\'' || '\u{7b}' y"), "x ==      ||          y");
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("x == 'é' {"), "x ==      {");
        assert_eq!(code("x == '\"' {"), "x ==     {");
    }
}
