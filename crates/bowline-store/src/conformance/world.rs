//! A store with one member in it, and short words for what the cases do with it.

pub(super) mod turn;
pub(super) mod wait;

use std::{
    cell::{Cell, OnceCell},
    sync::Arc,
    time::Duration,
};

use bowline_core::{
    Address, Birth, Conflict, Ending, Epoch, Event, Fence, Holder, Message, Namespace, ReceiptId,
    RequestId, RunId, Status, Time,
};

use self::{
    turn::{Turn, birth, cause},
    wait::block_on,
};
use super::Harness;
use crate::{
    AttemptRef, ClaimActivities, ClaimRuns, ClaimedActivity, ClaimedRun, Committed, Fired, Head,
    Heartbeat, Hint, HolderKind, Join, Leftovers, NewReceipt, Posted, Posting, Proof, Read,
    Renewal, Renewed, Result, RunKey, RunRead, Settle, Settled, StartRun, Store, Subtree, Sweep,
    Swept,
};

pub(super) const NAMESPACE: Namespace = Namespace(7);
pub(super) const LEASE: Duration = Duration::from_secs(10);
/// How many rows one sweep may touch, as the engine asks for it.
pub(super) const SWEEP: usize = 2_000;

/// A store with one member in it.
pub(super) struct World<'h> {
    harness: &'h dyn Harness,
    store: OnceCell<Arc<dyn Store>>,
    pub(super) epoch: Epoch,
    now: Cell<i64>,
    ids: Cell<u128>,
}

impl<'h> World<'h> {
    pub(super) fn new(harness: &'h dyn Harness) -> Self {
        let store = OnceCell::from(harness.open());
        let (now, ids) = (Cell::new(1_000_000_000), Cell::new(0));
        let mut world = Self { harness, store, epoch: Epoch(0), now, ids };
        world.epoch = world.join();
        world
    }

    pub(super) fn store(&self) -> &dyn Store {
        &**self.store.get().expect("the store is open")
    }

    /// A crash, and a new member on what it left.
    pub(super) fn reopen(&mut self) {
        drop(self.store.take());
        self.store = OnceCell::from(self.harness.reopen());
        self.tick(1);
        self.epoch = self.join();
    }

    pub(super) fn join(&self) -> Epoch {
        let join = Join::new("suite", LEASE, self.now());
        block_on(self.store().join(join)).expect("a member may enter").epoch
    }

    pub(super) fn now(&self) -> Time {
        Time(self.now.get())
    }

    /// Moves the clock forward, by seconds.
    pub(super) fn tick(&self, seconds: i64) -> Time {
        self.now.set(self.now.get() + seconds * 1_000_000);
        self.now()
    }

    /// A number that was not used before.
    pub(super) fn id(&self) -> u128 {
        self.ids.set(self.ids.get() + 1);
        self.ids.get()
    }

    pub(super) fn run_id(&self) -> RunId {
        RunId { namespace: NAMESPACE, uuid: self.id() }
    }

    // Starts and messages.

    /// A native run that has its first turn before it.
    pub(super) fn start(&self, workflow_id: &str) -> RunId {
        self.begin_run(birth(self.run_id(), workflow_id, self.now()))
    }

    pub(super) fn begin_run(&self, birth: Birth) -> RunId {
        let run = birth.run;
        let posted = self.try_start(self.starting(birth)).expect("the workflow id is free");
        assert_eq!(posted, Posted::Started(run));
        run
    }

    pub(super) fn starting(&self, birth: Birth) -> StartRun {
        StartRun {
            birth,
            request_id: RequestId::default(),
            conflict: Conflict::Refuse,
            otherwise: None,
            hold: None,
            now: self.now(),
        }
    }

    pub(super) fn try_start(&self, start: StartRun) -> Result<Posted> {
        self.one(Posting::Start(Box::new(start)))
    }

    pub(super) fn post(&self, run: RunId, message: Message) -> Result<Posted> {
        self.post_to(Address::Run(run), message)
    }

    pub(super) fn post_to(&self, to: Address, message: Message) -> Result<Posted> {
        self.one(Posting::Message { to, message, now: self.now(), receipt: None })
    }

    /// Posts with a receipt that is kept for an hour.
    pub(super) fn post_receipt(&self, run: RunId, message: Message) -> (ReceiptId, Result<Posted>) {
        let id = ReceiptId(self.id());
        let keep_until = self.now().after(Duration::from_secs(3_600));
        let receipt = Some(NewReceipt { id, cause: cause("receipt"), keep_until });
        let to = Address::Run(run);
        (id, self.one(Posting::Message { to, message, now: self.now(), receipt }))
    }

    pub(super) fn delete(&self, run: RunId) -> Result<Posted> {
        self.one(Posting::Delete { run, now: self.now() })
    }

