//! Programs are made by chance.

use super::{Act, Cleanup, Close, Hears, Leaf, Node, What};
use crate::chance::{Chance, Draw};

/// Makes a program.
pub(crate) struct Maker {
    chance: Chance,
    next: u32,
    /// How many more nodes there may be.
    room: u32,
    draws: u64,
    /// Some of its code does what code should not.
    odd: bool,
    /// Some of its activities are done by remote workers.
    far: bool,
}

/// How many programs' nodes are numbered apart.
const APART: u32 = 1000;

impl Maker {
    pub(crate) fn new(chance: Chance, program: u32) -> Self {
        let room = chance.draw("program size", u64::from(program), 0).between(2, 26);
        let odd = chance.draw("odd", 0, 0).per_mille(200);
        let far = chance.draw("far", 0, 0).per_mille(200);
        Self { chance, next: program * APART, room: room as u32, draws: 0, odd, far }
    }

    fn draw(&mut self) -> Draw {
        self.draws += 1;
        self.chance.draw("program", u64::from(self.next), self.draws)
    }

    fn node(&mut self, what: impl FnOnce(&mut Self) -> What) -> Node {
        let id = self.next;
        self.next += 1;
        self.room = self.room.saturating_sub(1);
        Node { id, what: what(self) }
    }

    /// A whole program.
    pub(crate) fn program(&mut self) -> Node {
        match self.draw().per_mille(60) {
            true => self.links(),
            false => self.node(|maker| What::Sequence(maker.some(4, 4))),
        }
    }

    /// Two runs of a chain, each of which begins with something that it lets go of.
    fn links(&mut self) -> Node {
        self.node(|maker| {
            let first = maker.detached();
            let next = maker.node(|maker| {
                let second = maker.detached();
                What::Sequence([second].into_iter().chain(maker.some(2, 3)).collect())
            });
            let next = maker.node(|_| What::Continue(Box::new(next)));
            What::Sequence(vec![first, next])
        })
    }

    fn detached(&mut self) -> Node {
        self.node(|maker| {
            let draw = maker.draw();
            let work = draw.next(1).between(1_000, 30_000);
            let long = Leaf::Activity(Act { work, ..act(draw.next(2)) });
            if draw.per_mille(500) {
                return What::Detach(long);
            }
            let node = Box::new(maker.node(|_| What::Await(long)));
            What::Detach(Leaf::Child { node, close: Close::Abandon, retries: false })
        })
    }

    /// What code should not do, and does.
    fn strange(&mut self, depth: u32) -> Node {
        self.node(|maker| match maker.draw().below(10) {
            0..2 => What::Foreign,
            2..4 => {
                let act = Act { fails: 0, limit: None, ..act(maker.draw()) };
                let act = Act { name: 0, far: false, ..act };
                let one = |maker: &mut Self| maker.node(|_| What::Await(Leaf::Activity(act)));
                What::Shuffle(vec![one(maker), one(maker)])
            }
            _ => What::Drift(maker.boxed(depth.saturating_sub(1))),
        })
    }

    fn some(&mut self, depth: u32, most: u64) -> Vec<Node> {
        let count = self.draw().between(1, most);
        (0..count).map(|_| self.part(depth)).collect()
    }

    fn boxed(&mut self, depth: u32) -> Box<Node> {
        Box::new(self.part(depth))
    }

    fn part(&mut self, depth: u32) -> Node {
        if self.odd && self.draw().per_mille(80) {
            return self.strange(depth);
        }
        let small = depth == 0 || self.room == 0;
        let roll = self.draw().below(if small { 100 } else { 200 });
        self.node(|maker| match roll {
            0..50 => What::Await(maker.leaf(depth)),
            50..65 => What::Start(maker.leaf(depth)),
            65..70 => What::Detach(maker.leaf(depth)),
            70..76 => What::Cancel(maker.leaf(depth)),
            76..88 => What::Signal,
            88..92 => What::Update,
            92..98 => What::Fail,
            98..100 => What::Nothing,
            100..120 => What::Sequence(maker.some(depth - 1, 3)),
            120..133 => What::Join(maker.some(depth - 1, 3)),
            133..138 => What::TryJoin(maker.some(depth - 1, 3)),
            138..158 => What::Race(maker.some(depth - 1, 3)),
            158..185 => maker.scope(depth - 1),
            185..192 => What::Shield(maker.boxed(depth - 1)),
            192..195 => What::Guard(maker.boxed(depth - 1)),
            _ => What::Continue(maker.boxed(depth - 1)),
        })
    }

