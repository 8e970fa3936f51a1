//! A random world around a run, and then one that lets it come to its end.

use bowline_core::{Failure, Message, RetryState, RunEnding};

use crate::support::*;

/// How many turns a run may need to close once it was cancelled and nothing fails any more.
const TURNS_MAX: usize = 60;

/// Has turns as the choices say, then cancels the run and lets it end.
pub(super) fn drive(world: &mut World, choices: &[u16]) {
    world.turn();
    for choice in choices {
        if world.closed() {
            return;
        }
        step(world, usize::from(*choice));
    }
    if !world.closed() && world.state.cancel.is_none() {
        world.post(cancels("the end"));
        turn(world);
    }
    for _ in 0..TURNS_MAX {
        if world.closed() {
            return;
        }
        let endings: Vec<_> = endings(world).into_iter().map(|mut all| all.remove(0)).collect();
        endings.into_iter().for_each(|message| world.post(message));
        world.post(signals("s", ""));
        turn(world);
    }
    panic!("the run does not end: {}", world.kinds());
}

/// One turn for one to three messages.
fn step(world: &mut World, choice: usize) {
    let (count, mut rest) = (1 + choice % 3, choice / 3);
    let mut possible = endings(world);
    possible.push(vec![signals("s", "")]);
    if world.state.cancel.is_none() && choice.is_multiple_of(7) {
        possible.push(vec![cancels("somebody")]);
    }
    for _ in 0..count.min(possible.len()) {
        let mut ways = possible.remove(rest % possible.len());
        rest /= 3;
        let way = rest % ways.len();
        world.post(ways.remove(way));
    }
    turn(world);
}

fn turn(world: &mut World) {
    if let Err(fault) = world.try_turn() {
        panic!("{fault}\n{}", world.kinds());
    }
    if world.evicts && !world.closed() {
        world.evict();
    }
}

/// For everything that is open, the ways in which it can end; the kindest first.
fn endings(world: &World) -> Vec<Vec<Message>> {
    let state = &world.state;
    let activities = state.activities.iter().map(|(id, open)| match open.cancel {
        Some(_) => vec![skips(&[id.0]), stops(id.0), completes(id.0, "late")],
        None => vec![completes(id.0, "1"), fails(id.0, "no"), cancels_one(id.0, "olga")],
    });
    let timers = state.timers.keys().map(|id| vec![rings(id.0), cancels_one(id.0, "olga")]);
    let children = state.children.iter().map(|(id, open)| match open.cancel {
        Some(_) => {
            let cancelled = RunEnding::Cancelled(None, None);
            let late = RunEnding::Completed(json("late"));
            vec![child_ends(id.0, cancelled), child_ends(id.0, late)]
        }
        None => {
            let failed = RunEnding::Failed(Failure::new("no"), RetryState::NoPolicy);
            let completed = RunEnding::Completed(None);
            let one = cancels_one(id.0, "olga");
            vec![child_ends(id.0, completed), child_ends(id.0, failed), one]
        }
    });
    let externals = state.externals.keys().map(|id| vec![Message::ExternalDone(*id)]);
    activities.chain(timers).chain(children).chain(externals).collect()
}
