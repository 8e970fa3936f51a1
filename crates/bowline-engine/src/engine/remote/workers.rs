//! What is known of remote workers, at any member: who polled which queue lately, and how each
//! worker says that it is. Kept in memory for a while, for people who look after workers; nothing
//! depends on it.

use std::collections::BTreeMap;

use bowline_core::{Blob, Identity, Namespace, Queue, Time};
use minicbor::{Decode, Encode};
use parking_lot::Mutex;

use crate::{
    engine::{EngineInner, peer::PeerNews},
    limits,
};

/// What a worker polls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Polled {
    /// Turns.
    #[n(0)]
    Turns,
    /// Activities.
    #[n(1)]
    Activities,
}

/// Which queue was polled, for what, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) struct Poll {
    #[n(0)]
    pub(crate) namespace: Namespace,
    #[n(1)]
    pub(crate) queue: Queue,
    #[n(2)]
    pub(crate) wants: Polled,
    #[n(3)]
    pub(crate) worker: Identity,
}

#[derive(Clone, Copy, Debug)]
struct LastSeen {
    at: Time,
    /// When other members were last told.
    said: Option<Time>,
}

/// How a worker says that it is, in its own words.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerBeat {
    /// The worker's own key.
    pub worker: String,
    /// When it said so.
    pub at: Time,
    /// What it said.
    pub said: Blob,
}

/// All that is known.
#[derive(Debug, Default)]
pub(crate) struct RemoteWorkers {
    polls: Mutex<BTreeMap<Poll, LastSeen>>,
    beats: Mutex<BTreeMap<(Namespace, String), (Time, Blob)>>,
}

fn is_fresh(at: Time, now: Time) -> bool {
    now.since(at) < limits::WORKER_SILENT
}

impl RemoteWorkers {
    /// A worker has polled here. True if other members should hear of it.
    fn polled(&self, poll: &Poll, now: Time) -> bool {
        self.see(poll, now, |seen| {
            let is_news = seen.said.is_none_or(|said| now.since(said) >= limits::POLLER_SAID);
            if is_news {
                seen.said = Some(now);
            }
            is_news
        })
    }

    /// A worker has polled at another member.
    pub(crate) fn hears(&self, poll: &Poll, now: Time) {
        self.see(poll, now, |_| false);
    }

    fn see(&self, poll: &Poll, now: Time, then: impl FnOnce(&mut LastSeen) -> bool) -> bool {
        let mut polls = self.polls.lock();
        if polls.len() >= limits::WORKERS {
            polls.retain(|_, seen| is_fresh(seen.at, now));
        }
        if polls.len() >= limits::WORKERS && !polls.contains_key(poll) {
            return false;
        }
        let seen = polls.entry(poll.clone()).or_insert(LastSeen { at: now, said: None });
        seen.at = now;
        then(seen)
    }

    fn pollers(
        &self,
        (namespace, queue, wants): (Namespace, &Queue, Polled),
        now: Time,
    ) -> Vec<(Identity, Time)> {
        let polls = self.polls.lock();
        let worker = Identity::default();
        let from = Poll { namespace, queue: queue.clone(), wants, worker };
        let of_queue = polls.range(from..).take_while(|(poll, _)| {
            (poll.namespace, &poll.queue, poll.wants) == (namespace, queue, wants)
        });
        let fresh = of_queue.filter(|(_, seen)| is_fresh(seen.at, now));
        fresh.map(|(poll, seen)| (poll.worker.clone(), seen.at)).collect()
    }

    /// A worker has said how it is. The last word counts.
    pub(crate) fn beats(&self, namespace: Namespace, worker: String, said: Blob, now: Time) {
        if worker.is_empty() || said.as_slice().len() > limits::WORKER_BEAT {
            return;
        }
        let mut beats = self.beats.lock();
        let key = (namespace, worker);
        if beats.len() >= limits::WORKERS {
            beats.retain(|_, (at, _)| is_fresh(*at, now));
        }
        if beats.len() < limits::WORKERS || beats.contains_key(&key) {
            beats.insert(key, (now, said));
        }
    }

    fn workers(&self, namespace: Namespace, after: &str, now: Time) -> Vec<WorkerBeat> {
        let beats = self.beats.lock();
        let from = (namespace, after.to_owned());
        let of_space = beats.range(from..).take_while(|((of, _), _)| *of == namespace);
        let fresh = of_space.filter(|((_, worker), (at, _))| worker != after && is_fresh(*at, now));
        let beat = |((_, worker), (at, said)): (&(Namespace, String), &(Time, Blob))| WorkerBeat {
            worker: worker.clone(),
            at: *at,
            said: said.clone(),
        };
        fresh.map(beat).collect()
    }

