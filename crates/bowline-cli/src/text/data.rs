//! Payloads and failures: JSON as JSON, a text as a text, and of bytes the first ones.

use std::fmt::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use bowline_http::model::{Data, DataEncoding, Failed};

use super::{safe, safe_lines};

/// How much of a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// As much as fits into a line.
    Line,
    /// All of it.
    Full,
}

/// How many letters of a value a line has.
const LETTERS: usize = 100;
/// How many bytes of something that is neither text nor JSON.
const BYTES: usize = 16;

/// A value of the user's, on one line.
pub(crate) fn data(data: &Data, length: Length) -> String {
    match data.encoding {
        DataEncoding::Json => cut(&data.value.to_string(), data.bytes, length),
        DataEncoding::Text => {
            let text = data.value.as_str().unwrap_or_default();
            cut(&format!("\"{text}\""), data.bytes, length)
        }
        DataEncoding::Base64 => hex(data, length),
        DataEncoding::List => {
            let each = data.value.as_array().into_iter().flatten();
            let each = each.map(|one| match serde_json::from_value::<Data>(one.clone()) {
                Ok(one) => self::data(&one, length),
                Err(_) => safe(&one.to_string()),
            });
            each.collect::<Vec<_>>().join(", ")
        }
        DataEncoding::Omitted => format!("({}: --full shows it)", bytes(data.bytes)),
    }
}

fn cut(text: &str, count: u64, length: Length) -> String {
    let text = safe(text);
    match length == Length::Full || text.chars().count() <= LETTERS {
        true => text,
        false => {
            let begin: String = text.chars().take(LETTERS).collect();
            format!("{begin}… ({})", bytes(count))
        }
    }
}

fn hex(data: &Data, length: Length) -> String {
    let text = data.value.as_str().unwrap_or_default();
    let raw = BASE64_STANDARD.decode(text).unwrap_or_default();
    let shown = if length == Length::Full { raw.len() } else { BYTES.min(raw.len()) };
    let mut hex = String::from("0x");
    for byte in &raw[..shown] {
        write!(hex, "{byte:02x}").expect("memory takes everything");
    }
    let more = if shown < raw.len() { "…" } else { "" };
    format!("{hex}{more} ({}, {})", safe(&data.format), bytes(data.bytes))
}

fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        count => format!("{count} bytes"),
    }
}

/// A failure with what it followed from, each on lines of its own behind this indentation.
pub(crate) fn failure(failed: &Failed, indent: &str, length: Length) -> String {
    let mut lines = Vec::new();
    let mut next = Some(failed);
    while let Some(failed) = next {
        let because = if lines.is_empty() { "" } else { "because: " };
        let kind = match failed.kind.as_str() {
            "" => String::new(),
            kind => format!(" [{}]", safe(kind)),
        };
        lines.push(format!("{indent}{because}{}{kind}", safe(&failed.message)));
        if let Some(details) = &failed.details {
            lines.push(format!("{indent}  {}", data(details, length)));
        }
        if length == Length::Full && !failed.trace.is_empty() {
            lines.push(safe_lines(&failed.trace, &format!("{indent}  ")));
        }
        next = failed.source.as_deref();
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(encoding: DataEncoding, value: Value, bytes: u64) -> Data {
        Data { format: "json".to_owned(), encoding, value, bytes }
    }

    #[test]
    fn a_value_is_shown_as_what_it_is() {
        let line = |value: &Data| data(value, Length::Line);
        assert_eq!(line(&of(DataEncoding::Json, json!({ "a": [1] }), 9)), "{\"a\":[1]}");
        assert_eq!(line(&of(DataEncoding::Text, json!("a\x1bb\nc"), 5)), r#""a\u{1b}b\nc""#);
        let two = bowline_http::plain_data("bytes", &[0, 255]);
        assert_eq!(line(&two), "0x00ff (bytes, 2 bytes)");
        let many = bowline_http::plain_data("proto", &[7; 20]);
        assert_eq!(line(&many), format!("0x{}… (proto, 20 bytes)", "07".repeat(16)));
        assert_eq!(data(&many, Length::Full), format!("0x{} (proto, 20 bytes)", "07".repeat(20)));
        let list =
            json!([of(DataEncoding::Json, json!(1), 1), of(DataEncoding::Json, json!(2), 1)]);
        assert_eq!(line(&of(DataEncoding::List, list, 9)), "1, 2");
        let left_out = of(DataEncoding::Omitted, Value::Null, 20_000);
        assert_eq!(line(&left_out), "(20000 bytes: --full shows it)");
        let long = of(DataEncoding::Json, json!("x".repeat(200)), 202);
        assert_eq!(line(&long), format!("\"{}… (202 bytes)", "x".repeat(99)));
        assert_eq!(data(&long, Length::Full).len(), 202);
    }

    #[test]
    fn a_failure_is_told_down_to_its_source() {
        let source = Failed {
            message: "no route".to_owned(),
            kind: "Io".to_owned(),
            details: Some(of(DataEncoding::Json, json!({ "host": "db" }), 13)),
            trace: "at a\nat b".to_owned(),
            source: None,
        };
        let failed = Failed {
            message: "the charge failed".to_owned(),
            kind: String::new(),
            details: None,
            trace: String::new(),
            source: Some(Box::new(source)),
        };
        let line = failure(&failed, "  ", Length::Line);
        assert_eq!(line, "  the charge failed\n  because: no route [Io]\n    {\"host\":\"db\"}");
        assert!(failure(&failed, "  ", Length::Full).ends_with("\n    at a\n    at b"));
    }
}
