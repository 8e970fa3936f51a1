//! The program behind `cargo xtask sim`: plays the worlds of many seeds, or tells the story of one.
//!
//! Worlds are played in child processes, so that one which takes its process down, or never comes
//! back, is named by its seed.

mod options;
mod players;

use std::{process::ExitCode, time::Instant};

use bowline_sim::{Look, World, play, shrink};
use options::Options;

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            say(&format!("{error}\n\n{}", options::HELP));
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = bowline_sim::plant(options.plant.as_deref()) {
        say(&error);
        return ExitCode::FAILURE;
    }
    bowline_sim::catch_panics();
    match (options.seed, options.is_child) {
        (Some(seed), _) => tell(seed, &options),
        (None, true) => {
            players::work(&options);
            ExitCode::SUCCESS
        }
        (None, false) => players::lead(&options),
    }
}

/// Tells the story of one seed: the smallest world in which it still goes wrong, if it does.
fn tell(seed: u64, options: &Options) -> ExitCode {
    let mut world = World::of(seed);
    let look = &options.look;
    let (began, report) = (Instant::now(), play(&world, look));
    if report.hash != play(&world, look).hash {
        say(&format!("seed {seed} does not give the same trace twice"));
        return ExitCode::FAILURE;
    }
    if let Some(violation) = report.violation.as_ref().filter(|_| !options.whole) {
        world = shrink(&world, violation.rule, look);
    }
    let told = play(&world, &Look { tells: true, ..look.clone() });
    say(&format!("{world}"));
    told.story.iter().for_each(|line| say(line));
    match told.violation {
        Some(violation) => {
            say(&format!("broken: {}: {}", violation.rule, violation.what));
            ExitCode::FAILURE
        }
        None => {
            let took = began.elapsed().as_millis();
            say(&format!("every rule was kept; {} facts, {took} ms", told.facts));
            ExitCode::SUCCESS
        }
    }
}

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn say(line: &str) {
    println!("{line}");
}
