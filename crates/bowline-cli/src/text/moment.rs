//! Moments as the clock on the wall has them, and spans in a few digits and a unit.

use jiff::{Timestamp, tz::TimeZone};

/// Who looks: where, and when.
#[derive(Clone, Debug)]
pub(crate) struct LocalTime {
    pub(crate) zone: TimeZone,
    pub(crate) now: Timestamp,
}

impl LocalTime {
    /// Here, now. The zone is the system's; `TZ` says another one.
    pub(crate) fn here() -> Self {
        Self { zone: TimeZone::system(), now: Timestamp::now() }
    }

    /// A moment, to the second. What does not read is shown as it is.
    pub(crate) fn at(&self, moment: &str) -> String {
        self.shown(moment, "%Y-%m-%d %H:%M:%S")
    }

    /// The same without the day if it is today's, to the millisecond.
    pub(crate) fn clock(&self, moment: &str) -> String {
        let day = |at: Timestamp| at.to_zoned(self.zone.clone()).date();
        match moment.parse::<Timestamp>() {
            Ok(at) if day(at) == day(self.now) => self.shown(moment, "%H:%M:%S%.3f"),
            _ => self.shown(moment, "%Y-%m-%d %H:%M:%S%.3f"),
        }
    }

    fn shown(&self, moment: &str, form: &str) -> String {
        match moment.parse::<Timestamp>() {
            Ok(at) => at.to_zoned(self.zone.clone()).strftime(form).to_string(),
            Err(_) => super::safe(moment),
        }
    }

    /// How long ago it was, or in how long it will be, in one unit.
    pub(crate) fn ago(&self, moment: &str) -> String {
        let Ok(at) = moment.parse::<Timestamp>() else { return String::new() };
        let seconds = self.now.as_second() - at.as_second();
        match seconds {
            0 => "just now".to_owned(),
            1.. => format!("{} ago", rough(seconds.unsigned_abs())),
            _ => format!("in {}", rough(seconds.unsigned_abs())),
        }
    }

    /// Both, for where there is room.
    pub(crate) fn both(&self, moment: &str) -> String {
        format!("{} ({})", self.at(moment), self.ago(moment))
    }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

fn rough(seconds: u64) -> String {
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ => format!("{} d", seconds / DAY),
    }
}

/// A span of milliseconds that a person can compare.
pub(crate) fn span(ms: f64) -> String {
    let seconds = (ms / 1_000.0) as u64;
    let two = |big: u64, name: &str, small: u64, other: &str| match small {
        0 => format!("{big} {name}"),
        small => format!("{big} {name} {small} {other}"),
    };
    match ms {
        0.0 => "0 ms".to_owned(),
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms if ms < 10_000.0 => format!("{:.1} s", ms / 1_000.0),
        _ if seconds < MINUTE => format!("{seconds} s"),
        _ if seconds < HOUR => two(seconds / MINUTE, "min", seconds % MINUTE, "s"),
        _ if seconds < 2 * DAY => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "min"),
        _ => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// At noon in a town that is an hour ahead.
    pub(crate) fn local() -> LocalTime {
        let zone = TimeZone::get("Europe/Berlin").expect("it is known");
        LocalTime { zone, now: "2026-11-16T11:00:00Z".parse().expect("a moment") }
    }

    #[test]
    fn moments_are_those_of_the_clock_on_the_wall() {
        let local = local();
        assert_eq!(local.at("2026-11-16T10:57:00.5Z"), "2026-11-16 11:57:00");
        assert_eq!(local.at("2026-07-01T10:00:00Z"), "2026-07-01 12:00:00", "in summer");
        assert_eq!(local.clock("2026-11-16T10:57:00.123456Z"), "11:57:00.123");
        assert_eq!(local.clock("2026-11-15T22:59:59Z"), "2026-11-15 23:59:59.000");
        assert_eq!(local.clock("2026-11-15T23:00:00Z"), "00:00:00.000", "today, here");
        assert_eq!(local.at("soon"), "soon");
    }

    #[test]
    fn it_is_said_how_long_ago() {
        let local = local();
        for (moment, says) in [
            ("2026-11-16T11:00:00Z", "just now"),
            ("2026-11-16T10:59:59Z", "1 s ago"),
            ("2026-11-16T10:57:00Z", "3 min ago"),
            ("2026-11-16T09:00:00Z", "2 h ago"),
            ("2026-11-13T09:00:00Z", "3 d ago"),
            ("2026-11-16T11:00:30Z", "in 30 s"),
            ("soon", ""),
        ] {
            assert_eq!(local.ago(moment), says);
        }
    }

    #[test]
    fn spans_have_few_digits() {
        for (ms, says) in [
            (0.0, "0 ms"),
            (0.42, "0.4 ms"),
            (42.0, "42 ms"),
            (2_100.0, "2.1 s"),
            (42_900.0, "42 s"),
            (60_000.0, "1 min"),
            (182_000.0, "3 min 2 s"),
            (7_500_000.0, "2 h 5 min"),
            (273_600_000.0, "3 d 4 h"),
        ] {
            assert_eq!(span(ms), says);
        }
    }
}
