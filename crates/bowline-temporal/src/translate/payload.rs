//! User data: payloads, headers, memos, search attributes.

use std::collections::{BTreeMap, HashMap};

use bowline_core::{Blob, Fields, Format, Payload, SearchAttributes, SearchField, SearchValue};
use prost::Message;
use temporalio_protos::temporal::api::common::v1 as wire;

use super::{Result, read, time};

/// Keeps payloads exactly as they came.
pub fn keep(payloads: &wire::Payloads) -> Payload {
    Payload::wire(payloads.encode_to_vec())
}

/// Payloads as a Temporal client reads them.
///
/// # Errors
/// If they were kept in the sender's form and do not read as that.
pub fn payloads(payload: &Option<Payload>) -> Result<Option<wire::Payloads>> {
    payload.as_ref().map(list).transpose()
}

fn list(payload: &Payload) -> Result<wire::Payloads> {
    let one = |encoding| wire::Payloads { payloads: vec![encoded(encoding, &payload.bytes)] };
    match payload.format {
        Format::Wire => read(&payload.bytes),
        Format::Json => Ok(one("json/plain")),
        _ => Ok(one("binary/plain")),
    }
}

fn encoded(encoding: &str, bytes: &Blob) -> wire::Payload {
    let metadata = HashMap::from([("encoding".to_owned(), encoding.as_bytes().to_vec())]);
    wire::Payload { metadata, data: bytes.as_slice().to_vec(), ..Default::default() }
}

/// The one payload that a header, a memo or a search attribute has under a name. An empty one
/// stands for none, as it does in Temporal's own requests.
fn single(payload: &Payload) -> Result<wire::Payload> {
    Ok(list(payload)?.payloads.into_iter().next().unwrap_or_default())
}

fn map(fields: &Fields) -> Result<HashMap<String, wire::Payload>> {
    fields.iter().map(|(name, value)| Ok((name.clone(), single(value)?))).collect()
}

/// What travels beside an input.
pub(super) fn header(fields: &Fields) -> Result<Option<wire::Header>> {
    let header = || Ok(wire::Header { fields: map(fields)? });
    (!fields.is_empty()).then(header).transpose()
}

/// What lists show.
pub(super) fn memo(fields: &Fields) -> Result<Option<wire::Memo>> {
    let memo = || Ok(wire::Memo { fields: map(fields)? });
    (!fields.is_empty()).then(memo).transpose()
}

/// What a memo became: a key without a value is removed, which an empty payload says.
pub(super) fn memo_changes(changes: &BTreeMap<String, Option<Payload>>) -> Result<wire::Memo> {
    let value = |payload: &Option<Payload>| payload.as_ref().map(single).transpose();
    let fields = changes
        .iter()
        .map(|(name, payload)| Ok((name.clone(), value(payload)?.unwrap_or_default())));
    Ok(wire::Memo { fields: fields.collect::<Result<_>>()? })
}

/// The payloads of a marker, several under each name.
pub(super) fn details(fields: &Fields) -> Result<HashMap<String, wire::Payloads>> {
    fields.iter().map(|(name, value)| Ok((name.clone(), list(value)?))).collect()
}

/// What runs are found by.
pub(super) fn search(attributes: &SearchAttributes) -> Result<Option<wire::SearchAttributes>> {
    if attributes.is_empty() {
        return Ok(None);
    }
    let fields = attributes.iter().map(|(name, field)| Ok((name.clone(), search_field(field)?)));
    Ok(Some(wire::SearchAttributes { indexed_fields: fields.collect::<Result<_>>()? }))
}

/// What search attributes became: a key without a value is removed, which a null says.
pub(super) fn search_changes(
    changes: &BTreeMap<String, Option<SearchField>>,
) -> Result<wire::SearchAttributes> {
    let value = |field: &Option<SearchField>| match field {
        Some(field) => search_field(field),
        None => Ok(encoded("binary/null", &Blob::default())),
    };
    let fields = changes.iter().map(|(name, field)| Ok((name.clone(), value(field)?)));
    Ok(wire::SearchAttributes { indexed_fields: fields.collect::<Result<_>>()? })
}

fn search_field(field: &SearchField) -> Result<wire::Payload> {
    if let Some(kept) = &field.wire {
        return read(kept);
    }
    let (kind, value) = match &field.value {
        SearchValue::Keyword(text) => ("Keyword", text.as_str().into()),
        SearchValue::Text(text) => ("Text", text.as_str().into()),
        SearchValue::Int(number) => ("Int", (*number).into()),
        SearchValue::Double(number) => ("Double", (*number).into()),
        SearchValue::Bool(yes) => ("Bool", (*yes).into()),
        SearchValue::Time(at) => ("Datetime", time::moment(*at).to_string().into()),
        SearchValue::Keywords(texts) => ("KeywordList", texts.clone().into()),
        _ => ("Keyword", serde_json::Value::Null),
    };
    let mut payload = encoded("json/plain", &Blob::from(value.to_string().into_bytes()));
    payload.metadata.insert("type".to_owned(), kind.as_bytes().to_vec());
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use bowline_core::Time;

    use super::*;
    use crate::translate::Untranslatable;

    #[test]
    fn what_was_kept_comes_back_as_it_was() {
        let sent = wire::Payloads {
            payloads: vec![
                encoded("json/plain", &Blob::from(&b"1"[..])),
                encoded("binary/encrypted", &Blob::from(&b"\x00\xff"[..])),
            ],
        };
        assert_eq!(payloads(&Some(keep(&sent))), Ok(Some(sent)));
    }

    #[test]
    fn a_native_value_reads_as_one_payload() {
        let read = payloads(&Some(Payload::json("[1]"))).unwrap().unwrap();
        assert_eq!(read.payloads.len(), 1);
        assert_eq!(read.payloads[0].metadata["encoding"], b"json/plain");
        assert_eq!(read.payloads[0].data, b"[1]");
    }

    #[test]
    fn damaged_bytes_are_named_and_not_guessed_at() {
        let damaged = Some(Payload::wire(&[0xff, 0xff][..]));
        let Err(Untranslatable::Unreadable { what, .. }) = payloads(&damaged) else {
            panic!("read {damaged:?}");
        };
        assert_eq!(what, "Payloads");
    }

    #[test]
    fn native_search_values_say_their_type() {
        let cases = [
            (SearchValue::Keyword("a\"b".into()), "Keyword", r#""a\"b""#),
            (SearchValue::Int(-3), "Int", "-3"),
            (SearchValue::Bool(true), "Bool", "true"),
            (SearchValue::Time(Time(1_500_000)), "Datetime", r#""1970-01-01T00:00:01.500Z""#),
            (SearchValue::Keywords(vec!["x".into()]), "KeywordList", r#"["x"]"#),
        ];
        for (value, kind, json) in cases {
            let payload = search_field(&SearchField { value, wire: None }).unwrap();
            assert_eq!(payload.metadata["type"], kind.as_bytes());
            assert_eq!(String::from_utf8(payload.data).unwrap(), json);
        }
    }

    #[test]
    fn a_removed_key_is_a_null_in_search_and_nothing_in_memo() {
        let search = search_changes(&BTreeMap::from([("k".to_owned(), None)])).unwrap();
        assert_eq!(search.indexed_fields["k"].metadata["encoding"], b"binary/null");
        let memo = memo_changes(&BTreeMap::from([("k".to_owned(), None)])).unwrap();
        assert_eq!(memo.fields["k"], wire::Payload::default());
    }
}
