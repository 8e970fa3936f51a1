//! A world in which a rule is broken is made smaller, for as long as the same rule stays broken.

use crate::{
    play::{Look, play},
    program::What,
    world::{CACHED, Weather, World},
};

/// How many worlds are tried.
const TRIES_MAX: usize = 400;

/// The smallest world found in which this rule is broken.
pub fn shrink(world: &World, rule: &str, look: &Look) -> World {
    let mut best = world.clone();
    let mut tries = 0;
    loop {
        let smaller = candidates(&best).into_iter().find(|world| {
            tries += 1;
            tries <= TRIES_MAX && breaks(world, rule, look)
        });
        match smaller {
            Some(world) => best = world,
            None => return best,
        }
    }
}

fn breaks(world: &World, rule: &str, look: &Look) -> bool {
    play(world, look).violation.is_some_and(|violation| violation.rule == rule)
}

/// Worlds with something less, the largest cuts first.
fn candidates(world: &World) -> Vec<World> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut World)| {
        let mut smaller = world.clone();
        change(&mut smaller);
        found.push(smaller);
    };
    if world.weather != Weather::default() {
        add(&|world| world.weather = Weather::default());
    }
    halves(world.mishaps.len(), &mut |from, to| add(&|world| drop(world.mishaps.drain(from..to))));
    halves(world.ops.len(), &mut |from, to| add(&|world| drop(world.ops.drain(from..to))));
    for (index, _) in world.lacks.iter().enumerate().filter(|(_, lacks)| **lacks != 0) {
        add(&|world| world.lacks[index] = 0);
    }
    if world.builds.iter().any(|build| *build != (false, false)) {
        add(&|world| world.builds.clear());
    }
    if world.clocks.iter().any(|ahead| *ahead != 0) {
        add(&|world| world.clocks.clear());
    }
    if world.cached.iter().any(|cached| *cached != CACHED) {
        add(&|world| world.cached.clear());
    }
    // Where there was one, something may wait for one.
    if world.far > 1 {
        add(&|world| world.far -= 1);
    }
    if world.members > 1 {
        add(&|world| {
            world.members -= 1;
            let most = world.members - 1;
            world.mishaps.iter_mut().for_each(|mishap| mishap.member = mishap.member.min(most));
        });
    }
    for program in &world.programs {
        for id in program.ids() {
            let is_nothing = program.find(id).is_none_or(|node| node.what == What::Nothing);
            if !is_nothing {
                add(&|world| cut(world, id));
            }
            // A part in the place of what is around it.
            let parts = program.find(id).map(|node| node.parts().len()).unwrap_or_default();
            for part in 0..parts {
                add(&|world| lift(world, id, part));
            }
        }
    }
    let weathers: [fn(&mut Weather); 6] = [
        |weather| weather.defers = 0,
        |weather| weather.slow = 0,
        |weather| weather.fails = 0,
        |weather| weather.unknown = 0,
        |weather| weather.lost = 0,
        |weather| weather.late = 0,
    ];
    for calm in weathers {
        let mut weather = world.weather;
        calm(&mut weather);
        if weather != world.weather {
            add(&|world| world.weather = weather);
        }
    }
    found
}

/// All of a list, its halves, and so on down to each single one.
fn halves(length: usize, cut: &mut dyn FnMut(usize, usize)) {
    let mut size = length;
    while size > 0 {
        for from in (0..length).step_by(size) {
            cut(from, (from + size).min(length));
        }
        size /= 2;
    }
}

fn cut(world: &mut World, id: u32) {
    let node = world.programs.iter_mut().find_map(|program| program.find_mut(id));
    if let Some(node) = node {
        node.what = What::Nothing;
    }
}

fn lift(world: &mut World, id: u32, part: usize) {
    let node = world.programs.iter_mut().find_map(|program| program.find_mut(id));
    let Some(node) = node else { return };
    let what = node.parts().get(part).map(|part| part.what.clone());
    if let (Some(what), false) = (what, is_start(&node.what)) {
        node.what = what;
    }
}

/// A child does its part elsewhere: that part here is something else.
fn is_start(what: &What) -> bool {
    matches!(what, What::Await(_) | What::Start(_) | What::Detach(_) | What::Cancel(_))
}
