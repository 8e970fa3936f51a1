//! Which workloads there are, and how large they are.

use crate::Command;
use anyhow::{Result, bail};

/// A workload by name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) shape: Shape,
}

/// What the harness does for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// The peer does it alone.
    Inside(Command),
    /// One process asks for cancels, another one runs the code.
    Across { times: u32 },
    /// Runs are left waiting, and the memory of the process is read.
    Wait { runs: u32 },
    /// Nothing is done, and the processor time of the process is read.
    Idle { seconds: u32 },
    /// Runs are left waiting, the process is killed, and another one goes on.
    Recover { runs: u32 },
    /// Runs are left working in three processes, one is killed, and the others go on with its part.
    Takeover { runs: u32 },
    /// A long run is left (six events per step here), the process ends, and another one goes on
    /// with it.
    Cold { steps: u32 },
}

/// All of them.
pub(super) fn workloads(is_small: bool) -> Vec<Workload> {
    let size = |full: u32, small: u32| if is_small { small } else { full };
    let seconds = if is_small { 0.3 } else { 4.0 };
    let inside = |name: &str, command: Command| Workload {
        name: name.to_owned(),
        shape: Shape::Inside(command),
    };
    let mut all = Vec::new();
    for in_flight in [1, 64, 256] {
        let command = Command::Hello { in_flight, seconds };
        all.push(inside(&format!("hello-{in_flight}"), command));
    }
    for (steps, small) in [(10, 3), (100, 4), (1_000, 5), (10_000, 6)] {
        let command = Command::Chain { steps: size(steps, small) };
        all.push(inside(&format!("chain-{steps}"), command));
    }
    for (width, small) in [(1_000, 20), (10_000, 40)] {
        let command = Command::Fanout { width: size(width, small) };
        all.push(inside(&format!("fanout-{width}"), command));
    }
    all.push(inside("children-1000", Command::Children { width: size(1_000, 10) }));
    for (runs, each) in [(1, 10_000), (1_000, 10)] {
        let command = Command::Signal { runs: size(runs, 1), each: size(each, 10) };
        all.push(inside(&format!("signal-{runs}x{each}"), command));
    }
    all.push(inside("cancel-running", Command::CancelRunning { times: size(200, 3) }));
    all.push(inside("cancel-timer", Command::CancelTimer { times: size(200, 3) }));
    all.push(inside("select-loser", Command::SelectLoser { times: size(200, 3) }));
    for (queued, small) in [(2_000, 20), (100_000, 50)] {
        let command = Command::MassCancel { queued: size(queued, small) };
        all.push(inside(&format!("mass-cancel-{queued}"), command));
    }
    let tree = Command::CancelTree { children: size(1_000, 3), activities: size(5, 2) };
    all.push(inside("cancel-tree-1000x5", tree));
    let outside = [
        ("cancel-across", Shape::Across { times: size(200, 3) }),
        ("wait-10000", Shape::Wait { runs: size(10_000, 20) }),
        ("wait-100000", Shape::Wait { runs: size(100_000, 30) }),
        ("idle", Shape::Idle { seconds: size(20, 1) }),
        ("recover-10000", Shape::Recover { runs: size(10_000, 20) }),
        ("takeover-10000", Shape::Takeover { runs: size(10_000, 30) }),
        ("cold-10000-events", Shape::Cold { steps: size(1_667, 20) }),
    ];
    all.extend(outside.map(|(name, shape)| Workload { name: name.to_owned(), shape }));
    all
}

/// Those that a list of names means: whole names, or what stands before the first number.
pub(super) fn choose(all: &[Workload], list: &str) -> Result<Vec<Workload>> {
    let mut chosen: Vec<Workload> = Vec::new();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let before = chosen.len();
        chosen.extend(
            all.iter()
                .filter(|workload| workload.name == word || stem(&workload.name) == word)
                .cloned(),
        );
        if chosen.len() == before {
            bail!("there is no workload `{word}`; `harness list` names them");
        }
    }
    Ok(chosen)
}

fn stem(name: &str) -> &str {
    let digits = name.find(|character: char| character.is_ascii_digit());
    name[..digits.unwrap_or(name.len())].trim_end_matches('-')
}

/// What `harness list` says.
pub(super) fn listing(systems: &[&str]) -> String {
    let names: Vec<String> = workloads(false).into_iter().map(|workload| workload.name).collect();
    format!("systems:   {}\nworkloads: {}\n", systems.join(" "), names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_stems_choose() {
        let all = workloads(false);
        let names = |list: &str| {
            let chosen = choose(&all, list).unwrap();
            chosen.into_iter().map(|workload| workload.name).collect::<Vec<_>>()
        };
        assert_eq!(names("hello"), ["hello-1", "hello-64", "hello-256"]);
        assert_eq!(names("mass-cancel-2000,idle"), ["mass-cancel-2000", "idle"]);
        assert!(choose(&all, "helo").unwrap_err().to_string().contains("`helo`"));
    }
}
