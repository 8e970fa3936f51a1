//! The command line.

use bowline_sim::Look;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Usage: sim [--seeds N] [--from S] [--workers W] [--reach] [--plant NAME] [--ignore RULE]...
       sim --seed S [--whole] [--plant NAME] [--ignore RULE]...

--seeds N     play the worlds of N seeds; 1000 if nothing is said
--from S      beginning with this one; 0 if nothing is said
--workers W   in so many processes; as many as there are cores if nothing is said
--twice       play every world twice, and compare; otherwise one of a hundred
--reach       say at the end what has happened at all, and in which world first
--seed S      tell the story of one seed, cut down to what is needed if it goes wrong
--whole       do not cut it down
--ignore RULE look away from a rule, to see what else is broken
--plant NAME  put a mended defect back (needs a build with the feature `planted`)";

/// What is to be done.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) from: u64,
    pub(crate) seeds: u64,
    pub(crate) workers: u64,
    /// A child plays every so many-th seed.
    pub(crate) step: u64,
    pub(crate) seed: Option<u64>,
    pub(crate) whole: bool,
    /// Every world is played twice.
    pub(crate) twice: bool,
    /// It is said what has happened at all, and where first.
    pub(crate) reach: bool,
    pub(crate) is_child: bool,
    pub(crate) plant: Option<String>,
    pub(crate) look: Look,
}

impl Options {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        let mut options = Self {
            from: 0,
            seeds: 1_000,
            workers: cores,
            step: 1,
            seed: None,
            whole: false,
            twice: false,
            reach: false,
            is_child: false,
            plant: None,
            look: Look::default(),
        };
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().ok_or(format!("{argument} needs a number"))?;
                value.parse::<u64>().map_err(|_| format!("{argument}: {value:?} is no number"))
            };
            match argument.as_str() {
                "--from" => options.from = number()?,
                "--seeds" => options.seeds = number()?,
                "--workers" => options.workers = number()?.max(1),
                "--step" => options.step = number()?.max(1),
                "--seed" => options.seed = Some(number()?),
                "--whole" => options.whole = true,
                "--twice" => options.twice = true,
                "--reach" => options.reach = true,
                "--child" => options.is_child = true,
                "--plant" => options.plant = arguments.next(),
                "--ignore" => options.look.ignores.extend(arguments.next()),
                other => return Err(format!("what is {other:?}?")),
            }
        }
        Ok(options)
    }
}
