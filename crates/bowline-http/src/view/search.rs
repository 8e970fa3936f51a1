//! Search attributes as JSON, both ways.

use bowline_core::SearchValue;
use serde_json::{Value, json};

use super::{moment, read_moment};

/// What is found is shown.
pub(crate) fn shown(value: &SearchValue) -> Value {
    match value {
        SearchValue::Keyword(text) | SearchValue::Text(text) => json!(text),
        SearchValue::Int(number) => json!(number),
        SearchValue::Double(number) => json!(number),
        SearchValue::Bool(is) => json!(is),
        SearchValue::Time(time) => json!(moment(*time)),
        SearchValue::Keywords(words) => json!(words),
        _ => Value::Null,
    }
}

/// A JSON value as a search attribute; none if it cannot be one.
pub(crate) fn value(value: &Value) -> Option<SearchValue> {
    Some(match value {
        Value::String(text) => SearchValue::Keyword(text.clone()),
        Value::Bool(is) => SearchValue::Bool(*is),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => SearchValue::Int(whole),
            None => SearchValue::Double(number.as_f64()?),
        },
        Value::Array(all) => {
            let words = all.iter().map(|word| word.as_str().map(str::to_owned));
            SearchValue::Keywords(words.collect::<Option<_>>()?)
        }
        Value::Null | Value::Object(_) => return None,
    })
}

/// What stands in an address: a number, `true`, `false`, a quoted text or a moment is what it looks
/// like; all else is a word.
pub(crate) fn said(text: &str) -> SearchValue {
    if let Some(time) = read_moment(text) {
        return SearchValue::Time(time);
    }
    let read: Option<Value> = serde_json::from_str(text).ok();
    let read = read.filter(|read| !read.is_array());
    read.and_then(|read| value(&read)).unwrap_or_else(|| SearchValue::Keyword(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use bowline_core::Time;

    use super::*;

    #[test]
    fn a_value_in_an_address_is_what_it_looks_like() {
        let table = [
            ("acme", SearchValue::Keyword("acme".into())),
            ("\"42\"", SearchValue::Keyword("42".into())),
            ("42", SearchValue::Int(42)),
            ("-1.5", SearchValue::Double(-1.5)),
            ("true", SearchValue::Bool(true)),
            ("1970-01-01T00:00:01Z", SearchValue::Time(Time(1_000_000))),
            ("[1]", SearchValue::Keyword("[1]".into())),
            ("null", SearchValue::Keyword("null".into())),
        ];
        for (text, expected) in table {
            assert_eq!(said(text), expected, "{text}");
        }
    }
}
