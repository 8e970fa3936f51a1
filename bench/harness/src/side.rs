//! The harness: runs chosen workloads on chosen systems, side by side. The systems take turns
//! within every round, so that noise hits all alike.
//!
//! In:    `harness run --systems a,b --workloads x,y`; `harness list`.
//! Out:   one JSON line per result, then tables; what could not be run is named with its reason.
//! Never: a workload of its own. `workload/` has them, peers run them.

mod args;
mod catalog;
mod machine;
mod peer;
mod plan;
mod play;
mod postgres;
mod report;

use std::path::Path;

use self::{
    args::Args,
    catalog::{Built, Entry},
    plan::Workload,
    play::Stage,
    postgres::Postgres,
    report::{Report, Verdict},
};
use crate::{Hello, Metrics, Trouble};
use anyhow::{Context, Result};

/// What the harness does when it is told these words.
///
/// # Errors
/// If the words make no sense, or if something failed that should not have.
pub fn command(words: &[String]) -> Result<()> {
    let asks = words.iter().any(|word| word == "--help" || word == "-h");
    match words.first().map(String::as_str).filter(|_| !asks) {
        Some("run") => by_side(&Args::parse(&words[1..])?),
        Some("list") => {
            print!("{}", plan::listing(&catalog::names()));
            Ok(())
        }
        _ => {
            print!("{}", args::USAGE);
            Ok(())
        }
    }
}

/// The names of all workloads.
pub fn workloads() -> Vec<String> {
    plan::workloads(false).into_iter().map(|workload| workload.name).collect()
}

/// Runs everything that was asked for.
fn by_side(args: &Args) -> Result<()> {
    std::fs::create_dir_all(&args.scratch)?;
    let scratch = args.scratch.canonicalize()?;
    let mut report = Report::new(args.out.as_deref())?;
    let built = build(args, &mut report)?;
    let mut cluster = None;
    if built.iter().any(|(entry, _)| entry.needs_postgres) {
        cluster = Some(Postgres::start(&scratch).map_err(|error| format!("{error:#}")));
        report.settings("postgres", postgres::SETTINGS)?;
    }
    report.machine(&machine::describe(&scratch))?;
    for round in 0..args.rounds {
        for workload in &args.workloads {
            let shift = round as usize % built.len().max(1);
            for (entry, built) in built.iter().cycle().skip(shift).take(built.len()) {
                // What has no number in the first round has none in the others, and may be slow.
                if report.is_without_number(&workload.name, entry.name) {
                    continue;
                }
                let verdict = one(args, &scratch, entry, built, workload, cluster.as_mut());
                if let Ok((hello, _)) = &verdict {
                    report.system(entry.name, hello)?;
                }
                let verdict = verdict.map(|(_, metrics)| metrics);
                report.result(&workload.name, entry.name, round + 1, Verdict::from(verdict))?;
            }
        }
    }
    report.tables(args, &args.systems.iter().map(|entry| entry.name).collect::<Vec<_>>())
}

/// Builds every peer; one that cannot be had is reported and left out.
fn build(args: &Args, report: &mut Report) -> Result<Vec<(&'static Entry, Built)>> {
    let mut built = Vec::new();
    for entry in &args.systems {
        match args.built(entry) {
            Ok(program) => built.push((*entry, program)),
            Err(error) => {
                for workload in &args.workloads {
                    let verdict = Verdict::Absent(format!("{error:#}"));
                    report.result(&workload.name, entry.name, 0, verdict)?;
                }
            }
        }
    }
    Ok(built)
}

type Played = Result<(Hello, Metrics), Trouble>;

/// One workload on one system, in a folder and a database of its own.
fn one(
    args: &Args,
    scratch: &Path,
    entry: &Entry,
    built: &Built,
    workload: &Workload,
    cluster: Option<&mut Result<Postgres, String>>,
) -> Played {
    let folder = scratch.join(format!("bowline-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context("the scratch folder can be written")?;
    let postgres = match (entry.needs_postgres, cluster) {
        (false, _) => None,
        (true, Some(Ok(cluster))) => Some(cluster.database()?),
        (true, Some(Err(error))) => return Err(Trouble::cannot(format!("no Postgres: {error}"))),
        (true, None) => return Err(Trouble::cannot("no Postgres was started")),
    };
    let stage = Stage { entry, built, folder: &folder, postgres, limit: args.limit };
    let played = play::play(&stage, &workload.shape);
    let played = played.map_err(|trouble| with_log(trouble, &folder, entry.mode));
    std::fs::remove_dir_all(&folder).context("the scratch folder can be deleted")?;
    played
}

/// What the peer last said on its error output tells more than "it died".
fn with_log(trouble: Trouble, folder: &Path, mode: &str) -> Trouble {
    let Trouble::Failed(error) = trouble else { return trouble };
    let log = std::fs::read_to_string(folder.join(format!("{mode}.log"))).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    match last.is_empty() {
        true => Trouble::Failed(error),
        false => Trouble::Failed(error.context(format!("its last words: {}", last.join(" / ")))),
    }
}
