//! What can happen to a run, drawn at random: messages that may fit or not, commands likewise.

use proptest::prelude::*;

use crate::{testing::*, *};

/// Something happens.
#[derive(Clone, Debug)]
pub(super) enum Move {
    Post(Word),
    Take,
    Turn(Vec<Want>),
    Start,
    Answer { wants: Vec<Want>, again: bool, sticky: bool },
    Fail,
    Pass(u64),
    Ring,
    ResetSticky,
}

/// A message in the making: `which` chooses among what is open when it arrives.
#[derive(Clone, Debug)]
pub(super) struct Word {
    kind: u8,
    which: u64,
    tag: u16,
}

/// A command in the making.
#[derive(Clone, Debug)]
pub(super) struct Want {
    kind: u8,
    which: u64,
    tag: u16,
}

pub(super) fn moves(most: usize) -> impl Strategy<Value = Vec<Move>> {
    proptest::collection::vec(one(), 0..most)
}

fn one() -> impl Strategy<Value = Move> {
    let word = || {
        (0..22_u8, any::<u64>(), any::<u16>()).prop_map(|(kind, which, tag)| Word {
            kind,
            which,
            tag,
        })
    };
    let want = || {
        (0..22_u8, any::<u64>(), any::<u16>()).prop_map(|(kind, which, tag)| Want {
            kind,
            which,
            tag,
        })
    };
    let wants = move || proptest::collection::vec(want(), 0..5);
    prop_oneof![
        8 => word().prop_map(Move::Post),
        3 => Just(Move::Take),
        5 => wants().prop_map(Move::Turn),
        3 => Just(Move::Start),
        4 => (wants(), any::<bool>(), any::<bool>())
            .prop_map(|(wants, again, sticky)| Move::Answer { wants, again, sticky }),
        1 => Just(Move::Fail),
        2 => (0..20_u64).prop_map(Move::Pass),
        2 => Just(Move::Ring),
        1 => Just(Move::ResetSticky),
    ]
}

impl Move {
    pub(super) fn make(&self, world: &mut World) {
        let is_native = world.state.rules().is_native();
        match self {
            Self::Post(word) => {
                let message = word.message(&world.state);
                // An alarm that rings is gone.
                world.alarms.retain(|alarm| alarm.what.message().as_ref() != Some(&message));
                world.post(message);
            }
            // Native messages that want a turn are committed with it.
            Self::Take if is_native => {
                let mut draft = world.draft();
                draft.intake(&world.inbox);
                if !draft.wants_turn() {
                    world.commit(draft.finish());
                }
            }
            Self::Take => {
                world.take();
            }
            Self::Turn(wants) => {
                let commands = commands(wants, &world.state);
                world.turn(commands);
            }
            Self::Start if !is_native => {
                world.start();
            }
            Self::Answer { wants, again, sticky } if world.token.is_some() => {
                world.sticky = *sticky;
                let commands = commands(wants, &world.state);
                world.answer_so(commands, |answer| answer.again = *again);
            }
            Self::Fail if world.token.is_some() => {
                world.fail(TurnFault::CodeFailed);
            }
            Self::Pass(seconds) => {
                world.pass(*seconds);
            }
            Self::Ring if !world.alarms.is_empty() => {
                world.ring();
            }
            Self::ResetSticky if !is_native => {
                let mut draft = world.draft();
                draft.reset_sticky();
                world.commit(draft.finish());
            }
            _ => {}
        }
    }
}

/// Mostly something that is open, now and then any number at all.
fn pick<'k, T: 'k>(open: &'k std::collections::BTreeMap<EventId, T>, which: u64) -> u64 {
    let known: Vec<_> = open.keys().map(|id| id.0).collect();
    match known.is_empty() || which.is_multiple_of(7) {
        true => which % 40,
        false => known[(which / 7) as usize % known.len()],
    }
}

