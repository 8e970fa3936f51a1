//! What happens to the two stores.

mod decide;

use std::time::Duration;

use bowline_core::{
    Address, Cancel, Cause, Conflict, Ending, Epoch, Failure, Holder, Kind, Message, ReceiptId,
    RequestId, Reuse, Rules, RunId, Signal, Terminate, Time, Turn,
};
use bowline_store::{
    Answer, AttemptRef, ClaimActivities, ClaimRuns, ClaimedActivity, Commit, Heartbeat, HolderKind,
    Join, NewReceipt, Posting, Proof, Read, Renewal, RunKey, Settle, Sighting, StartRun, Store,
    Subtree, Sweep, Want,
};

use super::{Both, Chance};
use crate::world::{NAMESPACE, NOW, birth, run_id};

pub(crate) const WORKFLOWS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A call that is written, and answered item by item.
#[derive(Debug)]
enum Call {
    Post(Vec<Posting>),
    Commit(Vec<Commit>),
    Settle(Vec<Settle>),
}

impl Call {
    /// Hands it over at once; the answer is a text.
    fn send(&self, store: &dyn Store) -> Answer<String> {
        match self {
            Self::Post(posts) => texts(store.post(posts.clone())),
            Self::Commit(commits) => texts(store.commit(commits.clone())),
            Self::Settle(settles) => texts(store.settle(settles.clone())),
        }
    }
}

fn texts<T: std::fmt::Debug + 'static>(answer: Answer<T>) -> Answer<String> {
    Box::pin(async move { format!("{:#?}", answer.await) })
}

pub(crate) struct Actor {
    pub(crate) both: Both,
    pub(crate) runs: Vec<RunId>,
    chance: Chance,
    epoch: Epoch,
    now: Time,
    ids: u128,
    claimed: Vec<ClaimedActivity>,
    receipts: Vec<ReceiptId>,
}

impl Actor {
    pub(crate) async fn enter(both: Both, chance: Chance) -> Self {
        let (runs, claimed, receipts) = (Vec::new(), Vec::new(), Vec::new());
        let (epoch, now, ids) = (Epoch(0), NOW, 0);
        let mut actor = Self { both, runs, chance, epoch, now, ids, claimed, receipts };
        actor.join("at the beginning").await;
        actor
    }

    pub(crate) async fn act(&mut self, note: &str) {
        self.now = self.now.after(Duration::from_secs(self.chance.below(4)));
        match self.chance.below(100) {
            0..50 => self.call(note).await,
            50..60 => self.claim_runs(note).await,
            60..72 => self.claim_activities(note).await,
            72..84 => self.burst(note).await,
            84..89 => self.renew(note).await,
            89..94 => self.fire(note).await,
            94..96 => self.sweep(note).await,
            96..99 => self.delete(note).await,
            _ => {
                self.both.reopen().await;
                self.join(note).await;
            }
        }
    }

    /// Something that is written.
    async fn some_call(&mut self) -> Call {
        match self.chance.below(8) {
            0 => self.start(),
            1 | 2 => self.post(),
            3 | 4 => self.settle(),
            _ => self.commit().await,
        }
    }

    async fn call(&mut self, note: &str) {
        let call = self.some_call().await;
        self.both.agree(|store| call.send(store), note).await;
        if let Some(id) = self.chance.some(&self.receipts).copied() {
            self.both.agree(|store| store.leftovers(Subtree::Receipt(id)), note).await;
        }
    }

    /// Several calls that are handed over before the first is answered: they share transactions,
    /// and each must see what those before it did.
    async fn burst(&mut self, note: &str) {
        let mut calls = Vec::new();
        for _ in 0..2 + self.chance.below(5) {
            calls.push(self.some_call().await);
        }
        let sent: Vec<_> = calls.iter().map(|call| call.send(&*self.both.store)).collect();
        for (call, found) in calls.iter().zip(sent) {
            let (expected, found) = (call.send(&*self.both.model).await, found.await);
            assert!(expected == found, "{note}\nthe model: {expected}\nhere: {found}\n{call:#?}");
        }
    }

    fn id(&mut self) -> u128 {
        self.ids += 1;
        self.ids
    }

    fn run(&mut self) -> RunId {
        self.chance.some(&self.runs).copied().unwrap_or(run_id(999_999))
    }

