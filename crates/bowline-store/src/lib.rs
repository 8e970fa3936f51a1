//! The contract between Bowline and its stores.
//!
//! A store keeps rows and knows no rules: every decision that looks like one (retry, cancel, time
//! out) is a pure step of `bowline-core` that the store applies between reading and writing a row.
//! Each method is atomic, takes a batch, and answers per item of it; a store may run several calls
//! in one transaction. What "implements the contract" means is a suite of tests: the feature
//! `conformance`.

mod ask;
mod catalog;
mod claim;
pub mod commit;
mod error;
mod find;
mod leftovers;
mod member;
mod post;
mod read;
mod recent;
mod settle;
mod sweep;
mod unseen;
mod watch;

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod memory;
pub mod ready;
pub mod stored;
pub mod suspect;

use std::{future::Future, pin::Pin};

pub use ask::{Ask, AskBody, AskTarget, Pending, Reply};
pub use bowline_core as core;
pub use catalog::{CatalogPut, CatalogRead, ITEM_MAX, ITEM_NAME_MAX, Item, Which};
pub use claim::{
    ClaimActivities, ClaimRuns, ClaimedActivity, ClaimedRun, HolderKind, TakeUp, Want,
};
pub use commit::{AttemptHit, Close, Commit, Committed, NewActivity, StartNow};
pub use error::{Error, Result};
pub use find::{Filter, Order, Page};
pub use leftovers::{
    AttemptLine, EndKind, Leftovers, OUTLINE_FROM, Phase, ReceiptRow, Remainder, RunLine, Subtree,
    left_by, tree, word,
};
pub use member::{
    AttemptRef, Attest, Attested, Heartbeat, HeartbeatReply, Join, Joined, Process, Proof, Renewal,
    Renewed, Sighting, SilentMember, Whom, Witness,
};
pub use post::{NewReceipt, Posted, Posting, StartRun, may_reuse};
pub use read::{ActivityRow, Head, Read, RunCancel, RunKey, RunRead, Snapshot};
pub use recent::Recent;
pub use settle::{OfferedEnd, Settle, Settled, end_activity, keeps_row, lingers, runs_on};
pub use sweep::{DamagedRun, Fired, Sweep, Swept};
pub use unseen::{learn, silent_since};
pub use watch::{Broadcast, Hint, Hints, Listeners};

/// What a store answers, some time later. The work goes on if the answer is dropped.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Where runs live. See the crate's first page for what every method promises.
pub trait Store: Send + Sync + 'static {
    /// Enters a member under an epoch that was never used before. One that was given up may enter
    /// again, as somebody new.
    fn join(&self, join: Join) -> Answer<Result<Joined>>;

    /// Extends a member's lease, takes what its attempts report, and answers with every cancel
    /// and every lost attempt of its own. A cancelled attempt keeps its lease.
    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>>;

    /// For how long this member has not been known to be in contact, by a clock that nobody sets:
    /// since before the last call was made that extended its lease. Who has been silent for a whole
    /// lease may have been given up by others. None where nobody can be.
    fn silence(&self) -> Option<std::time::Duration> {
        None
    }

    /// Takes somebody's word that processes are gone which had fallen silent: what nobody saw end
    /// there is over. Where only one process has the store open there is nobody else to be gone.
    fn attest(&self, attest: Attest) -> Answer<Result<Attested>>;

    /// Puts messages into inboxes and starts runs. A request that was carried out already changes
    /// nothing and is answered as it was.
    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>>;

    /// As [`post`](Self::post), for the start of a run whose first commit is about to follow: it is
    /// put off until that or any other call about the run comes, or sooner, and is then carried out
    /// before it, in the same transaction. Whoever asks for this calls [`hurry`](Self::hurry) if
    /// nothing has come for a while. None, and nothing done, where a store has no such order.
    fn post_ahead(&self, posts: Vec<Posting>) -> Option<Answer<Vec<Result<Posted>>>> {
        let _ = posts;
        None
    }

    /// The start of a run is put off no longer.
    fn hurry(&self, run: core::RunId) {
        let _ = run;
    }

    /// Runs something that makes calls and does not wait for their answers. The thread has nothing
    /// else to do until these are there, so a store may carry the calls out on it, before this
    /// returns, if nobody else keeps it busy: then no other thread has to be woken to do so.
    fn lend(&self, ask: &mut dyn FnMut()) {
        ask();
    }

    /// Whether a claim for a remote worker may find something in a queue. False only if nothing
    /// waits there of what was acknowledged before this is asked; what comes to wait later is
    /// hinted at. A store that would have to look says that it may.
    fn may_find(&self, sought: ready::Sought, of: core::Namespace, queue: &core::Queue) -> bool {
        let _ = (sought, of, queue);
        true
    }

    /// Takes runs that wait for a turn, or for intake; never more than asked for.
    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>>;

    /// Takes parked runs that a member has found in a list, those of them that it may still try
    /// ([`Parked`](core::Parked) says who may). It holds them as if it had claimed them, and each
    /// of them stays parked until it has taken in something new.
    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>>;

    /// Starts activities that wait; never a cancelled or marked one. The start is durable when
    /// this answers.
    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>>;

    /// Writes decisions. Each commit of the group is applied whole or not at all, and one that
    /// loses its race does not disturb the others.
    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>>;

    /// Ends attempts.
    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>>;

    /// Rings every alarm that is due, up to a bound.
    fn fire(&self, now: core::Time, limit: usize) -> Answer<Result<Fired>>;

    /// Does some of the work that decisions left for later: materialises activities, folds marks,
    /// ends cancelled rows, fences dead members, deletes what has expired.
    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>>;

    /// Asks a question outside history; the answer comes when somebody gives it, or its deadline
    /// passes.
    fn ask(&self, ask: Ask) -> Answer<Result<Reply>>;

    /// Gives replies, and takes the questions that wait for this member.
    fn answer(&self, epoch: core::Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>>;

    /// Reads one run; none if there is no such run.
    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>>;

    /// Lists runs, page by page. No page looks at more than [`Page::LOOKS_MAX`] runs, so it may
    /// have few of those that are meant, or none, and go on nevertheless.
    fn find(&self, filter: Filter) -> Answer<Result<Page>>;

    /// Tells what is left of a subtree: the one query behind `settled` and `clean`.
    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>>;

    /// Puts small values into catalogs, or takes them away; answers with the new versions. Two who
    /// change the same item never both succeed.
    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<core::Version>>>;

    /// Reads a catalog, in the order of names.
    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>>;

    /// Hints that something may have happened. They may be lost, late or doubled.
    fn watch(&self) -> Hints;

    /// Says something to all other members, as a hint to them. Where only one process has the
    /// store open there is nobody to hear it.
    fn say(&self, word: Broadcast) {
        let _ = word;
    }

    /// Does what was asked before, and lets go of whatever another process may want to have: a
    /// file, connections. Whoever calls later may be answered with [`Error::Shut`].
    fn shut(&self) -> Answer<()> {
        Box::pin(async {})
    }
}