    fn one(&self, posting: Posting) -> Result<Posted> {
        let mut answers = block_on(self.store().post(vec![posting]));
        assert_eq!(answers.len(), 1, "each item has its answer");
        answers.remove(0)
    }

    // Turns.

    /// A decision about the run as it stands: all that waits is consumed, one event is written.
    pub(super) fn turn(&self, run: RunId) -> Turn {
        Turn::new(&self.head(run), self.id(), self.now())
    }

    pub(super) fn commit(&self, turn: Turn) -> Result<Committed> {
        self.commits(vec![turn]).remove(0)
    }

    pub(super) fn commits(&self, turns: Vec<Turn>) -> Vec<Result<Committed>> {
        let count = turns.len();
        let commits = turns.into_iter().map(Turn::build).collect();
        let answers = block_on(self.store().commit(commits));
        assert_eq!(answers.len(), count, "each member has its answer");
        answers
    }

    /// Writes a turn that has nothing to say but what `also` adds.
    pub(super) fn run_turn<T>(&self, run: RunId, also: impl FnOnce(&mut Turn) -> T) -> Committed {
        let mut turn = self.turn(run);
        also(&mut turn);
        self.commit(turn).expect("nobody else writes")
    }

    pub(super) fn close(&self, run: RunId, status: Status) -> Committed {
        self.run_turn(run, |turn| turn.close(status))
    }

    // Claims.

    pub(super) fn claiming(&self, want: crate::Want, queue: &str) -> ClaimRuns {
        ClaimRuns {
            epoch: self.epoch,
            namespace: NAMESPACE,
            want,
            queues: vec![queue.into()],
            names: vec!["flow".into()],
            count: 1_000,
            now: self.now(),
        }
    }

    pub(super) fn claim_runs(&self, claim: ClaimRuns) -> Vec<ClaimedRun> {
        block_on(self.store().claim_runs(claim)).expect("the member is alive")
    }

    /// Takes every native run that waits.
    pub(super) fn take_runs(&self) -> Vec<RunId> {
        let claimed = self.claim_runs(self.claiming(crate::Want::Turn, "turns"));
        claimed.into_iter().map(|claimed| claimed.read.head.run).collect()
    }

    /// Takes the one run that waits.
    pub(super) fn hold(&self, run: RunId) -> Fence {
        let claimed = self.claim_runs(self.claiming(crate::Want::Turn, "turns"));
        let mine = claimed.into_iter().find(|claimed| claimed.read.head.run == run);
        mine.expect("the run waits").fence.expect("a native run is held")
    }

    pub(super) fn claiming_activities(&self, count: usize) -> ClaimActivities {
        ClaimActivities {
            epoch: self.epoch,
            namespace: NAMESPACE,
            queue: "work".into(),
            names: Vec::new(),
            count,
            holder: HolderKind::Native,
            worker: "suite".into(),
            now: self.now(),
        }
    }

    pub(super) fn claim_activities(&self, claim: ClaimActivities) -> Vec<ClaimedActivity> {
        block_on(self.store().claim_activities(claim)).expect("the member is alive")
    }

    pub(super) fn claim(&self, count: usize) -> Vec<ClaimedActivity> {
        self.claim_activities(self.claiming_activities(count))
    }

    pub(super) fn claim_one(&self) -> ClaimedActivity {
        let mut claimed = self.claim(1);
        assert_eq!(claimed.len(), 1, "one activity waits");
        claimed.remove(0)
    }

    pub(super) fn claim_remote(&self) -> ClaimedActivity {
        let holder = HolderKind::Remote("control".into());
        let mut claimed =
            self.claim_activities(ClaimActivities { holder, ..self.claiming_activities(1) });
        assert_eq!(claimed.len(), 1, "one activity waits");
        claimed.remove(0)
    }

    // Ends.

    pub(super) fn settling(&self, claimed: &ClaimedActivity, ending: Ending) -> Settle {
        Settle {
            run: claimed.run,
            activity: claimed.activity,
            attempt: claimed.live.attempt,
            proof: proof(claimed),
            ending,
            rung: None,
            delivered_at: None,
            observed_at: None,
            now: self.now(),
        }
    }

    pub(super) fn settle(&self, claimed: &ClaimedActivity, ending: Ending) -> Settled {
        self.report(self.settling(claimed, ending))
    }

    pub(super) fn report(&self, settle: Settle) -> Settled {
        let mut answers = block_on(self.store().settle(vec![settle]));
        assert_eq!(answers.len(), 1, "each item has its answer");
        answers.remove(0).expect("a report is taken, if only to say that it is stale")
    }

