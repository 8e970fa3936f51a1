//! A world: members, programs, clients and mishaps, as data. It is made from a seed, and a smaller
//! one is cut out of it; whoever runs it knows nothing else.

use std::fmt;

use crate::{
    chance::{Chance, Draw},
    client::{Op, Request},
    program::{Node, What, make::Maker},
};

/// How long a member may be silent, in milliseconds.
pub const LEASE: u64 = 9_000;

/// How many runs a member keeps in memory, if that is not to be few.
pub const CACHED: usize = 1_000;

/// Everything that happens in a run of the simulator follows from this.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// What chance is made of.
    pub seed: u64,
    /// How many processes have the store open.
    pub members: usize,
    /// How calls, hints and polls fare.
    pub weather: Weather,
    /// What each of the runs that clients start does.
    pub programs: Vec<Node>,
    /// What clients ask for.
    pub ops: Vec<Op>,
    /// What goes wrong.
    pub mishaps: Vec<Mishap>,
    /// How far ahead the clock of each member is, in microseconds.
    pub clocks: Vec<i64>,
    /// How many runs each member keeps in memory.
    pub cached: Vec<usize>,
    /// On which host the processes of each member are.
    pub hosts: Vec<u8>,
    /// How many remote workers there are.
    pub far: usize,
    /// Which members have the other build of the code: in their first lives, and later.
    pub builds: Vec<(bool, bool)>,
    /// Whether processes say which build they are.
    pub named_builds: bool,
    /// Names that processes lack, before the newest code is rolled out: bits, by member.
    pub lacks: Vec<u8>,
}

/// How calls, hints and polls fare: so many of a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    /// Polls that are put off.
    pub defers: u64,
    /// Calls that take time, before or after their work is done.
    pub slow: u64,
    /// Calls that fail, and nothing is done.
    pub fails: u64,
    /// Calls that are done, and answered as unknown.
    pub unknown: u64,
    /// Hints that are lost.
    pub lost: u64,
    /// Hints that are late, and may come twice.
    pub late: u64,
}

/// Something that goes wrong with a process, at a moment, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mishap {
    /// Which member.
    pub member: usize,
    /// When.
    pub at: u64,
    /// What.
    pub what: Fate,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is killed, after some more polls, and starts again after so long.
    Killed {
        /// How many polls it still has.
        polls: u64,
        /// When it is back.
        back: u64,
    },
    /// It stands still for so long.
    Frozen(u64),
    /// It cannot reach the store for so long.
    Cut(u64),
    /// Its clock jumps ahead by so much.
    Jumps(u64),
    /// The remote worker of that number goes away, with all that it does.
    Vanishes,
}

impl World {
    /// The world of a seed.
    pub fn of(seed: u64) -> Self {
        let chance = Chance::new(seed);
        let draw = |kind: &str, n: u64| chance.draw(kind, 0, n);
        let members = draw("members", 0).between(1, 3) as usize;
        let count = draw("programs", 0).between(1, 2) as u32;
        let programs: Vec<_> =
            (1..=count).map(|program| Maker::new(chance, program).program()).collect();
        let ops = ops(chance, programs.len());
        let mut mishaps = mishaps(chance, members);
        let lack = |member: usize| {
            let draw = chance.draw("lacks", member as u64, 0);
            if draw.per_mille(150) { draw.next(1).between(1, 31) as u8 } else { 0 }
        };
        let lacks = (0..members).map(lack).collect();
        let hosts = (0..members).map(|member| chance.draw("host", member as u64, 0).below(2) as u8);
        let (weather, hosts) = (weather(chance), hosts.collect());
        let is_far = |node: &Node| {
            node.ids()
                .iter()
                .any(|id| node.find(*id).and_then(Node::act).is_some_and(|act| act.far))
        };
        let far = match programs.iter().any(is_far) {
            true => draw("far", 1).between(1, 2) as usize,
            false => 0,
        };
        mishaps.extend(vanishing(chance, far));
        let is_scheduled =
            ops.iter().any(|op| matches!(op.request, Request::Start { every: Some(_), .. }));
        if is_scheduled {
            // By two clocks that differ, a schedule has a run at every moment in between.
            mishaps.retain(|mishap| !matches!(mishap.what, Fate::Jumps(_)));
        }
        let clock = |member: usize| {
            let draw = chance.draw("clock", member as u64, 0);
            // Some are wrong by minutes.
            let is_wrong = draw.per_mille(300) && !is_scheduled;
            if is_wrong { draw.next(1).below(600_000_000) as i64 } else { 0 }
        };
        let clocks = (0..members).map(clock).collect();
        let cache = |member: usize| {
            let draw = chance.draw("cache", member as u64, 0);
            if draw.per_mille(300) { draw.next(1).between(1, 2) as usize } else { CACHED }
        };
        let cached = (0..members).map(cache).collect();
        let build = |member: usize| {
            let draw = chance.draw("build", member as u64, 0);
            (draw.per_mille(300), draw.next(1).per_mille(300))
        };
        let builds = (0..members).map(build).collect();
        let named_builds = draw("build", 9).per_mille(700);
        Self {
            seed,
            members,
            weather,
            programs,
            ops,
            mishaps,
            clocks,
            cached,
            hosts,
            far,
            builds,
            named_builds,
            lacks,
        }
    }

    /// The node of a number.
    pub fn find(&self, id: u32) -> Option<&Node> {
        self.programs.iter().find_map(|program| program.find(id))
    }

