//! What the engine says, as the plain data of the model.

pub(crate) mod cause;
pub(crate) mod data;
pub(crate) mod event;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod tree;

use bowline_core::Time;
use jiff::Timestamp;

/// A moment as RFC 3339 in UTC, to the microsecond.
pub(crate) fn moment(time: Time) -> String {
    let at = Timestamp::from_microsecond(time.0);
    at.unwrap_or(if time.0 < 0 { Timestamp::MIN } else { Timestamp::MAX }).to_string()
}

/// A moment that somebody wrote.
pub(crate) fn read_moment(text: &str) -> Option<Time> {
    let at: Timestamp = text.parse().ok()?;
    Some(Time(at.as_microsecond()))
}

/// 128 bits as they are written: hyphenated, or not.
pub(crate) fn read_wide(text: &str) -> Option<u128> {
    let hex: String = match text.len() {
        36 => {
            let parts: Vec<&str> = text.split('-').collect();
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            (lengths == [8, 4, 4, 4, 12]).then(|| parts.concat())?
        }
        32 => text.to_owned(),
        _ => return None,
    };
    let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(&hex, 16).ok())?
}

/// Whole milliseconds.
pub(crate) fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_ids_are_read_as_they_are_written() {
        let time = Time(1_763_322_000_123_456);
        assert_eq!(moment(time), "2025-11-16T19:40:00.123456Z");
        assert_eq!(read_moment(&moment(time)), Some(time));
        assert_eq!(read_moment("2025-11-16T20:40:00.123456+01:00"), Some(time));
        assert_eq!(read_moment("yesterday"), None);
        assert_eq!(moment(Time::MAX), Timestamp::MAX.to_string());
        let id = bowline_core::ReceiptId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        assert_eq!(read_wide(&id.to_string()), Some(id.0));
        for bad in ["", "x", "0123456789abcdef0123456789abcdeg", "+123456789abcdef0123456789abcdef"]
        {
            assert_eq!(read_wide(bad), None, "{bad}");
        }
    }
}
