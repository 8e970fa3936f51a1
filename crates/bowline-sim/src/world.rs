//! A world: members, programs, clients and mishaps, as data. It is made from a seed, and a smaller
//! one is cut out of it; whoever runs it knows nothing else.

use std::fmt;

use crate::{
    chance::{Chance, Draw},
    client::{Op, Request},
    program::{Node, make::Maker},
};

/// How long a member may be silent, in milliseconds.
pub const LEASE: u64 = 9_000;

/// Everything that happens in a run of the simulator follows from this.
#[derive(Clone, Debug)]
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
        let mishaps = mishaps(chance, members);
        let lack = |member: usize| {
            let draw = chance.draw("lacks", member as u64, 0);
            if draw.per_mille(150) { draw.next(1).between(1, 31) as u8 } else { 0 }
        };
        let lacks = (0..members).map(lack).collect();
        Self { seed, members, weather: weather(chance), programs, ops, mishaps, lacks }
    }

    /// The node of a number.
    pub fn find(&self, id: u32) -> Option<&Node> {
        self.programs.iter().find_map(|program| program.find(id))
    }

    /// When the last thing happens that is asked for.
    pub fn over(&self) -> u64 {
        let ops = self.ops.iter().map(|op| op.at);
        let mishaps = self.mishaps.iter().map(|mishap| match mishap.what {
            Fate::Killed { back, .. } => mishap.at + back,
            Fate::Frozen(span) | Fate::Cut(span) => mishap.at + span,
            Fate::Jumps(_) => mishap.at,
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

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {} member(s), {:?}", self.seed, self.members, self.weather)?;
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
