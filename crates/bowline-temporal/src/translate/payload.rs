//! User data: payloads, headers, memos, search attributes.

use std::collections::{BTreeMap, HashMap};

use bowline_core::{
    Blob, Fields, Format, Payload, SearchAttributes, SearchField, SearchValue, TurnFault, limits,
};
use prost::Message;
use temporalio_protos::temporal::api::common::v1 as wire;

use super::{Result, read, time};

/// What is wrong with something that a sender gave, and what a turn that says it fails with.
pub(crate) type Fault = (TurnFault, String);

/// The fields that every run has: no search attribute goes by these names.
const OWN: &[&str] = &[
    "WorkflowId",
    "RunId",
    "WorkflowType",
    "StartTime",
    "ExecutionTime",
    "CloseTime",
    "ExecutionStatus",
    "TaskQueue",
    "HistoryLength",
    "ExecutionDuration",
    "StateTransitionCount",
    "HistorySizeBytes",
    "ParentWorkflowId",
    "ParentRunId",
    "RootWorkflowId",
    "RootRunId",
];

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
pub(crate) fn header(fields: &Fields) -> Result<Option<wire::Header>> {
    let header = || Ok(wire::Header { fields: map(fields)? });
    (!fields.is_empty()).then(header).transpose()
}

/// What lists show.
pub(crate) fn memo(fields: &Fields) -> Result<Option<wire::Memo>> {
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
pub(crate) fn search(attributes: &SearchAttributes) -> Result<Option<wire::SearchAttributes>> {
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

/// Payloads that a sender gave, if they gave any.
pub(crate) fn take(sent: Option<&wire::Payloads>) -> Option<Payload> {
    sent.map(keep)
}

/// Keeps one payload, in the form of a list of one.
fn keep_one(payload: &wire::Payload) -> Payload {
    keep(&wire::Payloads { payloads: vec![payload.clone()] })
}

/// Named payloads that a sender gave.
pub(crate) fn take_fields(sent: &HashMap<String, wire::Payload>) -> Fields {
    sent.iter().map(|(name, payload)| (name.clone(), keep_one(payload))).collect()
}

/// What travels beside an input.
pub(crate) fn take_header(sent: Option<&wire::Header>) -> Fields {
    sent.map(|header| take_fields(&header.fields)).unwrap_or_default()
}

/// A memo.
pub(crate) fn take_memo(sent: Option<&wire::Memo>) -> Fields {
    sent.map(|memo| take_fields(&memo.fields)).unwrap_or_default()
}

/// Changes of a memo: an empty payload, or a null, removes its key.
pub(crate) fn take_memo_changes(sent: Option<&wire::Memo>) -> BTreeMap<String, Option<Payload>> {
    let fields = sent.into_iter().flat_map(|memo| &memo.fields);
    fields
        .map(|(name, payload)| (name.clone(), (!is_null(payload)).then(|| keep_one(payload))))
        .collect()
}

/// The payloads of a marker.
pub(crate) fn take_details(sent: &HashMap<String, wire::Payloads>) -> Fields {
    sent.iter().map(|(name, payloads)| (name.clone(), keep(payloads))).collect()
}

/// What runs are found by; a value that does not read as one is named.
pub(crate) fn take_search(
    sent: Option<&wire::SearchAttributes>,
) -> std::result::Result<SearchAttributes, Fault> {
    let changes = take_search_changes(sent)?;
    Ok(changes.into_iter().filter_map(|(name, field)| Some((name, field?))).collect())
}

/// Changes of search attributes: a null removes its key.
pub(crate) fn take_search_changes(
    sent: Option<&wire::SearchAttributes>,
) -> std::result::Result<BTreeMap<String, Option<SearchField>>, Fault> {
    let bad = |why| (TurnFault::BadSearch, why);
    let fields = sent.into_iter().flat_map(|search| &search.indexed_fields);
    fields
        .map(|(name, payload)| {
            if OWN.contains(&name.as_str()) {
                return Err(bad(format!("{name} is a field of every run")));
            }
            // What counts is the value as it is sent, not what travels around it.
            let (size, most) = (payload.data.len(), limits::SEARCH_BYTES_MAX);
            if size > most {
                let why = format!("{name}: its value has {size} bytes, more than {most}");
                return Err((TurnFault::SearchTooLarge, why));
            }
            if is_null(payload) {
                return Ok((name.clone(), None));
            }
            let value = take_value(payload).map_err(|why| bad(format!("{name}: {why}")))?;
            let field = SearchField { value, wire: Some(payload.encode_to_vec().into()) };
            Ok((name.clone(), Some(field)))
        })
        .collect()
}

fn is_null(payload: &wire::Payload) -> bool {
    let encoding = payload.metadata.get("encoding").map(Vec::as_slice);
    payload.data.is_empty()
        || encoding == Some(b"binary/null")
        || payload.data == b"null"
        || payload.data == b"[]"
}

/// A search value, by the type that the sender names, or else by what it looks like.
fn take_value(payload: &wire::Payload) -> std::result::Result<SearchValue, String> {
    use serde_json::Value as V;
    let value: V = serde_json::from_slice(&payload.data).map_err(|why| why.to_string())?;
    let kind = payload.metadata.get("type").map(Vec::as_slice).unwrap_or_default();
    let words = |list: Vec<V>| list.into_iter().map(|word| Some(word.as_str()?.to_owned()));
    let read = match (kind, value) {
        // One value may come as a list of one.
        (b"KeywordList" | b"", V::Array(list)) => {
            words(list).collect::<Option<Vec<_>>>().map(SearchValue::Keywords)
        }
        (_, V::Array(mut list)) if list.len() == 1 => scalar(kind, list.remove(0)),
        (_, value) => scalar(kind, value),
    };
    read.ok_or_else(|| "the value is not of the type that it claims".to_owned())
}

fn scalar(kind: &[u8], value: serde_json::Value) -> Option<SearchValue> {
    use serde_json::Value as V;
    Some(match (kind, value) {
        (b"Text", V::String(text)) => SearchValue::Text(text),
        (b"Datetime", V::String(text)) => SearchValue::Time(time::read_moment(&text)?),
        (b"Keyword" | b"", V::String(text)) => SearchValue::Keyword(text),
        (b"Double", V::Number(number)) => SearchValue::Double(number.as_f64()?),
        (b"Int" | b"", V::Number(number)) if number.is_i64() => SearchValue::Int(number.as_i64()?),
        (b"", V::Number(number)) => SearchValue::Double(number.as_f64()?),
        (b"Bool" | b"", V::Bool(yes)) => SearchValue::Bool(yes),
        _ => return None,
    })
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
