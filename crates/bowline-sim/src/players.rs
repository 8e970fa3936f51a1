//! Many seeds, in child processes. A child says which seed it is about to play before it does, and
//! what came of it after.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Write},
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use bowline_sim::{World, play};

use crate::{options::Options, say};

/// How often it is said how far it has come.
const PROGRESS: Duration = Duration::from_secs(10);

/// How long a world may take before its process is ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many words of children may wait to be heard.
const WORDS_MAX: usize = 1_000;

/// Every so many-th world is played twice, and must give the same trace.
const TWICE: u64 = 100;

/// Plays every `step`-th seed and says what comes of it.
pub(crate) fn work(options: &Options) {
    let mut out = std::io::stdout().lock();
    let mut line = |text: String| {
        // Nobody may be listening any more: then the parent is gone, and so is this.
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    };
    let (mut seed, mut reached) = (options.from, BTreeSet::new());
    while seed < options.from + options.seeds {
        line(format!("at {seed}"));
        let world = World::of(seed);
        let report = play(&world, &options.look);
        if let Some(violation) = &report.violation {
            line(format!("broken {seed} {}: {}", violation.rule, violation.what));
        }
        for what in report.reached.keys().filter(|what| reached.insert(**what)) {
            line(format!("reached {seed} {what}"));
        }
        let twice = options.twice || seed.is_multiple_of(TWICE);
        if twice && play(&world, &options.look).hash != report.hash {
            line(format!("broken {seed} the same seed gives the same trace: it does not"));
        }
        line(format!("played {} {}", report.facts, report.faults));
        seed += options.step;
    }
    line("done".to_owned());
}

/// What a child has said.
enum Broadcast {
    Line(usize, String),
    /// It ended.
    End(usize),
}

/// One child and where it is.
struct Hand {
    child: Child,
    at: u64,
    since: Instant,
    is_done: bool,
}

#[derive(Default)]
struct Sum {
    seeds: u64,
    facts: u64,
    faults: u64,
    broken: BTreeMap<String, Vec<u64>>,
    /// What has happened at all, and in which world first.
    reached: BTreeMap<String, u64>,
}

/// Leads children through all seeds.
pub(crate) fn lead(options: &Options) -> ExitCode {
    let (words, heard) = mpsc::sync_channel(WORDS_MAX);
    let mut hands: Vec<Hand> = (0..options.workers)
        .map(|worker| {
            let from = options.from + worker;
            hand(options, worker as usize, from, options.seeds.saturating_sub(worker), &words)
        })
        .collect();
    let (began, mut said, mut sum) = (Instant::now(), Instant::now(), Sum::default());
    while hands.iter().any(|hand| !hand.is_done) {
        match heard.recv_timeout(PROGRESS) {
            Ok(Broadcast::Line(worker, line)) => hear(&mut hands[worker], &line, &mut sum),
            Ok(Broadcast::End(worker)) if !hands[worker].is_done => {
                let at = hands[worker].at;
                broke(&mut sum, at, "every world comes to an end", "its process did not");
                let left = (options.from + options.seeds).saturating_sub(at + options.workers);
                hands[worker] = hand(options, worker, at + options.workers, left, &words);
            }
            _ => {}
        }
        if said.elapsed() >= PROGRESS {
            said = Instant::now();
            for hand in hands.iter_mut().filter(|hand| hand.since.elapsed() > PATIENCE) {
                // Its end is heard of, and named.
                let _ = hand.child.kill();
            }
            say(&sum.line(began));
        }
    }
    hands.iter_mut().for_each(|hand| drop(hand.child.wait()));
    say(&sum.line(began));
    for (rule, seeds) in &sum.broken {
        let few: Vec<_> = seeds.iter().take(8).map(u64::to_string).collect();
        say(&format!("{:>7} × {rule}: seeds {} …", seeds.len(), few.join(", ")));
    }
    if options.reach {
        sum.reached.iter().for_each(|(what, seed)| say(&format!("{seed:>7} {what}")));
    }
    if sum.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn hand(
    options: &Options,
    worker: usize,
    from: u64,
    seeds: u64,
    words: &mpsc::SyncSender<Broadcast>,
) -> Hand {
    let program = std::env::current_exe().expect("a program knows where it is");
    let mut command = Command::new(program);
    command.args(["--child", "--from", &from.to_string(), "--seeds", &seeds.to_string()]);
    command.args(["--step", &options.workers.to_string()]);
    if options.twice {
        command.arg("--twice");
    }
    for rule in &options.look.ignores {
        command.args(["--ignore", rule]);
    }
    if let Some(plant) = &options.plant {
        command.args(["--plant", plant]);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a child can be started");
    let out = child.stdout.take().expect("its output is a pipe");
    let words = words.clone();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            // Nobody listens after the last seed.
            let _ = words.send(Broadcast::Line(worker, line));
        }
        let _ = words.send(Broadcast::End(worker));
    });
    Hand { child, at: from, since: Instant::now(), is_done: false }
}

fn hear(hand: &mut Hand, line: &str, sum: &mut Sum) {
    let mut words = line.splitn(3, ' ');
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    match words.next() {
        Some("at") => (hand.at, hand.since) = (number(words.next()), Instant::now()),
        Some("played") => {
            sum.seeds += 1;
            sum.facts += number(words.next());
            sum.faults += number(words.next());
        }
        Some("broken") => {
            let seed = number(words.next());
            let (rule, what) =
                words.next().and_then(|text| text.split_once(": ")).unwrap_or_default();
            broke(sum, seed, rule, what);
        }
        Some("reached") => {
            let (seed, what) = (number(words.next()), words.next().unwrap_or_default());
            let first = sum.reached.entry(what.to_owned()).or_insert(seed);
            *first = (*first).min(seed);
        }
        Some("done") => hand.is_done = true,
        _ => {}
    }
}

fn broke(sum: &mut Sum, seed: u64, rule: &str, what: &str) {
    let seeds = sum.broken.entry(rule.to_owned()).or_default();
    seeds.push(seed);
    if seeds.len() <= 3 {
        say(&format!("seed {seed}: {rule}: {what}"));
    }
}

impl Sum {
    fn line(&self, began: Instant) -> String {
        let seconds = began.elapsed().as_secs_f64().max(0.001);
        let broken: usize = self.broken.values().map(Vec::len).sum();
        format!(
            "{} seeds in {seconds:.0} s ({:.0}/s), {} facts, {} faults, {broken} broken",
            self.seeds,
            self.seeds as f64 / seconds,
            self.facts,
            self.faults
        )
    }
}