    /// Whether some code does things in another order in every process.
    pub fn is_shuffled(&self) -> bool {
        self.programs.iter().any(|program| program.has(|what| matches!(what, What::Shuffle(_))))
    }

    /// Whether some code waits for what is in no history.
    pub fn is_foreign(&self) -> bool {
        self.programs.iter().any(|program| program.has(|what| matches!(what, What::Foreign)))
    }

    /// When the last thing happens that is asked for.
    pub fn over(&self) -> u64 {
        let ops = self.ops.iter().map(|op| op.at);
        let mishaps = self.mishaps.iter().map(|mishap| match mishap.what {
            Fate::Killed { back, .. } => mishap.at + back,
            Fate::Frozen(span) | Fate::Cut(span) => mishap.at + span,
            Fate::Jumps(_) | Fate::Vanishes => mishap.at,
        });
        ops.chain(mishaps).max().unwrap_or(0)
    }
}

fn weather(chance: Chance) -> Weather {
    let draw = |n: u64| chance.draw("weather", 0, n);
    let share =
        |n: u64, most: u64| if draw(n).per_mille(500) { 0 } else { draw(n + 9).below(most) };
    Weather {
        defers: share(1, 400),
        slow: share(2, 500),
        fails: share(3, 80),
        unknown: share(4, 60),
        lost: match draw(5).below(4) {
            0 => 1000,
            1 => draw(6).below(500),
            _ => 0,
        },
        late: share(7, 500),
    }
}

/// Moments cluster at the bounds of the engine: right after a beginning, at a lease.
fn moment(draw: Draw) -> u64 {
    match draw.below(10) {
        0..4 => draw.next(1).between(0, 300),
        4..8 => draw.next(1).between(300, 8_000),
        8 => draw.next(1).between(LEASE - 5, LEASE + 5),
        _ => draw.next(1).between(8_000, 45_000),
    }
}

fn ops(chance: Chance, programs: usize) -> Vec<Op> {
    let mut ops: Vec<Op> = (0..programs)
        .map(|program| Op {
            id: program as u64,
            at: chance.draw("start", program as u64, 0).below(500),
            via: chance.draw("start", program as u64, 1).below(3) as usize,
            program,
            request: Request::Start {
                retries: chance.draw("start", program as u64, 2).per_mille(250),
                every: {
                    let draw = chance.draw("start", program as u64, 3);
                    draw.per_mille(80).then(|| draw.next(1).between(1, 8))
                },
            },
        })
        .collect();
    let count = chance.draw("ops", 0, 0).between(0, 8);
    for n in 0..count {
        let draw = chance.draw("op", n, 0);
        ops.push(Op {
            id: 100 + n,
            at: moment(draw.next(1)),
            via: draw.next(2).below(3) as usize,
            program: draw.next(3).below(programs as u64) as usize,
            request: Request::of(draw.next(4)),
        });
    }
    ops
}

fn mishaps(chance: Chance, members: usize) -> Vec<Mishap> {
    let count = chance.draw("mishaps", 0, 0).below(4);
    let one = |n: u64| {
        let draw = chance.draw("mishap", n, 0);
        let what = match draw.next(1).below(10) {
            0..4 => Fate::Killed {
                polls: draw.next(2).below(60),
                back: match draw.next(3).below(3) {
                    0 => draw.next(4).between(1, 50),
                    1 => draw.next(4).between(50, 3_000),
                    _ => draw.next(4).between(LEASE, 2 * LEASE),
                },
            },
            4..7 => Fate::Frozen(match draw.next(5).below(3) {
                0 => draw.next(6).between(10, 3_000),
                1 => draw.next(6).between(LEASE - 500, LEASE + 4_000),
                _ => draw.next(6).between(LEASE + 4_000, 5 * LEASE),
            }),
            7..9 => Fate::Cut(draw.next(7).between(100, 3 * LEASE)),
            _ => Fate::Jumps(draw.next(8).between(1, 60_000)),
        };
        let member = draw.next(9).below(members as u64) as usize;
        Mishap { member, at: moment(draw.next(10)), what }
    };
    (0..count).map(one).collect()
}

/// Remote workers that go away, now and then.
fn vanishing(chance: Chance, far: usize) -> impl Iterator<Item = Mishap> {
    (0..far * 2).filter_map(move |nth| {
        let draw = chance.draw("vanish", nth as u64, 0);
        let (member, at) = (nth % 2, moment(draw.next(1)));
        draw.per_mille(400).then_some(Mishap { member, at, what: Fate::Vanishes })
    })
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {} member(s), {:?}", self.seed, self.members, self.weather)?;
        let Self { clocks, cached, hosts, far, builds, .. } = self;
        writeln!(f, "  clocks are ahead by: {clocks:?} µs; runs in memory: {cached:?}")?;
        writeln!(f, "  hosts of the members: {hosts:?}, other builds: {builds:?}")?;
        writeln!(f, "  remote workers: {far}, builds are named: {}", self.named_builds)?;
        for (member, lacks) in self.lacks.iter().enumerate().filter(|(_, lacks)| **lacks != 0) {
            writeln!(f, "  m{member} lacks names: {lacks:05b}")?;
        }
        for (index, program) in self.programs.iter().enumerate() {
            writeln!(f, "  program {index}:\n{program}")?;
        }
        for op in &self.ops {
            writeln!(f, "  {op}")?;
        }
        for mishap in &self.mishaps {
            let Mishap { member, at, what } = mishap;
            writeln!(f, "  {at} ms: m{member} is {what:?}")?;
        }
        Ok(())
    }
}
