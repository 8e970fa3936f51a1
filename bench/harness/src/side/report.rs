//! What was found: a JSON line for each thing as it becomes known, and tables at the end.

mod table;
mod target;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Write,
    path::Path,
};

use crate::{Hello, Metrics, Trouble};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{args::Args, machine};

/// How one measurement ended.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    /// With numbers.
    Measured(Metrics),
    /// The system has no such thing.
    Cannot(String),
    /// It went wrong.
    Failed(String),
    /// The system could not be had on this machine.
    Absent(String),
}

impl From<Result<Metrics, Trouble>> for Verdict {
    fn from(result: Result<Metrics, Trouble>) -> Self {
        match result {
            Ok(metrics) => Self::Measured(metrics),
            Err(Trouble::Cannot(reason)) => Self::Cannot(reason),
            Err(Trouble::Failed(error)) => Self::Failed(format!("{error:#}")),
        }
    }
}

/// All that was found so far.
pub(super) struct Report {
    file: Option<File>,
    described: BTreeSet<String>,
    results: Vec<(String, String, Verdict)>,
}

impl Report {
    pub(super) fn new(out: Option<&Path>) -> Result<Self> {
        let file = out.map(File::create).transpose().context("--out can be written")?;
        Ok(Self { file, described: BTreeSet::new(), results: Vec::new() })
    }

    pub(super) fn machine(&mut self, facts: &BTreeMap<&str, String>) -> Result<()> {
        self.line(&json!({ "kind": "machine", "facts": facts }).to_string())
    }

    pub(super) fn settings(&mut self, of: &str, text: &str) -> Result<()> {
        self.line(&json!({ "kind": "settings", "of": of, "settings": text }).to_string())
    }

    /// Says once what a system is.
    pub(super) fn system(&mut self, name: &str, hello: &Hello) -> Result<()> {
        if !self.described.insert(name.to_owned()) {
            return Ok(());
        }
        self.line(&json!({ "kind": "system", "system": name, "facts": hello }).to_string())
    }

    pub(super) fn result(
        &mut self,
        workload: &str,
        system: &str,
        round: u32,
        verdict: Verdict,
    ) -> Result<()> {
        let (name, value) = match &verdict {
            Verdict::Measured(metrics) => ("metrics", json!(metrics)),
            Verdict::Cannot(reason) => ("cannot", json!(reason)),
            Verdict::Failed(error) => ("failed", json!(error)),
            Verdict::Absent(reason) => ("absent", json!(reason)),
        };
        let mut line = json!({ "kind": "result", "workload": workload, "system": system,
            "round": round, "load": machine::load() });
        if let Value::Object(fields) = &mut line {
            fields.insert(name.to_owned(), value);
        }
        self.results.push((workload.to_owned(), system.to_owned(), verdict));
        self.line(&line.to_string())
    }

    /// Whether there was a reason for no number.
    pub(super) fn is_without_number(&self, workload: &str, system: &str) -> bool {
        self.results.iter().any(|(of, by, verdict)| {
            of == workload && by == system && !matches!(verdict, Verdict::Measured(_))
        })
    }

    /// The tables; an error if something went wrong that should not have.
    pub(super) fn tables(&mut self, args: &Args, systems: &[&str]) -> Result<()> {
        let text = table::tables(&self.results, systems, args.is_small || args.is_dev);
        self.line(&text)?;
        let failed =
            self.results.iter().filter(|(_, _, verdict)| matches!(verdict, Verdict::Failed(_)));
        match failed.count() {
            0 => Ok(()),
            count => anyhow::bail!("{count} measurements failed; their lines say why"),
        }
    }

    fn line(&mut self, text: &str) -> Result<()> {
        println!("{text}");
        if let Some(file) = &mut self.file {
            writeln!(file, "{text}")?;
        }
        Ok(())
    }
}
