//! A witness beside a store: it hears what was acknowledged, and says so where something that was
//! asked for later has come to pass as if it did not know.
//!
//! In:    every call at the moment at which it is made, and every answer.
//! Out:   the first order of two things that was not kept, in a sentence.
//! Never: changes a call or an answer.

use std::{collections::BTreeMap, sync::Arc};

use bowline_core::{CommitId, Epoch, Message, Number, RunId, Time, Version};
use bowline_store::{
    Answer, Ask, Attest, Attested, Broadcast, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
    ClaimedActivity, ClaimedRun, Commit, Committed, Error, Filter, Fired, Hints, Item, Join,
    Joined, Leftovers, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply, Result,
    RunRead, Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp,
};
use parking_lot::Mutex;

/// The store, and who looks on.
pub(crate) struct Witness {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) seen: Arc<Seen>,
}

/// What was seen; outlives every opening of the store.
#[derive(Default)]
pub(crate) struct Seen(Mutex<State>);

#[derive(Default)]
struct State {
    runs: BTreeMap<RunId, Known>,
    /// What was known when a commit was first sent: it may be sent again.
    commits: BTreeMap<CommitId, Known>,
    tally: Tally,
    broken: Option<String>,
}

/// What of a run is known to everybody.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The newest message that was acknowledged.
    last: Number,
    /// The cancel or termination that was acknowledged, and that nobody may have decided yet.
    asked: Option<Number>,
    /// A commit was sent that consumes messages up to here: its own answer may come before that
    /// of what it has read.
    read: Number,
    /// A commit was sent that decides a cancel: another request is no more than that.
    is_decided: bool,
}

impl Known {
    fn ask(&mut self, number: Number, is_cancel: bool) {
        let over = number <= self.read || (is_cancel && self.is_decided);
        self.asked = self.asked.or(Some(number).filter(|_| !over));
    }
}

/// How often there was something to look at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Cancels and terminations that were acknowledged.
    pub(crate) asked: usize,
    /// Attempts that were started.
    pub(crate) started: usize,
    /// Ends of attempts that a decision has written.
    pub(crate) ends: usize,
    /// Such decisions that were refused.
    pub(crate) refused: usize,
}

impl Seen {
    pub(crate) fn tally(&self) -> Tally {
        self.0.lock().tally
    }

    /// The first order that was not kept, if one was not.
    pub(crate) fn broken(&self) -> Option<String> {
        self.0.lock().broken.clone()
    }

    fn posted(&self, messages: &[Option<Message>], answers: &[Result<Posted>]) {
        let mut state = self.0.lock();
        for (message, answer) in messages.iter().zip(answers) {
            let (Some(message), Ok(Posted::Delivered(run, number))) = (message, answer) else {
                continue;
            };
            let known = state.runs.entry(*run).or_default();
            known.last = known.last.max(*number);
            let is_cancel = matches!(message, Message::Cancel(_));
            if is_cancel || matches!(message, Message::Terminate(_)) {
                known.ask(*number, is_cancel);
                state.tally.asked += 1;
            }
        }
    }

    /// Runs of which nothing may begin from now on.
    fn withheld(&self) -> BTreeMap<RunId, Number> {
        let state = self.0.lock();
        let asked = state.runs.iter().filter_map(|(run, known)| Some((*run, known.asked?)));
        asked.collect()
    }

    fn claimed(&self, withheld: &BTreeMap<RunId, Number>, claimed: &[ClaimedActivity]) {
        let mut state = self.0.lock();
        state.tally.started += claimed.len();
        for own in claimed {
            let still = state.runs.get(&own.run).and_then(|known| known.asked);
            let before = withheld.get(&own.run).copied();
            if before.is_some() && before == still {
                let attempt = own.live.attempt;
                state.break_(format!(
                    "{}: attempt {attempt} of activity {} was claimed while its cancel waited",
                    own.run, own.activity
                ));
            }
        }
    }

    /// A commit is sent; from now on it may have decided what was asked.
    fn sends(&self, commit: &Commit) {
        let mut state = self.0.lock();
        let known = state.runs.entry(commit.run).or_default();
        let before = *known;
        let decides = |asked: Number| {
            asked <= commit.consumed || commit.cancel.is_some() || commit.close.is_some()
        };
        known.asked = known.asked.filter(|asked| !decides(*asked));
        known.read = known.read.max(commit.consumed);
        known.is_decided |= commit.cancel.is_some();
        state.commits.entry(commit.id).or_insert(before);
    }

