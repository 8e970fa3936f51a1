//! A message that is too large to be read, in the words that SDKs know: they fail the turn or
//! attempt that it was to answer, instead of sending it again and again.

use tonic::{Code, Status, body::Body, codegen::http};

/// What the transport says of a message that is larger than the bound.
const FOUND: &str = "Error, decoded message length too large";
/// The same, of one that was packed.
const UNPACKED: &str = "Error decompressing: size limit";

/// The answer, with the refusal of a large message put into words that SDKs compare.
pub(super) fn reworded(answer: http::Response<Body>) -> http::Response<Body> {
    let Some(status) = Status::from_header_map(answer.headers()) else { return answer };
    let known = match (status.code(), status.message()) {
        (Code::OutOfRange, text) if text.starts_with(FOUND) => {
            "grpc: received message larger than max"
        }
        (Code::ResourceExhausted, text) if text.starts_with(UNPACKED) => {
            "grpc: received message after decompression larger than max"
        }
        _ => return answer,
    };
    Status::resource_exhausted(format!("{known} ({})", status.message())).into_http()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reworded(status: Status) -> Status {
        let answer = super::reworded(status.into_http());
        Status::from_header_map(answer.headers()).expect("it is a refusal")
    }

    #[test]
    fn other_refusals_stay_as_they_are() {
        let other = reworded(Status::out_of_range("nothing of ours"));
        assert_eq!((other.code(), other.message()), (Code::OutOfRange, "nothing of ours"));
        let full = reworded(Status::resource_exhausted("too many calls"));
        assert_eq!(full.message(), "too many calls");
        assert!(Status::from_header_map(&http::HeaderMap::new()).is_none());
    }
}