    fn scope(&mut self, depth: u32) -> What {
        let roll = self.draw();
        let deadline = roll.per_mille(300).then(|| roll.next(1).between(50, 4_000));
        let body = match deadline.filter(|_| roll.next(3).per_mille(400)) {
            Some(deadline) => Box::new(self.narrow(deadline)),
            None => self.boxed(depth),
        };
        let cleanup = match roll.next(2).below(10) {
            0..4 => Some(Cleanup::Refund),
            4..6 => Some(Cleanup::Run(self.boxed(depth.min(1)))),
            _ => None,
        };
        What::Scope { body, deadline, cleanup }
    }

    /// A body that is done at about the moment of its deadline, and leaves something to be stopped.
    fn narrow(&mut self, deadline: u64) -> Node {
        self.node(|maker| {
            let draw = maker.draw();
            let slow = Hears::Slow(draw.next(1).between(100, 1_500));
            let beside = Act { work: 20_000, hears: slow, ..act(draw.next(2)) };
            let work = (deadline + draw.next(3).below(30)).saturating_sub(20);
            let last = Act { work, fails: 0, limit: None, ..Act::PLAIN };
            let beside = maker.node(|_| What::Start(Leaf::Activity(beside)));
            let last = maker.node(|_| What::Await(Leaf::Activity(last)));
            What::Sequence(vec![beside, last])
        })
    }

    fn leaf(&mut self, depth: u32) -> Leaf {
        let roll = self.draw();
        match roll.below(100) {
            0..70 => Leaf::Activity(self.act(roll.next(1))),
            70..82 => Leaf::Timer(roll.next(2).between(1, 3_000)),
            _ if depth == 0 => Leaf::Activity(self.act(roll.next(3))),
            _ => Leaf::Child {
                node: self.boxed(depth - 1),
                close: [Close::Cancel, Close::Terminate, Close::Abandon]
                    [roll.next(4).below(3) as usize],
                retries: roll.next(5).per_mille(250),
            },
        }
    }
}

impl Maker {
    fn act(&self, draw: Draw) -> Act {
        let far = self.far && draw.next(20).per_mille(400);
        let one = act(draw);
        // Whoever is far away is known to be gone by its silence alone.
        let limit =
            if far { one.limit.or(Some(draw.next(21).between(500, 6_000))) } else { one.limit };
        Act { far, limit, spawns: one.spawns.filter(|_| !far), ..one }
    }
}

fn act(draw: Draw) -> Act {
    let hears = match draw.next(1).below(100) {
        0..45 => Hears::Obeys,
        45..60 => Hears::Deaf,
        60..80 => Hears::Late(draw.next(2).between(0, 1_500)),
        _ => Hears::Slow(draw.next(3).between(1, 1_500)),
    };
    // Most are short; some outlive a lease.
    let work = match draw.next(4).below(10) {
        0..3 => draw.next(5).between(0, 25),
        3..8 => draw.next(5).between(50, 3_000),
        _ => draw.next(5).between(3_000, 40_000),
    };
    Act {
        name: draw.next(6).below(2) as u8,
        work,
        hears,
        fails: match draw.next(7).below(10) {
            0..7 => 0,
            few => (few - 6) as u32,
        },
        beats: draw.next(8).per_mille(250).then(|| draw.next(9).between(100, 2_000)),
        spawns: draw.next(10).per_mille(150).then(|| draw.next(11).between(10, 5_000)),
        grace: draw.next(12).between(100, 4_000),
        limit: draw.next(13).per_mille(120).then(|| draw.next(14).between(500, 8_000)),
        far: false,
    }
}