impl Word {
    pub(super) fn message(&self, state: &State) -> Message {
        let (which, tag) = (self.which, self.tag % 6);
        let activity = pick(&state.activities, which);
        let child = pick(&state.children, which);
        let external = pick(&state.externals, which);
        match self.kind {
            0 | 1 => signal(&format!("s{}", self.tag)),
            2 => signal_of(&format!("s{}", self.tag), &format!("r{tag}")),
            3 => stop(),
            4 => done(activity),
            5 => failed(activity),
            6 => stopped(activity),
            7 => ended(activity, None, Outcome::TimedOut(Timeout::ScheduleToStart)),
            8 => ended(activity, None, Outcome::Cancelled(why("odd"), Rung::Kill, None)),
            9 => skip(&[activity, which % 40]),
            // Nothing rings that was not set.
            10 => fire(pick(&state.timers, which).min(state.next_event.0 - 1)),
            11 => child_began(child),
            12 if tag < 3 => child_refused(child),
            12..=14 => child_ended(child, ending(tag)),
            15 => external_done(external),
            16 => external_refused(external),
            17 => update(&format!("u{}", tag % 3)),
            18 => cancel_one(activity),
            19 => cancel_one(pick(&state.timers, which).max(child)),
            20 if self.tag.is_multiple_of(8) => terminate(),
            20 => Message::Wake,
            _ => Message::TimeOut(match tag {
                0 => RunAlarm::Delay,
                1 => RunAlarm::Deadline,
                2 => RunAlarm::Ladder,
                _ => RunAlarm::Turn(EventId(which % 40), 1 + u32::from(tag) % 3),
            }),
        }
    }
}

fn ending(tag: u16) -> RunEnding {
    match tag {
        0 => RunEnding::Completed(None),
        1 => RunEnding::Failed(Failure::new("no"), RetryState::NoPolicy),
        2 => RunEnding::Cancelled(None, Some(why("stop"))),
        3 => RunEnding::TimedOut(RetryState::NoPolicy),
        4 => RunEnding::Terminated(why("now")),
        _ => RunEnding::Continued(run(8)),
    }
}

/// Something that the run writes down about itself.
fn noted(name: &str, which: u64) -> Command {
    let field = SearchField { value: SearchValue::Keyword("k".into()), wire: None };
    match which % 3 {
        0 => marker(name),
        1 => Command::UpsertSearch([(name.to_owned(), Some(field))].into()),
        _ => Command::ModifyMemo([(name.to_owned(), text("1"))].into()),
    }
}

fn commands(wants: &[Want], state: &State) -> Vec<Command> {
    let mut commands: Vec<_> = wants.iter().map(|want| want.command(state)).collect();
    // A list with something behind its end is refused as a whole; that has a test of its own.
    if let Some(end) = commands.iter().position(Command::closes) {
        commands.truncate(end + 1);
    }
    commands
}

impl Want {
    fn command(&self, state: &State) -> Command {
        let (which, tag) = (self.which, self.tag % 6);
        let ahead = state.next_event.0 + 3 + which % 6;
        let target = match which.is_multiple_of(5) {
            true => ahead,
            false => pick(&state.activities, which),
        };
        let name = format!("n{}", self.tag % 12);
        match self.kind {
            0..=3 => activity(&name),
            4 => cancel_activity(target),
            5 | 6 => timer(&name, which % 30),
            7 => cancel_timer(pick(&state.timers, which)),
            8 => noted(&name, which),
            9 => child_with(&name, [ParentClose::Cancel, ParentClose::Abandon][which as usize % 2]),
            10 => cancel_child(&name),
            11 => cancel_other("x"),
            12 => signal_other("y"),
            13 => accept(&format!("u{}", tag % 3)),
            14 => reject(&format!("u{}", tag % 3)),
            15 => {
                let open = state.updates.iter().find(|(_, open)| open.accepted.0 > 0 && !open.done);
                answer_update(open.map_or("u", |(id, _)| id.as_str()))
            }
            16 => dropped(Cancelled::Activities, &[target]),
            17 => dropped(Cancelled::Timers, &[pick(&state.timers, which)]),
            18 => dropped(Cancelled::Children, &[pick(&state.children, which)]),
            19 => Command::Detach(ids(&[target])),
            20 => Command::Scopes(vec![]),
            _ if !self.tag.is_multiple_of(5) => marker("n"),
            _ => match which % 4 {
                0 => complete(),
                1 => Command::Fail(Failure::new("no")),
                2 => Command::Cancel(None, None),
                _ => continue_as_new(),
            },
        }
    }
}
