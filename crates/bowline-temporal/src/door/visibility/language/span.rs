//! Spans, in the forms that clients write.

/// The units of a span, in nanoseconds; what begins another stands before it.
const UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3_600e9),
];

/// A span in nanoseconds: a plain number of them, numbers with units (`1h30m`), or `hours:minutes:
/// seconds`.
pub(super) fn read(text: &str) -> Option<i128> {
    if let Ok(nanos) = text.parse::<i64>() {
        return Some(nanos.into());
    }
    if text.contains(':') {
        return clock(text);
    }
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    if rest.is_empty() {
        return None;
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, size) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        nanos += number * size;
    }
    // What is longer than all time is still longer than any run.
    Some(sign * nanos.round() as i128)
}

fn clock(text: &str) -> Option<i128> {
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else { return None };
    let number = |part: &str| {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| part.parse::<u32>().ok()).flatten()
    };
    let below_sixty = |part: &str| number(part).filter(|number| *number < 60);
    let seconds = i128::from(number(hours)?) * 3_600
        + i128::from(below_sixty(minutes)?) * 60
        + i128::from(below_sixty(seconds)?);
    Some(seconds * 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn every_form_is_read_and_nothing_else() {
        for (text, nanos) in [
            ("5", 5),
            ("1ms", 1_000_000),
            ("1h30m0.5s", 5_400_500_000_000),
            ("-2s", -2_000_000_000),
            ("01:30:00", 5_400_000_000_000),
        ] {
            assert_eq!(read(text), Some(nanos), "{text}");
        }
        for text in ["", "-", "1", "long", "1x", "1h2", "1:2", "00:60:00", "s", "..s"] {
            assert_eq!(read(text).is_some(), text == "1", "{text}");
        }
    }
}
