//! Worlds in which something went wrong once, told in full: what a seed means changes with the
//! generator, these stay.

use bowline_sim::{
    Look, World,
    client::{Op, Request},
    play,
    program::{Act, Close, Hears, Leaf, Node, What},
    world::{Fate, Mishap, Weather},
};

fn node(id: u32, what: What) -> Node {
    Node { id, what }
}

fn start(program: usize, at: u64) -> Op {
    let request = Request::Start { retries: false, every: None };
    Op { id: program as u64, at, via: program, program, request }
}

fn op(id: u64, at: u64, program: usize, request: Request) -> Op {
    Op { id, at, via: 0, program, request }
}

fn world(members: usize, programs: Vec<Node>, ops: Vec<Op>) -> World {
    World { members, programs, ops, ..World::default() }
}

fn keeps_every_rule(world: &World) {
    let told = play(world, &Look { tells: true, ..Look::default() });
    if let Some(violation) = told.violation {
        panic!("{violation:?}\n{world}\n{}", told.story.join("\n"));
    }
}

/// A process that keeps one run in memory tried a parked one, could go on with it, had nothing to
/// do, and let go of it: still parked, so that it tried it again, and again, without a pause.
#[test]
fn a_parked_run_is_not_tried_in_circles() {
    let programs = vec![node(1000, What::Foreign), node(2000, What::Nothing)];
    let ops = vec![start(1, 379), start(0, 485)];
    let weather = Weather { late: 438, ..Weather::default() };
    let told = World { weather, cached: vec![1], ..world(1, programs, ops) };
    for seed in 1_100..1_140 {
        keeps_every_rule(&World { seed, ..told.clone() });
    }
}

/// An attempt was handed out again, cancelled and handed back untried: its receipt said that the
/// activity had never started, although an attempt before had run.
#[test]
fn what_ran_once_is_never_said_not_to_have_started() {
    let act = Act { work: 24, fails: 2, grace: 775, ..Act::PLAIN };
    let programs = vec![node(1000, What::Await(Leaf::Activity(act)))];
    let ops = vec![start(0, 81), op(103, 6_923, 0, Request::Terminate)];
    let mishaps = vec![
        Mishap { member: 0, at: 182, what: Fate::Cut(12_356) },
        Mishap { member: 0, at: 9_004, what: Fate::Killed { polls: 13, back: 2_176 } },
    ];
    let told = World { mishaps, ..world(1, programs, ops) };
    for seed in 0..20 {
        keeps_every_rule(&World { seed, ..told.clone() });
    }
}

/// The first run of a chain let go of a child and expired, by a clock that was ahead: a cancel of
/// the next run did not name the child, which ran.
#[test]
fn what_an_expired_run_has_let_go_of_is_named() {
    let long = |work| Act { work, hears: Hears::Deaf, ..Act::PLAIN };
    let child = node(1001, What::Await(Leaf::Activity(long(25_312))));
    let child = Leaf::Child { node: Box::new(child), close: Close::Abandon, retries: false };
    let next = node(1003, What::Signal);
    let programs = vec![node(
        1000,
        What::Sequence(vec![
            node(1002, What::Detach(child)),
            node(1004, What::Continue(Box::new(next))),
        ]),
    )];
    let cancel = Request::Cancel { grace: None, terminate: None, phase: 2 };
    let ops = vec![start(0, 18), op(104, 6_286, 0, cancel)];
    keeps_every_rule(&World { clocks: vec![0, 198_000_000], ..world(2, programs, ops) });
}

/// A process stood still for longer than its lease while another one tried its activity again, to
/// the end: the receipt said clean while the first attempt ran on.
#[test]
fn an_attempt_of_a_frozen_process_is_not_forgotten() {
    let act = Act { work: 40_000, fails: 3, limit: Some(7_033), hears: Hears::Deaf, ..Act::PLAIN };
    let programs = vec![node(1000, What::Await(Leaf::Activity(act)))];
    for member in 0..2 {
        let ops = vec![start(0, 100), op(101, 31_900, 0, Request::Terminate)];
        let mishaps = vec![Mishap { member, at: 1_890, what: Fate::Frozen(30_000) }];
        keeps_every_rule(&World { mishaps, ..world(2, programs.clone(), ops) });
    }
}
