//! Schedules as Temporal's clients write them: five fields of cron, `@every`, and nicknames, in UTC
//! or in the zone that `CRON_TZ=` names.

use std::time::Duration;

use bowline_core::Time;
use bowline_engine::Schedules;
use croner::{
    errors::CronError,
    parser::{CronParser, Seconds, Year},
};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// Reads them.
pub(crate) struct Cron;

impl Schedules for Cron {
    fn next(&self, schedule: &str, since: Time, after: Time) -> Result<Option<Time>, String> {
        let (zone, text) = zone(schedule.trim())?;
        if let Some(span) = text.strip_prefix("@every ") {
            return every(span.trim(), since, after).map(Some);
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed);
        let fields = fields(text)?;
        let cron = parser.build().parse(fields).map_err(|error| error.to_string())?;
        let moment = Timestamp::from_microsecond(after.0).map_err(|error| error.to_string())?;
        match cron.find_next_occurrence(&moment.to_zoned(zone), false) {
            Ok(next) => Ok(Some(Time(next.timestamp().as_microsecond()))),
            Err(CronError::TimeSearchLimitExceeded) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The zone that a schedule is meant in, and the rest of it.
fn zone(schedule: &str) -> Result<(TimeZone, &str), String> {
    let named = schedule.strip_prefix("CRON_TZ=").or_else(|| schedule.strip_prefix("TZ="));
    let Some(named) = named else { return Ok((TimeZone::UTC, schedule)) };
    let (name, rest) = named.split_once(' ').ok_or("there is nothing after its zone")?;
    let zone = TimeZone::get(name).map_err(|_| format!("there is no time zone {name:?}"))?;
    Ok((zone, rest.trim()))
}

/// Five fields, whatever they are called.
fn fields(text: &str) -> Result<&str, String> {
    Ok(match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        name if name.starts_with('@') => return Err(format!("there is no {name:?}")),
        fields => fields,
    })
}

/// Every so often, counted from a beginning.
fn every(text: &str, since: Time, after: Time) -> Result<Time, String> {
    let bad = || format!("{text:?} is no span of at least one second");
    let span: SignedDuration = text.parse().map_err(|_| bad())?;
    let span = Duration::try_from(span).map_err(|_| bad())?;
    // Parts of a second are left out.
    let step =
        i64::try_from(span.as_secs()).ok().and_then(|seconds| seconds.checked_mul(1_000_000));
    let step = step.filter(|step| *step > 0).ok_or_else(bad)?;
    let passed = after.0.saturating_sub(since.0).max(0) / step;
    let next = (passed + 1).checked_mul(step).and_then(|span| since.0.checked_add(span));
    next.map(Time).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        Time(text.parse::<Timestamp>().expect("a moment").as_microsecond())
    }

    #[test]
    fn schedules_read_as_temporals_users_write_them() {
        let now = "2026-03-28T10:20:30Z";
        for (schedule, next) in [
            ("* * * * *", "2026-03-28T10:21:00Z"),
            ("*/15 * * * *", "2026-03-28T10:30:00Z"),
            ("0 12 * * MON-FRI", "2026-03-30T12:00:00Z"),
            ("0 0 13 * 5", "2026-04-03T00:00:00Z"),
            ("30 6 1 JAN *", "2027-01-01T06:30:00Z"),
            ("@hourly", "2026-03-28T11:00:00Z"),
            ("@daily", "2026-03-29T00:00:00Z"),
            ("@weekly", "2026-03-29T00:00:00Z"),
            ("@monthly", "2026-04-01T00:00:00Z"),
            ("@yearly", "2027-01-01T00:00:00Z"),
            ("@every 1h30m", "2026-03-28T11:30:00Z"),
            ("@every 7s", "2026-03-28T10:20:32Z"),
            ("CRON_TZ=Europe/Berlin 0 12 * * *", "2026-03-28T11:00:00Z"),
            ("TZ=America/New_York 0 0 * * *", "2026-03-29T04:00:00Z"),
        ] {
            let found = Cron.next(schedule, at("2026-03-28T10:00:00Z"), at(now));
            assert_eq!(found, Ok(Some(at(next))), "{schedule}");
        }
        // The clocks go forward that night: noon comes an hour earlier.
        let found =
            Cron.next("CRON_TZ=Europe/Berlin 0 12 * * *", Time(0), at("2026-03-29T00:00:00Z"));
        assert_eq!(found, Ok(Some(at("2026-03-29T10:00:00Z"))));
    }

    #[test]
    fn what_does_not_read_is_named() {
        for bad in [
            "",
            "soon",
            "* * * *",
            "* * * * * *",
            "61 * * * *",
            "@never",
            "@every",
            "@every x",
            "@every 10ms",
            "@every -1h",
            "CRON_TZ=Nowhere/Atall * * * * *",
            "CRON_TZ=UTC",
        ] {
            assert!(Cron.next(bad, Time(0), Time(0)).is_err(), "{bad:?} was read");
        }
        assert_eq!(Cron.next("0 0 30 2 *", Time(0), Time(0)), Ok(None), "that day never comes");
    }
}
