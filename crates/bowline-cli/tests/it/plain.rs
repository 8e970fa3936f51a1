//! What a command printed, without what differs from run to run: ids, moments, spans.

use std::collections::BTreeMap;

/// Replaces what differs: each id by a number of its own, moments and spans by a word. As these
/// words have other lengths, columns are set apart by two spaces.
#[derive(Default)]
pub(crate) struct Plain {
    ids: BTreeMap<String, usize>,
}

impl Plain {
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (taken, word) = self.word(rest).unwrap_or_else(|| {
                let first = rest.chars().next().map_or(0, char::len_utf8);
                (first, rest[..first].to_owned())
            });
            plain.push_str(&word);
            rest = &rest[taken..];
            // A number inside of a name is part of it.
            while taken == 1
                && !rest.starts_with("_ms")
                && plain.ends_with(|c: char| c.is_ascii_alphanumeric())
            {
                let Some(next) = rest.chars().next().filter(char::is_ascii_alphanumeric) else {
                    break;
                };
                plain.push(next);
                rest = &rest[1..];
            }
        }
        plain.lines().map(|line| spaced(line) + "\n").collect()
    }

    /// What stands at the beginning and differs, and the word for it.
    fn word(&mut self, text: &str) -> Option<(usize, String)> {
        if let Some(length) = like(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
            let number = self.ids.len() + 1;
            let number = *self.ids.entry(text[..length].to_owned()).or_insert(number);
            return Some((length, format!("<id {number}>")));
        }
        if let Some(length) = like(text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") {
            return Some((length, "<drawn>".to_owned()));
        }
        for form in ["dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd:dd", "dd:dd:dd.ddd"] {
            if let Some(length) = like(text, form) {
                let rest = &text[length..];
                let more = rest.len()
                    - rest
                        .trim_start_matches(|c: char| ".Z".contains(c) || c.is_ascii_digit())
                        .len();
                return Some((length + more, "<time>".to_owned()));
            }
        }
        for key in ["_ms\":", "history_bytes\":"] {
            if let Some(rest) = text.strip_prefix(key) {
                let digits = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
                return Some((text.len() - digits.len(), format!("{key}<n>")));
            }
        }
        if let Some(rest) = text.strip_prefix("just now") {
            return Some((text.len() - rest.len(), "<ago>".to_owned()));
        }
        span(text)
    }
}

/// The length of what stands at the beginning, if it is of this form.
fn like(text: &str, form: &str) -> Option<usize> {
    let fits = |(found, wanted): (u8, u8)| match wanted {
        b'd' => found.is_ascii_digit(),
        b'x' => found.is_ascii_hexdigit(),
        wanted => found == wanted,
    };
    let is_long_enough = text.len() >= form.len();
    (is_long_enough && text.bytes().zip(form.bytes()).all(fits)).then_some(form.len())
}

/// A number and a unit.
fn span(text: &str) -> Option<(usize, String)> {
    let rest = text.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    if rest.len() == text.len() {
        return None;
    }
    let unit = [" ms", " s", " min", " h"].into_iter().find(|unit| {
        let after = rest.strip_prefix(unit);
        after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    })?;
    let rest = rest.strip_prefix(unit)?;
    match rest.strip_prefix(" ago") {
        Some(rest) => Some((text.len() - rest.len(), "<ago>".to_owned())),
        None => Some((text.len() - rest.len(), "<span>".to_owned())),
    }
}

/// Two spaces where there are more, but for the beginning.
fn spaced(line: &str) -> String {
    let begin = line.len() - line.trim_start_matches(' ').len();
    let mut spaced = line[..begin].to_owned();
    let mut blanks = 0;
    for c in line[begin..].chars() {
        blanks = if c == ' ' { blanks + 1 } else { 0 };
        if blanks <= 2 {
            spaced.push(c);
        }
    }
    spaced
}

#[test]
fn only_what_differs_is_replaced() {
    let mut plain = Plain::default();
    let id = "0199a0b1-0000-7000-8000-000000000001";
    let text =
        format!("order-42   {id} at 2026-11-16 11:57:00 (3 min ago), +4.2 ms\n{id} 12 sides");
    let says = "order-42  <id 1> at <time> (<ago>), +<span>\n<id 1> 12 sides\n";
    assert_eq!(plain.text(&text), says);
}