    pub(super) fn fire(&self) -> Fired {
        block_on(self.store().fire(self.now(), 1_000)).expect("alarms ring")
    }

    pub(super) fn sweep(&self, limit: usize) -> Swept {
        let sweep = Sweep {
            epoch: self.epoch,
            now: self.now(),
            limit,
            retention: Vec::new(),
            presume: None,
        };
        block_on(self.store().sweep(sweep)).expect("the member is alive")
    }

    /// Sweeps until nothing is left; tells how many rows that took.
    pub(super) fn sweep_all(&self) -> usize {
        self.sweep_by(&[])
    }

    /// The same, and closed runs are kept for so long.
    pub(super) fn sweep_for(&self, kept: Duration) -> usize {
        self.sweep_by(&[(NAMESPACE, kept)])
    }

    pub(super) fn sweep_by(&self, retention: &[(Namespace, Duration)]) -> usize {
        let mut rows = 0;
        loop {
            let (epoch, now, limit) = (self.epoch, self.now(), SWEEP);
            let retention = retention.to_vec();
            let swept =
                block_on(self.store().sweep(Sweep { epoch, now, limit, retention, presume: None }));
            let swept = swept.expect("the member is alive");
            assert!(swept.rows <= SWEEP, "{} rows in one sweep", swept.rows);
            assert!(swept.rows > 0 || !swept.more, "a sweep with work left does some");
            rows += swept.rows;
            if !swept.more {
                return rows;
            }
        }
    }

    // Members.

    pub(super) fn renewal(&self) -> Renewal {
        Renewal::new(self.epoch, LEASE, self.now())
    }

    pub(super) fn renew(&self, renewal: Renewal) -> Renewed {
        block_on(self.store().renew(renewal)).expect("the member is alive")
    }

    // Reading.

    pub(super) fn read(&self, read: Read) -> RunRead {
        block_on(self.store().read(read)).expect("reading works").expect("the run exists")
    }

    pub(super) fn exists(&self, run: RunId) -> bool {
        let read = self.store().read(Read::head(RunKey::Run(run)));
        block_on(read).expect("reading works").is_some()
    }

    pub(super) fn head(&self, run: RunId) -> Head {
        self.read(Read::head(RunKey::Run(run))).head
    }

    pub(super) fn current(&self, workflow_id: &str) -> Option<RunId> {
        let key = RunKey::Current(NAMESPACE, workflow_id.into());
        let read = block_on(self.store().read(Read::head(key))).expect("reading works");
        read.map(|read| read.head.run)
    }

    pub(super) fn events(&self, run: RunId) -> Vec<Event> {
        let batches = self.read(Read::whole(run)).batches;
        batches.iter().flat_map(|batch| batch.events().expect("history reads")).collect()
    }

    pub(super) fn inbox(&self, run: RunId) -> Vec<Message> {
        let read = self.read(Read::inbox(run));
        read.inbox.into_iter().map(|received| received.message).collect()
    }

    /// Every row of the run's activities.
    pub(super) fn rows(&self, run: RunId) -> Vec<crate::ActivityRow> {
        let key = RunKey::Run(run);
        self.read(Read { activities_max: usize::MAX, ..Read::head(key) }).activities
    }

    pub(super) fn leftovers(&self, run: RunId) -> Leftovers {
        block_on(self.store().leftovers(Subtree::Run(run))).expect("the run exists")
    }

    pub(super) fn orphans(&self) -> Leftovers {
        block_on(self.store().leftovers(Subtree::Orphans)).expect("the question can be asked")
    }

    /// Waits until the store has given this hint.
    pub(super) fn hinted(&self, hints: &mut crate::Hints, wanted: &Hint) {
        while !block_on(hints.next()).iter().any(|hint| hint == wanted || *hint == Hint::Everything)
        {
        }
    }
}

pub(super) fn proof(claimed: &ClaimedActivity) -> Proof {
    match &claimed.live.started().expect("a claimed activity is started").holder {
        Holder::Native(fence) => Proof::Native(*fence),
        Holder::Remote { token, .. } => Proof::Remote(token.clone()),
    }
}

pub(super) fn attempt(claimed: &ClaimedActivity) -> AttemptRef {
    let (run, activity) = (claimed.run, claimed.activity);
    AttemptRef { run, activity, attempt: claimed.live.attempt }
}

pub(super) fn heartbeat(claimed: &ClaimedActivity) -> Heartbeat {
    Heartbeat { attempt: attempt(claimed), proof: proof(claimed), details: None }
}

/// Asserts that something was refused for one reason.
macro_rules! refused {
    ($result:expr, $pattern:pat) => {
        match $result {
            Err($pattern) => {}
            other => panic!("not refused as {}: {other:?}", stringify!($pattern)),
        }
    };
}

pub(super) use refused;