    async fn join(&mut self, note: &str) {
        let join = Join::new("model", Duration::from_secs(9), self.now);
        let joined = self.both.same(|store| store.join(join.clone()), note).await;
        self.epoch = joined.expect("a member may enter").epoch;
    }

    /// A run that begins: native with a first turn, or remote with one that waits.
    fn newborn(&mut self) -> bowline_core::Birth {
        let run = run_id(self.id());
        self.runs.push(run);
        let mut birth = birth(run);
        birth.events[0].time = self.now;
        birth.reuse =
            *self.chance.some(&[Reuse::Allow, Reuse::AllowUnlessCompleted, Reuse::Refuse]).unwrap();
        let workflow = *self.chance.some(&WORKFLOWS).unwrap();
        let remote = self.chance.one_in(4);
        let request = self.request();
        if let bowline_core::EventKind::WorkflowStarted(started) = &mut birth.events[0].kind {
            started.workflow_id = workflow.into();
            started.request_id = request;
            if remote {
                started.rules = Rules { kind: Kind::Remote, ..Rules::REMOTE };
            }
        }
        if remote {
            birth.wake = false;
            birth.record.turn = Some(self.turn_out());
        }
        birth
    }

    fn turn_out(&mut self) -> Turn {
        Turn {
            attempt: 1,
            scheduled: bowline_core::EventId(2),
            scheduled_at: self.now,
            first_scheduled_at: self.now,
            queue: "remote".into(),
            sticky: false,
            provisional: false,
            speculative: false,
            started: None,
            deadline: None,
            heartbeat_since: None,
        }
    }

    fn request(&mut self) -> RequestId {
        match self.chance.below(8) {
            number @ 0..3 => format!("request-{number}").into(),
            _ => RequestId::default(),
        }
    }

    fn start(&mut self) -> Call {
        let birth = self.newborn();
        let request_id = match &birth.events[0].kind {
            bowline_core::EventKind::WorkflowStarted(started) => started.request_id.clone(),
            _ => unreachable!("a run begins so"),
        };
        let conflict = *self.chance.some(&[Conflict::Refuse, Conflict::UseExisting]).unwrap();
        let otherwise = self.chance.one_in(3).then(|| self.message());
        let now = self.now;
        let start = StartRun { birth, request_id, conflict, otherwise, hold: None, now };
        Call::Post(vec![Posting::Start(Box::new(start))])
    }

    fn message(&mut self) -> Message {
        let request_id = self.request();
        let cause = Cause::requested("by chance", "model");
        match self.chance.below(8) {
            0 => {
                Message::Cancel(Box::new(Cancel { cause, request_id, external: None, wire: None }))
            }
            1 => Message::Terminate(Box::new(Terminate { cause, details: None, wire: None })),
            _ => {
                let name = "ping".into();
                Message::Signal(Box::new(Signal { name, request_id, ..Signal::default() }))
            }
        }
    }

    fn address(&mut self) -> Address {
        match self.chance.below(3) {
            0 => Address::Run(self.run()),
            1 => Address::Chain(self.run()),
            _ => Address::Current(NAMESPACE, (*self.chance.some(&WORKFLOWS).unwrap()).into()),
        }
    }

    fn post(&mut self) -> Call {
        let mut posts = Vec::new();
        for _ in 0..=self.chance.below(3) {
            let (to, message, now) = (self.address(), self.message(), self.now);
            let stops = matches!(message, Message::Cancel(_) | Message::Terminate(_));
            let receipt = (stops && self.chance.one_in(2)).then(|| {
                let id = ReceiptId(self.id());
                self.receipts.push(id);
                let keep_until = now.after(Duration::from_secs(60));
                NewReceipt { id, cause: Cause::requested("receipt", "model"), keep_until }
            });
            posts.push(Posting::Message { to, message, now, receipt });
        }
        Call::Post(posts)
    }

    async fn claim_runs(&mut self, note: &str) {
        let want = *self.chance.some(&[Want::Turn, Want::RemoteTurn, Want::Intake]).unwrap();
        let claim = ClaimRuns {
            epoch: self.epoch,
            namespace: NAMESPACE,
            want,
            queues: match want {
                Want::Turn => vec!["turns".into()],
                Want::RemoteTurn => vec!["remote".into()],
                Want::Intake => Vec::new(),
            },
            names: vec!["flow".into()],
            count: usize::try_from(self.chance.below(4)).unwrap(),
            now: self.now,
        };
        self.both.same(|store| store.claim_runs(claim.clone()), note).await.unwrap();
    }

