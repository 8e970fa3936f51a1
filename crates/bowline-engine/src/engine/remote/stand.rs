//! Questions that wait at other members, as far as they have said so: where a worker that comes
//! here could take them along.

use std::collections::BTreeMap;

use bowline_core::{AskId, Epoch, Namespace, Queue, RunId, Time};

use super::QuestionCount;
use crate::limits;

/// A question that waits at another member.
#[derive(Debug)]
struct Elsewhere {
    /// The how-manyth question it is here.
    number: QuestionCount,
    /// The queue that it stands in; unset while it waits for the run's next turn.
    at: Option<Queue>,
    /// Its member says again, now and then, that it waits.
    until: Time,
}

/// All that are known.
#[derive(Debug, Default)]
pub(super) struct Others(BTreeMap<(RunId, AskId), Elsewhere>);

impl Others {
    /// A member says that a question waits. One that was known keeps its number.
    pub(super) fn put(
        &mut self,
        key: (RunId, AskId),
        at: Option<Queue>,
        number: QuestionCount,
        now: Time,
    ) {
        if self.0.len() >= limits::QUERIES {
            self.0.retain(|_, other| other.until > now);
        }
        if self.0.len() >= limits::QUERIES && !self.0.contains_key(&key) {
            return;
        }
        let until = now.after(limits::QUERY_SAID * 3);
        let other = self.0.entry(key).or_insert(Elsewhere { number, at: None, until });
        (other.at, other.until) = (at, until);
    }

    pub(super) fn remove(&mut self, key: &(RunId, AskId)) {
        self.0.remove(key);
    }

    /// One that stands in this queue. Whoever takes it asks its member for it.
    pub(super) fn take(
        &mut self,
        namespace: Namespace,
        queue: &Queue,
        now: Time,
    ) -> Option<(RunId, AskId)> {
        let stands = |((run, _), other): &(&(RunId, AskId), &Elsewhere)| {
            run.namespace == namespace && other.at.as_ref() == Some(queue) && other.until > now
        };
        let key = self.0.iter().find(stands).map(|(key, _)| *key)?;
        self.0.remove(&key);
        Some(key)
    }

    /// Those that wait for a run, of the first so many questions.
    pub(super) fn join_turn(&mut self, run: RunId, asked: QuestionCount) -> Vec<AskId> {
        let bounds = (run, AskId(0))..=(run, AskId(u128::MAX));
        let of_run = self.0.range(bounds).filter(|(_, other)| other.number < asked);
        let ids: Vec<_> = of_run.map(|((_, id), _)| *id).collect();
        ids.iter().for_each(|id| self.remove(&(run, *id)));
        ids
    }
}

/// A question's id names the member at which it was asked: its answer may come anywhere.
pub(super) fn id(home: Epoch, drawn: u128) -> AskId {
    AskId(u128::from(home.0) << 64 | drawn & u128::from(u64::MAX))
}

/// The member at which a question was asked.
pub(super) fn home(id: AskId) -> Epoch {
    Epoch(u64::try_from(id.0 >> 64).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_finds_its_way_home() {
        let asked = id(Epoch(7), u128::MAX);
        assert_eq!(home(asked), Epoch(7));
        assert_ne!(asked, id(Epoch(8), u128::MAX));
    }

    #[test]
    fn what_waits_elsewhere_is_taken_once_and_forgotten_when_nobody_says_it_again() {
        let run = RunId { namespace: Namespace(1), uuid: 5 };
        let queue = Queue::from("q");
        let mut others = Others::default();
        let now = Time(0);
        others.put((run, AskId(1)), Some(queue.clone()), QuestionCount(3), now);
        assert_eq!(others.take(Namespace(2), &queue, now), None, "another namespace's");
        assert_eq!(others.take(Namespace(1), &queue, now), Some((run, AskId(1))));
        assert_eq!(others.take(Namespace(1), &queue, now), None);
        others.put((run, AskId(2)), None, QuestionCount(4), now);
        others.put((run, AskId(2)), None, QuestionCount(9), now);
        assert_eq!(
            others.join_turn(run, QuestionCount(4)),
            [],
            "it was asked after the run was read"
        );
        assert_eq!(others.join_turn(run, QuestionCount(5)), [AskId(2)]);
        others.put((run, AskId(3)), Some(queue.clone()), QuestionCount(5), now);
        let late = now.after(limits::QUERY_SAID * 3);
        assert_eq!(others.take(Namespace(1), &queue, late), None);
    }
}
