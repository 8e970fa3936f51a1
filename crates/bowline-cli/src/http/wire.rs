//! The payloads of SDKs, for people: read as their own metadata says, and written as JSON, which
//! every SDK reads.

use bowline_core::Payload;
use bowline_http::{Wire, model::Data, plain_data};
use bowline_temporal::translate;
use serde_json::Value;

/// What the door for SDKs keeps.
pub(crate) struct Sdk;

impl Wire for Sdk {
    fn read(&self, bytes: &[u8]) -> Option<Vec<Data>> {
        let kept = Some(Payload::wire(bytes));
        let list = translate::payloads(&kept).ok().flatten()?.payloads;
        let one = |metadata: Option<&Vec<u8>>, data: &[u8]| {
            let encoding = metadata.and_then(|text| std::str::from_utf8(text).ok());
            let encoding = encoding.unwrap_or("bytes");
            match encoding {
                "binary/null" => json("null", b"null"),
                "json/plain" | "json/protobuf" => json(encoding, data),
                _ => plain_data(encoding, data),
            }
        };
        Some(list.iter().map(|one_of| one(one_of.metadata.get("encoding"), &one_of.data)).collect())
    }

    fn write(&self, values: &[Value]) -> Vec<u8> {
        let each = values.iter().filter_map(|value| {
            let kept = Some(Payload::json(value.to_string()));
            translate::payloads(&kept).ok().flatten()
        });
        let all = each.reduce(|mut all, one| {
            all.payloads.extend(one.payloads);
            all
        });
        all.map(|all| translate::keep(&all).bytes.as_slice().to_vec()).unwrap_or_default()
    }
}

fn json(format: &str, bytes: &[u8]) -> Data {
    match serde_json::from_slice(bytes) {
        Ok(value) => Data {
            format: format.to_owned(),
            encoding: bowline_http::model::DataEncoding::Json,
            value,
            bytes: bytes.len() as u64,
        },
        Err(_) => plain_data(format, bytes),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let values = [json!({ "order": 7 }), json!("a text"), Value::Null];
        let read = Sdk.read(&Sdk.write(&values)).expect("it reads");
        let read: Vec<_> = read.into_iter().map(|data| (data.format, data.value)).collect();
        assert_eq!(read, values.map(|value| ("json/plain".to_owned(), value)));
        assert!(Sdk.write(&[]).is_empty());
        assert_eq!(Sdk.read(b"\xff\xff"), None);
    }
}