    async fn claim_activities(&mut self, note: &str) {
        let holder = match self.chance.one_in(2) {
            true => HolderKind::Native,
            false => HolderKind::Remote("control".into()),
        };
        let claim = ClaimActivities {
            epoch: self.epoch,
            namespace: NAMESPACE,
            queue: "work".into(),
            names: Vec::new(),
            count: usize::try_from(self.chance.below(6)).unwrap(),
            holder,
            worker: "model".into(),
            now: self.now,
        };
        let claimed = self.both.same(|store| store.claim_activities(claim.clone()), note).await;
        self.claimed.extend(claimed.unwrap());
    }

    fn settle(&mut self) -> Call {
        let mut settles = Vec::new();
        for _ in 0..=self.chance.below(3) {
            let Some(claimed) = self.chance.some(&self.claimed).cloned() else { break };
            let ending = match self.chance.below(9) {
                0 | 1 => Ending::Completed(None),
                2 => Ending::Failed(Failure::new("by chance")),
                3 => Ending::Cancelled(None),
                4 => Ending::Returned,
                5 => Ending::RunsOn,
                6 => Ending::Stopped,
                7 => Ending::TimedOut(bowline_core::Timeout::StartToClose),
                _ => Ending::Abandoned,
            };
            let told = self.chance.one_in(2).then_some(self.now);
            settles.push(Settle {
                run: claimed.run,
                activity: claimed.activity,
                attempt: claimed.live.attempt,
                proof: proof(&claimed),
                ending,
                rung: None,
                delivered_at: told,
                observed_at: told,
                now: self.now,
            });
        }
        Call::Settle(settles)
    }

    async fn renew(&mut self, note: &str) {
        let attempt = |claimed: &ClaimedActivity| AttemptRef {
            run: claimed.run,
            activity: claimed.activity,
            attempt: claimed.live.attempt,
        };
        let some: Vec<_> = self.claimed.iter().rev().take(4).collect();
        let beat = |claimed: &&ClaimedActivity| Heartbeat {
            attempt: attempt(claimed),
            proof: proof(claimed),
            details: None,
        };
        let sight = |claimed: &&ClaimedActivity| Sighting {
            attempt: attempt(claimed),
            delivered_at: self.now,
            observed_at: None,
        };
        let renewal = Renewal {
            epoch: self.epoch,
            lease: Duration::from_secs(9),
            now: self.now,
            heartbeats: some.iter().map(beat).collect(),
            sightings: some.iter().skip(2).map(sight).collect(),
            controls: vec!["control".into()],
            inventory: true,
            leave: self.chance.one_in(6),
            runs_on: false,
        };
        self.both.same(|store| store.renew(renewal.clone()), note).await.unwrap();
        if renewal.leave {
            self.join(note).await;
        }
    }

    /// The alarms of what is over do no harm, so how many of them ring is each store's own.
    async fn fire(&mut self, note: &str) {
        let now = self.now;
        let fire = |store: &dyn Store| {
            let fired = store.fire(now, 10_000);
            async { fired.await.map(|fired| (fired.runs, fired.hits)).unwrap() }
        };
        self.both.agree(fire, note).await;
    }

    /// How many rows a sweep takes is each store's own; what is left in the end is not.
    async fn sweep(&mut self, note: &str) {
        let kept = self.chance.one_in(2).then_some((NAMESPACE, Duration::from_secs(100)));
        let retention = kept.into_iter().collect();
        let sweep = Sweep { epoch: self.epoch, now: self.now, limit: 50, retention, presume: None };
        while self.both.model.sweep(sweep.clone()).await.unwrap().more {}
        while self.both.store.sweep(sweep.clone()).await.unwrap().more {}
        self.both.compare(&self.runs, note).await;
    }

    async fn delete(&mut self, note: &str) {
        let (run, now) = (self.run(), self.now);
        self.both.agree(|store| store.post(vec![Posting::Delete { run, now }]), note).await;
    }

    async fn head(&self, run: RunId) -> Option<bowline_store::Head> {
        let read = self.both.model.read(Read::head(RunKey::Run(run))).await.unwrap();
        read.map(|read| read.head)
    }
}

fn proof(claimed: &ClaimedActivity) -> Proof {
    match &claimed.live.started().expect("it was claimed").holder {
        Holder::Native(fence) => Proof::Native(*fence),
        Holder::Remote { token, .. } => Proof::Remote(token.clone()),
    }
}
