//! Turns and activities of workers that speak a door's protocol. Nobody holds such a run: a turn
//! that is out stands on the run's row, and any member may take its answer.

mod activity;
mod ending;
mod known;
pub(crate) mod look;
mod page;
mod query;
mod stand;
mod turn;
mod waiting;
mod workers;

use std::{collections::BTreeMap, sync::Arc};

use bowline_core::{Namespace, Queue, Time};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use activity::{Along, Eager, RemoteActivity, RemoteHeartbeat};
pub use ending::ClosedRun;
pub(crate) use ending::NewRuns;
pub(crate) use known::{Decision, KnownRun, KnownRuns};
pub use page::HistoryPage;
pub(crate) use query::open::{Queries, QuestionCount};
pub use query::{QueryAnswer, Question, RemoteAsk, RemoteQuery};
pub use turn::{Answered, History, RemoteTurn, Taken};
use waiting::PollBell;
pub(crate) use waiting::WaitingPoll;
pub(crate) use workers::{Poll, RemoteWorkers};
pub use workers::{Polled, WorkerBeat};

/// For how long a poll waits.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Until this moment.
    pub until: Time,
    /// Until this fires: whoever asked does not wait any more, and must not be given work.
    pub gone: CancellationToken,
}

impl From<Time> for Wait {
    fn from(until: Time) -> Self {
        Self { until, gone: CancellationToken::new() }
    }
}

/// What a poll waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Want {
    Turn,
    Activity,
}

type PollKey = (Want, Namespace, Queue);

/// Long polls that wait for work, by queue.
#[derive(Debug, Default)]
pub(crate) struct Polls(Mutex<BTreeMap<PollKey, Arc<PollBell>>>);

/// What one poll waits on. A queue that nobody waits for any more is forgotten with the last.
struct PollPlace<'p> {
    polls: &'p Polls,
    key: PollKey,
    bell: Arc<PollBell>,
}

impl std::ops::Deref for PollPlace<'_> {
    type Target = PollBell;

    fn deref(&self) -> &PollBell {
        &self.bell
    }
}

impl Drop for PollPlace<'_> {
    fn drop(&mut self) {
        let mut bells = self.polls.0.lock();
        // The map has one, and this is the other.
        if Arc::strong_count(&self.bell) <= 2 {
            bells.remove(&self.key);
        }
    }
}

impl Polls {
    /// What a poll waits on.
    fn bell(&self, want: Want, namespace: Namespace, queue: &Queue) -> PollPlace<'_> {
        let key = (want, namespace, queue.clone());
        let bell = self.0.lock().entry(key.clone()).or_default().clone();
        PollPlace { polls: self, key, bell }
    }

    /// The same, if somebody waits there.
    fn known(&self, want: Want, namespace: Namespace, queue: &Queue) -> Option<Arc<PollBell>> {
        self.0.lock().get(&(want, namespace, queue.clone())).cloned()
    }

    /// How many polls wait to be handed a turn of a queue.
    pub(crate) fn seated(&self, namespace: Namespace, queue: &Queue) -> usize {
        self.known(Want::Turn, namespace, queue).map_or(0, |bell| bell.seated())
    }

    fn ring(&self, want: Want, namespace: Namespace, queue: &Queue) {
        if let Some(bell) = self.known(want, namespace, queue) {
            bell.rung.notify_one();
        }
    }

    pub(crate) fn turn_waits(&self, namespace: Namespace, queue: &Queue) {
        self.ring(Want::Turn, namespace, queue);
    }

    pub(crate) fn activity_waits(&self, namespace: Namespace, queue: &Queue) {
        self.ring(Want::Activity, namespace, queue);
    }

    /// Whoever waits for activities looks. They have few queues, and looking takes them.
    pub(crate) fn activities(&self) {
        let bells = self.0.lock();
        let activity = bells.iter().filter(|((want, ..), _)| *want == Want::Activity);
        activity.for_each(|(_, bell)| bell.rung.notify_one());
    }
}
