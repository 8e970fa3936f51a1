//! What was asked for on the command line.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};

use super::{catalog, plan};

pub(super) const USAGE: &str = "\
Runs workloads on systems, side by side.

  harness list                       the systems and the workloads
  harness run [options]

  --systems a,b      which systems; the first is what the others are compared with
                     (default: bowline-sqlite; `all` is every one)
  --workloads x,y    which workloads, by name or by the part before the first number
                     (default: all)
  --rounds n         how often everything is measured; the systems take turns (default: 3)
  --limit seconds    how long one measurement may take (default: 180)
  --small            tiny sizes, to see that everything works; its numbers mean nothing
  --dev              builds the peers without optimisation, for the same purpose
  --program a=path   does not build the peer of system a, but takes this program
  --out file         writes the JSON lines and the tables there too
  --scratch folder   where databases are made and deleted (default: the temporary folder)
";

/// A run of the harness.
pub(super) struct Args {
    pub(super) systems: Vec<&'static catalog::Entry>,
    pub(super) workloads: Vec<plan::Workload>,
    pub(super) rounds: u32,
    pub(super) limit: Duration,
    pub(super) is_dev: bool,
    pub(super) is_small: bool,
    /// Peers that are built already.
    programs: Vec<(String, PathBuf)>,
    pub(super) out: Option<PathBuf>,
    pub(super) scratch: PathBuf,
}

impl Args {
    pub(super) fn parse(words: &[String]) -> Result<Self> {
        let mut args = Self {
            systems: vec![catalog::named("bowline-sqlite")?],
            workloads: Vec::new(),
            rounds: 3,
            limit: Duration::from_secs(180),
            is_dev: false,
            is_small: words.iter().any(|word| word == "--small"),
            programs: Vec::new(),
            out: None,
            scratch: std::env::temp_dir(),
        };
        let all = plan::workloads(args.is_small);
        args.workloads.clone_from(&all);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--small" {
                continue;
            }
            if word == "--dev" {
                args.is_dev = true;
                continue;
            }
            let value = words.next().with_context(|| format!("`{word}` needs a value"))?;
            match word.as_str() {
                "--systems" => args.systems = catalog::choose(value)?,
                "--workloads" => args.workloads = plan::choose(&all, value)?,
                "--rounds" => args.rounds = value.parse().context("--rounds takes a number")?,
                "--limit" => args.limit = Duration::from_secs(value.parse()?),
                "--program" => {
                    let (name, path) = value.split_once('=').context("--program takes a=path")?;
                    args.programs.push((name.to_owned(), path.into()));
                }
                "--out" => args.out = Some(value.into()),
                "--scratch" => args.scratch = value.into(),
                _ => bail!("there is no option `{word}`\n\n{USAGE}"),
            }
        }
        Ok(args)
    }

    /// The peer of a system, built unless it was named.
    pub(super) fn built(&self, entry: &catalog::Entry) -> Result<catalog::Built> {
        match self.programs.iter().find(|(name, _)| name == entry.name) {
            Some((_, program)) => Ok(catalog::Built { program: program.clone(), server: None }),
            None => entry.build(self.is_dev),
        }
    }
}