    fn committed(&self, commit: &Commit, answer: &Result<Committed>) {
        let mut state = self.0.lock();
        let Some(before) = state.commits.get(&commit.id).copied() else { return };
        let done = match answer {
            Ok(done) => done,
            Err(error) => {
                state.tally.refused += usize::from(!commit.ended.is_empty());
                if matches!(error, Error::Conflict | Error::Fenced) {
                    let known = state.runs.entry(commit.run).or_default();
                    known.asked = known.asked.or(before.asked);
                    state.commits.remove(&commit.id);
                }
                return;
            }
        };
        state.commits.remove(&commit.id);
        state.tally.ends += commit.ended.len();
        state.tally.started += done.started.len();
        let unread = (commit.consumed.0 + 1..=before.last.0).map(Number);
        let overtaken = unread.into_iter().find(|number| !commit.forgotten.contains(number));
        if let (Some(number), false) = (overtaken, commit.ended.is_empty()) {
            let run = commit.run;
            state.break_(format!("{run}: the end of an attempt has overtaken message {number}"));
        }
        let waits = before.asked.filter(|asked| *asked > commit.consumed);
        if waits.is_some() && commit.cancel.is_none() && !done.started.is_empty() {
            let run = commit.run;
            state.break_(format!("{run}: a commit has started something while a cancel waited"));
        }
    }
}

impl State {
    fn break_(&mut self, what: String) {
        eprintln!("the order was not kept: {what}");
        self.broken.get_or_insert(what);
    }
}

fn messages(posts: &[Posting]) -> Vec<Option<Message>> {
    let messages = posts.iter().map(|posting| match posting {
        Posting::Message { message, .. } => Some(message.clone()),
        _ => None,
    });
    messages.collect()
}

impl Witness {
    fn heard(
        &self,
        messages: Vec<Option<Message>>,
        answer: Answer<Vec<Result<Posted>>>,
    ) -> Answer<Vec<Result<Posted>>> {
        let seen = self.seen.clone();
        Box::pin(async move {
            let answers = answer.await;
            seen.posted(&messages, &answers);
            answers
        })
    }
}

impl Store for Witness {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        self.inner.join(join)
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        self.inner.renew(renewal)
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        self.heard(messages(&posts), self.inner.post(posts))
    }

    fn post_ahead(&self, posts: Vec<Posting>) -> Option<Answer<Vec<Result<Posted>>>> {
        let messages = messages(&posts);
        Some(self.heard(messages, self.inner.post_ahead(posts)?))
    }

    fn hurry(&self, run: RunId) {
        self.inner.hurry(run);
    }

    fn silence(&self) -> Option<std::time::Duration> {
        self.inner.silence()
    }

    fn lend(&self, ask: &mut dyn FnMut()) {
        self.inner.lend(ask);
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.inner.attest(attest)
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        self.inner.claim_runs(claim)
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        self.inner.take_up(take)
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        let (seen, withheld) = (self.seen.clone(), self.seen.withheld());
        let claimed = self.inner.claim_activities(claim);
        Box::pin(async move {
            let claimed = claimed.await;
            seen.claimed(&withheld, claimed.as_deref().unwrap_or_default());
            claimed
        })
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        let (seen, sent) = (self.seen.clone(), commits.clone());
        sent.iter().for_each(|commit| seen.sends(commit));
        let committed = self.inner.commit(commits);
        Box::pin(async move {
            let answers = committed.await;
            sent.iter().zip(&answers).for_each(|(commit, answer)| seen.committed(commit, answer));
            answers
        })
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        self.inner.settle(settles)
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        self.inner.fire(now, limit)
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.inner.sweep(sweep)
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        self.inner.ask(ask)
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        self.inner.answer(epoch, replies)
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        self.inner.read(read)
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.inner.find(filter)
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.inner.leftovers(subtree)
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        self.inner.write_catalog(puts)
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.inner.read_catalog(catalog)
    }

    fn watch(&self) -> Hints {
        self.inner.watch()
    }

    fn say(&self, word: Broadcast) {
        self.inner.say(word);
    }

    fn shut(&self) -> Answer<()> {
        self.inner.shut()
    }
}
