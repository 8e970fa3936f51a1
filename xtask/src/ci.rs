//! `ci`: everything a change must pass, in the order in which a failure is cheapest to hear.
//!
//! In:    nothing.
//! Out:   each step with its time; at the first failure, the one command that repeats or mends it.
//! Never: a check of its own. Each step is a command that a person can run alone.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::{Command, api, chore, neighbours, print, test, tidy};

pub(crate) const COMMAND: Command = Command {
    name: "ci",
    about: "Run everything that a change must pass, as the continuous integration does",
    help: || {
        let mut text = String::from("Stops at the first step that fails. The steps:\n");
        for step in STEPS {
            text.push_str(&format!("  {:<10} {}\n", step.name, step.mend));
        }
        text
    },
    run: |arguments| match arguments.first() {
        Some(first) => bail!("ci takes no arguments, and runs everything: what is `{first}`?"),
        None => run(STEPS),
    },
};

struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
    /// What to do when it fails.
    mend: &'static str,
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        run: || chore::fmt(&["--check".to_owned()]),
        mend: "run `cargo xtask fmt` and commit what it changes",
    },
    Step {
        name: "lint",
        run: || chore::lint(&[]),
        mend: "run `cargo xtask lint` and mend what clippy names",
    },
    Step {
        name: "tidy",
        run: || tidy::run(&[]),
        mend: "run `cargo xtask tidy`; each line says what to do",
    },
    Step {
        name: "test",
        run: || test::run(&[]),
        mend: "run `cargo xtask test -p <package> <test>` for the test that failed",
    },
    Step {
        name: "docs",
        run: || chore::docs(&[]),
        mend: "run `cargo xtask docs` and mend what rustdoc names",
    },
    Step {
        name: "api",
        run: || api::run(&[]),
        mend: "run `cargo xtask api --bless` if the interface was meant to change",
    },
    Step {
        name: "neighbours",
        run: neighbours::run,
        mend: "run `cargo xtask neighbours`; look at the range of `rusqlite` in Cargo.toml",
    },
];

fn run(steps: &[Step]) -> Result<()> {
    let begun = Instant::now();
    for (index, step) in steps.iter().enumerate() {
        print::line(&format!("\n== ci {}/{}: {}", index + 1, steps.len(), step.name));
        let started = Instant::now();
        let outcome = (step.run)();
        let time = seconds(started.elapsed());
        if let Err(error) = outcome {
            print::line(&format!("== ci: {} FAILED after {time}", step.name));
            return Err(anyhow!("{error:#}\nci stopped at `{}`: {}", step.name, step.mend));
        }
        print::line(&format!("== ci: {} passed in {time}", step.name));
    }
    let time = seconds(begun.elapsed());
    print::line(&format!("\n== ci: all {} steps passed in {time}", steps.len()));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_ends_it_and_says_what_to_run() {
        let steps = [
            Step { name: "one", run: || Ok(()), mend: "" },
            Step { name: "two", run: || bail!("broken"), mend: "run the second" },
            Step { name: "three", run: || panic!("ran after a failure"), mend: "" },
        ];
        let error = run(&steps).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains("run the second"), "{error}");
    }

    #[test]
    fn an_argument_is_refused_before_anything_runs() {
        let error = (COMMAND.run)(&["fmt".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`fmt`"), "{error}");
    }

    #[test]
    fn steps_that_pass_pass() {
        run(&[Step { name: "one", run: || Ok(()), mend: "" }]).unwrap();
    }
}