    fn worker(&self, namespace: Namespace, worker: &str, now: Time) -> Option<WorkerBeat> {
        let beats = self.beats.lock();
        let (at, said) = beats.get(&(namespace, worker.to_owned()))?;
        let beat = WorkerBeat { worker: worker.to_owned(), at: *at, said: said.clone() };
        is_fresh(*at, now).then_some(beat)
    }
}

impl EngineInner {
    /// A worker polls here; now and then, other members are told.
    pub(crate) fn worker_polls(&self, poll: Poll) {
        if self.workers.polled(&poll, self.now()) {
            self.say(&PeerNews::Polls(poll));
        }
    }

    pub(crate) fn pollers(
        &self,
        namespace: Namespace,
        queue: &Queue,
        wants: Polled,
    ) -> Vec<(Identity, Time)> {
        self.workers.pollers((namespace, queue, wants), self.now())
    }

    /// A worker says how it is; other members are told, if it is not too long.
    pub(crate) fn worker_beats(&self, namespace: Namespace, worker: &str, said: Blob) {
        self.workers.beats(namespace, worker.to_owned(), said.clone(), self.now());
        self.say(&PeerNews::Beats { namespace, worker: worker.to_owned(), said });
    }

    /// What workers said, in the order of their keys, behind this one.
    pub(crate) fn workers(&self, namespace: Namespace, after: &str) -> Vec<WorkerBeat> {
        self.workers.workers(namespace, after, self.now())
    }

    pub(crate) fn worker(&self, namespace: Namespace, worker: &str) -> Option<WorkerBeat> {
        self.workers.worker(namespace, worker, self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(worker: &str) -> Poll {
        let (namespace, queue) = (Namespace(1), Queue::from("q"));
        Poll { namespace, queue, wants: Polled::Turns, worker: worker.into() }
    }

    #[test]
    fn others_are_told_of_a_poller_now_and_then() {
        let workers = RemoteWorkers::default();
        let at = |seconds| Time(0).after(std::time::Duration::from_secs(seconds));
        assert!(workers.polled(&poll("a"), at(0)));
        assert!(!workers.polled(&poll("a"), at(30)), "they know");
        assert!(workers.polled(&poll("a"), at(60)), "or they would forget");
        workers.hears(&poll("b"), at(60));
        let who = |now| workers.pollers((Namespace(1), &Queue::from("q"), Polled::Turns), now);
        assert_eq!(who(at(60)), [("a".into(), at(60)), ("b".into(), at(60))]);
        assert!(who(at(60).after(limits::WORKER_SILENT)).is_empty(), "silent for too long");
        let other = (Namespace(1), &Queue::from("q"), Polled::Activities);
        assert!(workers.pollers(other, at(60)).is_empty());
    }

    #[test]
    fn the_last_word_of_a_worker_counts_and_is_forgotten_in_the_end() {
        let workers = RemoteWorkers::default();
        let now = Time(0);
        let says = |text: &[u8]| Blob::from(text.to_vec());
        workers.beats(Namespace(1), "a".into(), says(b"1"), now);
        workers.beats(Namespace(1), "a".into(), says(b"2"), now);
        workers.beats(Namespace(2), "b".into(), says(b"3"), now);
        workers.beats(Namespace(1), String::new(), says(b"4"), now);
        workers.beats(Namespace(1), "c".into(), says(&vec![0; limits::WORKER_BEAT + 1]), now);
        let all = workers.workers(Namespace(1), "", now);
        assert_eq!(all, [WorkerBeat { worker: "a".into(), at: now, said: says(b"2") }]);
        assert!(workers.workers(Namespace(1), "a", now).is_empty(), "the next page");
        assert!(workers.worker(Namespace(1), "b", now).is_none(), "another namespace's");
        let late = now.after(limits::WORKER_SILENT);
        assert!(workers.worker(Namespace(1), "a", late).is_none());
    }

    #[test]
    fn there_is_a_bound_that_those_who_are_silent_do_not_count_for() {
        let workers = RemoteWorkers::default();
        let now = Time(0);
        for number in 0..=limits::WORKERS {
            workers.hears(&poll(&number.to_string()), now);
            workers.beats(Namespace(1), number.to_string(), Blob::default(), now);
        }
        assert_eq!(workers.polls.lock().len(), limits::WORKERS);
        assert_eq!(workers.beats.lock().len(), limits::WORKERS);
        let late = now.after(limits::WORKER_SILENT);
        workers.hears(&poll("late"), late);
        workers.beats(Namespace(1), "late".into(), Blob::default(), late);
        assert_eq!((workers.polls.lock().len(), workers.beats.lock().len()), (1, 1));
    }
}
