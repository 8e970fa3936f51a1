//! `soak`: real processes on a real Postgres, troubled for hours, and a report of what came of it.
//!
//! In:    for how long.
//! Out:   a report: which faults there were, which promises were kept, and which were not.
//! Never: does the trouble itself. The storms are tests of `bowline-engine`; each tells in one line
//!        what has happened, and has failed if a promise was broken.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{Command, print, setup, shell};

pub(crate) const COMMAND: Command = Command {
    name: "soak",
    about: "Trouble real processes on a real Postgres for hours, and report",
    help: || {
        "Usage: cargo xtask soak --hours N [--report FILE]\n\n\
         Several processes work on one Postgres. They are killed and stopped, their connections \
         are cut, delayed, half closed and left silent, and the database is stopped, killed, and \
         replaced by a standby that lags; again and again, each time with other choices, until the \
         time is over. N may be a fraction: 0.1 is six minutes. The report goes to FILE, or to \
         soak/report.md in the target folder; what a broken storm has said stands beside it.\n\n\
         It fails if a promise was broken."
            .to_owned()
    },
    run,
};

/// What each is called, and which test it is.
const STORMS: &[(&str, &str)] = &[
    ("kill", "kill::whatever_is_killed_everything_acknowledged_comes_to_its_end"),
    ("outage", "outage::a_database_that_comes_and_goes_stops_nothing_and_loses_nothing"),
    ("storm", "storm::connections_that_break_at_the_worst_moment_break_no_promise"),
    ("standby", "standby::a_standby_that_lags_takes_over_and_nothing_is_mixed_up"),
    ("hang", "hang::whatever_hangs_under_load_everything_acknowledged_comes_to_its_end"),
];

/// What the arguments say.
#[derive(Debug, PartialEq)]
struct Wanted {
    time: Duration,
    report: Option<PathBuf>,
}

fn read(arguments: &[String]) -> Result<Wanted> {
    let (mut time, mut report) = (None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("`{word}` needs a value"))?;
        match word.as_str() {
            "--hours" => {
                let hours: f64 = value
                    .parse()
                    .ok()
                    .filter(|hours| (0.0..1e4).contains(hours))
                    .with_context(|| format!("`{value}` is no number of hours"))?;
                time = Some(Duration::from_secs_f64(hours * 3_600.0));
            }
            "--report" => report = Some(PathBuf::from(value)),
            _ => bail!("there is no `{word}`: `cargo xtask soak --help` says what there is"),
        }
    }
    let time = time.context("for how long? `cargo xtask soak --hours 8`")?;
    Ok(Wanted { time, report })
}

fn run(arguments: &[String]) -> Result<()> {
    let wanted = read(arguments)?;
    let folder = shell::target()?.join("soak");
    std::fs::create_dir_all(&folder).context("the folder of the report cannot be made")?;
    let tally = folder.join("tally");
    let _ = std::fs::remove_file(&tally);
    // Held to the end: the database goes when this is dropped.
    let prepared = setup::prepare(&["-p".to_owned(), "bowline-engine".to_owned()])?;
    let tests = ["test", "-p", "bowline-engine", "--test", "processes"];
    let mut build = shell::cargo(&tests)?;
    build.arg("--no-run");
    shell::run(build)?;
    let (begun, mut broken, mut number) = (Instant::now(), Vec::new(), 0);
    while number == 0 || begun.elapsed() < wanted.time {
        let (storm, test) = STORMS[number % STORMS.len()];
        number += 1;
        let log = folder.join(format!("{number}-{storm}.log"));
        let out = File::create(&log).context("there is no room for a log")?;
        let mut command = shell::cargo(&tests)?;
        command.args(["--", "--exact", test]).envs(prepared.environment());
        command.env("BOWLINE_SOAK_NUMBER", number.to_string()).env("BOWLINE_SOAK_TALLY", &tally);
        command.stdout(out.try_clone()?).stderr(out);
        let held = command.status().context("cargo did not start")?.success();
        print::line(&format!("{number} {storm}: {}", if held { "held" } else { "BROKEN" }));
        match held {
            true => std::fs::remove_file(&log).context("a log cannot be put away")?,
            false => broken.push(log),
        }
    }
    let tally = std::fs::read_to_string(&tally).unwrap_or_default();
    let text = report(&tally, number, &broken, begun.elapsed());
    let file = wanted.report.unwrap_or_else(|| folder.join("report.md"));
    std::fs::write(&file, &text).with_context(|| format!("{} is not written", file.display()))?;
    print::line(&text);
    print::line(&format!("The report is in {}.", file.display()));
    match broken.is_empty() {
        true => Ok(()),
        false => bail!("{} of {number} storms broke a promise", broken.len()),
    }
}

/// What happened, as a page.
fn report(tally: &str, storms: usize, broken: &[impl AsRef<Path>], took: Duration) -> String {
    let (mut kinds, mut faults, mut kept, mut runs) =
        (BTreeMap::<&str, u64>::new(), BTreeMap::new(), BTreeMap::new(), 0);
    for line in tally.lines() {
        let mut words = line.split('\t');
        *kinds.entry(words.next().unwrap_or_default()).or_default() += 1;
        for (what, count) in words.filter_map(|word| word.rsplit_once('=')) {
            let count: u64 = count.parse().unwrap_or(0);
            match what.split_once(' ') {
                Some(("fault", kind)) => *faults.entry(kind).or_insert(0) += count,
                Some(("kept", kind)) => *kept.entry(kind).or_insert(0) += count,
                _ => runs += count,
            }
        }
    }
    let table = |title: &str, rows: &BTreeMap<&str, u64>| {
        let rows = rows.iter().map(|(what, count)| format!("| {what} | {count} |\n"));
        format!("| {title} | count |\n|---|---|\n{}\n", rows.collect::<String>())
    };
    let logs = broken.iter().map(|log| format!("- {}\n", log.as_ref().display()));
    format!(
        "# Soak\n\n{storms} storms in {} minutes, {} of them broken; {runs} runs, {} promises \
         kept.\n\n{}{}{}{}",
        took.as_secs() / 60,
        broken.len(),
        kept.values().sum::<u64>(),
        table("storm that held", &kinds),
        table("fault", &faults),
        table("promise kept", &kept),
        logs.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn it_is_told_for_how_long() {
        let wanted = read(&words("--hours 0.5 --report out.md")).unwrap();
        let report = Some(PathBuf::from("out.md"));
        assert_eq!(wanted, Wanted { time: Duration::from_secs(1_800), report });
        for (bad, why) in [
            ("", "for how long"),
            ("--hours", "needs a value"),
            ("--hours many", "`many`"),
            ("--hours -1", "`-1`"),
            ("--days 1", "`--days`"),
        ] {
            let error = read(&words(bad)).unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn a_report_adds_up_what_was_told() {
        let tally = "kill\tfault processes killed=15\tkept start=40\tkept signal=9\truns=44\n\
                     outage\tfault database killed=2\tkept start=10\truns=12\n\
                     kill\tfault processes killed=15\tkept start=2\truns=2\n";
        let text = report(tally, 4, &["soak/4-hang.log"], Duration::from_secs(600));
        for line in [
            "4 storms in 10 minutes, 1 of them broken; 58 runs, 61 promises kept.",
            "| kill | 2 |",
            "| processes killed | 30 |",
            "| start | 52 |",
            "- soak/4-hang.log",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
