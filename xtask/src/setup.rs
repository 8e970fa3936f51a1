//! What the tests need around them, one file per step under `setup/`.
//!
//! In:    nothing; a step finds what it needs on the machine.
//! Out:   environment variables for the tests, and guards that put things away when dropped.
//! Never: quiet. A step that cannot do its work fails, and says what the machine lacks.

mod chromium;
mod command;
mod go;
mod java;
mod postgres;
mod python;
mod scratch;
mod sdk;
mod strace;
mod typescript;

use std::any::Any;
use std::ffi::OsString;

use anyhow::{Context, Result};

use crate::{print, shell};

/// One thing to prepare before the tests run.
struct Step {
    name: &'static str,
    /// What it prepares, for `cargo xtask test --help`.
    about: &'static str,
    /// The packages whose tests need it; if there are none, all do.
    wanted_by: &'static [&'static str],
    prepare: fn() -> Result<Ready>,
}

/// What one step has prepared.
struct Ready {
    environment: Vec<(&'static str, OsString)>,
    /// Dropped after the tests; its `Drop` takes away what the step built.
    guard: Box<dyn Any>,
}

/// In this order, and taken away in the opposite one.
const STEPS: &[Step] = &[
    scratch::STEP,
    strace::STEP,
    postgres::STEP,
    chromium::STEP,
    python::STEP,
    go::STEP,
    command::STEP,
    typescript::STEP,
    java::STEP,
];

/// Everything that was prepared; dropping it takes it away.
pub(crate) struct Prepared {
    steps: Vec<Ready>,
}

impl Prepared {
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        self.steps.iter().flat_map(|ready| ready.environment.iter().cloned()).collect()
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        while let Some(ready) = self.steps.pop() {
            drop(ready.guard);
        }
    }
}

/// Prepares what the tests need that these arguments of `cargo test` choose.
pub(crate) fn prepare(arguments: &[String]) -> Result<Prepared> {
    prepare_all(STEPS, arguments)
}

fn prepare_all(steps: &[Step], arguments: &[String]) -> Result<Prepared> {
    let mut prepared = Prepared { steps: Vec::new() };
    let wanted =
        |step: &&Step| step.wanted_by.is_empty() || shell::may_choose(arguments, step.wanted_by);
    for step in steps.iter().filter(wanted) {
        let ready = (step.prepare)().with_context(|| format!("set-up step `{}`", step.name))?;
        for (name, value) in &ready.environment {
            print::line(&format!("{}: {name}={}", step.name, value.to_string_lossy()));
        }
        prepared.steps.push(ready);
    }
    Ok(prepared)
}

/// The steps, one line each.
pub(crate) fn listing() -> String {
    STEPS.iter().map(|step| format!("  {:<10} {}\n", step.name, step.about)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use anyhow::bail;

    use super::*;

    static ENDED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

    struct Ends(&'static str);

    impl Drop for Ends {
        fn drop(&mut self) {
            ENDED.lock().unwrap().push(self.0);
        }
    }

    fn ready(name: &'static str) -> Result<Ready> {
        Ok(Ready { environment: vec![(name, name.into())], guard: Box::new(Ends(name)) })
    }

    #[test]
    fn a_failing_step_is_named_and_the_earlier_ones_are_put_away_in_opposite_order() {
        let steps = [
            Step { name: "one", about: "", wanted_by: &[], prepare: || ready("ONE") },
            Step { name: "two", about: "", wanted_by: &[], prepare: || ready("TWO") },
            Step { name: "three", about: "", wanted_by: &[], prepare: || bail!("no such program") },
        ];
        let prepared = prepare_all(&steps[..2], &[]).unwrap();
        let names: Vec<_> = prepared.environment().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["ONE", "TWO"]);
        drop(prepared);
        assert_eq!(*ENDED.lock().unwrap(), ["TWO", "ONE"]);

        let error = format!("{:#}", prepare_all(&steps, &[]).err().unwrap());
        assert!(error.contains("`three`") && error.contains("no such program"), "{error}");
        assert_eq!(*ENDED.lock().unwrap(), ["TWO", "ONE", "TWO", "ONE"]);
    }
}
