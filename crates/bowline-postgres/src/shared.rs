//! What the store's handle and everything that runs for it share.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bowline_core::{Epoch, Time};
use bowline_store::{Hint, Listeners, stored::PlannedRows, suspect::Session};
use deadpool_postgres::Pool;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::{
    connection::{
        db::{Db, Lent, Outcome},
        past::Past,
        planner::Growth,
        session::Sessions,
    },
    fault::Fault,
    queue::{grace::Grace, sweep::Cursor},
    read::ask::Asks,
    rows::known::KnownRuns,
    settings::Settings,
    write::{ahead::Ahead, room::Room},
};

pub(crate) struct Shared {
    pub(crate) pool: Pool,
    /// For what must not wait behind calls: leases and hints.
    pub(crate) side: Pool,
    /// For what may look at much: lists and subtrees. Nothing that writes waits behind it.
    pub(crate) reads: Pool,
    /// What tables are called by: the schema, and a dot.
    pub(crate) prefix: String,
    pub(crate) settings: Settings,
    /// Which store this is, wherever somebody says it is.
    pub(crate) identity: i64,
    pub(crate) listeners: Listeners,
    pub(crate) asks: Asks,
    pub(crate) ahead: Ahead,
    /// Calls that wait for what somebody else has locked.
    pub(crate) room: Room,
    pub(crate) held: Arc<KnownRuns>,
    pub(crate) past: Arc<Past>,
    sessions: Arc<Sessions>,
    pub(crate) missing_rows: Mutex<PlannedRows>,
    pub(crate) cursor: Mutex<Cursor>,
    pub(crate) grace: Mutex<Grace>,
    pub(crate) growth: Growth,
    /// One at a time of each: nobody gains from racing against the own process.
    pub(crate) joining: tokio::sync::Mutex<()>,
    pub(crate) claiming: tokio::sync::Mutex<()>,
    pub(crate) firing: tokio::sync::Mutex<()>,
    pub(crate) sweeping: tokio::sync::Mutex<()>,
    /// Hints that other processes have yet to be told.
    outbox: Mutex<BTreeSet<Hint>>,
    pub(crate) told: Notify,
    /// Hints at what was passed over since somebody else had it locked.
    passed: Mutex<BTreeSet<Hint>>,
    pub(crate) passed_over: Notify,
    /// The latest moment that a call has brought along: a store has no clock.
    now: AtomicI64,
    /// The newest place in any queue that was given out here.
    stamp: AtomicI64,
    /// The newest fence that was given out here.
    fence: AtomicU64,
    woken: AtomicI64,
    member: Mutex<Option<(Epoch, Duration)>>,
    /// The session by which others know that this process lives.
    session: Mutex<Option<Session>>,
    /// That leases alone count was said.
    pub(crate) unwatched: AtomicBool,
    /// Before the last call that is known to have extended the lease of a member.
    contact: Mutex<Option<(Epoch, Instant)>>,
    /// Nothing new is begun.
    stopping: AtomicBool,
    /// There are no connections any more.
    closing: AtomicBool,
    /// How many calls are on their way.
    busy: watch::Sender<usize>,
}

/// A call on its way, until it is dropped.
pub(crate) struct Busy(Arc<Shared>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.send_modify(|busy| *busy -= 1);
    }
}

/// How many distinct hints wait to be told before detail is given up.
const OUTBOX_MAX: usize = 10_000;

impl Shared {
    pub(crate) fn new(
        [pool, side, reads]: [Pool; 3],
        settings: Settings,
        identity: i64,
        (held, past, sessions): (Arc<KnownRuns>, Arc<Past>, Arc<Sessions>),
    ) -> Self {
        Self {
            pool,
            side,
            reads,
            prefix: format!("{}.", settings.schema),
            settings,
            identity,
            listeners: Listeners::default(),
            asks: Asks::default(),
            ahead: Ahead::default(),
            room: Room::default(),
            held,
            past,
            sessions,
            missing_rows: Mutex::default(),
            cursor: Mutex::default(),
            grace: Mutex::default(),
            growth: Growth::default(),
            joining: tokio::sync::Mutex::default(),
            claiming: tokio::sync::Mutex::default(),
            firing: tokio::sync::Mutex::default(),
            sweeping: tokio::sync::Mutex::default(),
            outbox: Mutex::default(),
            told: Notify::new(),
            passed: Mutex::default(),
            passed_over: Notify::new(),
            now: AtomicI64::new(i64::MIN),
            stamp: AtomicI64::new(0),
            fence: AtomicU64::new(0),
            woken: AtomicI64::new(i64::MIN),
            member: Mutex::default(),
            session: Mutex::default(),
            unwatched: AtomicBool::new(false),
            contact: Mutex::default(),
            stopping: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            busy: watch::Sender::new(0),
        }
    }

    /// A connection. A store that is closed has none.
    pub(crate) async fn lend(&self) -> Outcome<Lent> {
        if self.is_closing() {
            return Err(Fault::Said(bowline_store::Error::Shut));
        }
        self.lend_of(&self.pool).await
    }

    /// One of those that calls do not use. Nothing else is waited for on it: a lease depends on it.
    pub(crate) async fn lend_aside(&self) -> Outcome<Lent> {
        Lent::from(&self.side, self.settings.patience, &self.sessions).await
    }

    /// One of those for lists and subtrees.
    pub(crate) async fn lend_to_read(&self) -> Outcome<Lent> {
        if self.is_closing() {
            return Err(Fault::Said(bowline_store::Error::Shut));
        }
        self.lend_of(&self.reads).await
    }

    /// Nobody gets one before what was given up before is over.
    async fn lend_of(&self, pool: &Pool) -> Outcome<Lent> {
        let patience = self.settings.patience;
        let lent = Lent::from(pool, patience, &self.sessions).await?;
        if self.sessions.are_left() {
            self.sessions.end(Db::own(&lent, self), patience).await?;
        }
        Ok(lent)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// A call begins, unless nothing new is begun.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Busy> {
        self.busy.send_modify(|busy| *busy += 1);
        let busy = Busy(self.clone());
        (!self.stopping.load(Ordering::SeqCst)).then_some(busy)
    }

    /// No more calls, and no answers to questions that are open.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.asks.shut();
    }

    /// Waits until no call is on its way.
    pub(crate) async fn rest(&self) {
        let _ = self.busy.subscribe().wait_for(|busy| *busy == 0).await;
    }

    /// Lets go of all connections.
    pub(crate) fn close(&self) {
        self.stop();
        self.closing.store(true, Ordering::SeqCst);
        self.ahead.close();
        self.room.close();
        self.pool.close();
        self.side.close();
        self.reads.close();
    }

    // Hints.

    /// Tells everybody, here and in other processes.
    pub(crate) fn tell(&self, hints: BTreeSet<Hint>) {
        if hints.is_empty() {
            return;
        }
        self.tell_others(&hints);
        self.tell_here(hints);
    }

    /// Tells other processes only, soon.
    pub(crate) fn tell_others(&self, hints: &BTreeSet<Hint>) {
        if !self.settings.hints {
            return;
        }
        let mut outbox = self.outbox.lock();
        outbox.extend(hints.iter().cloned());
        if outbox.len() > OUTBOX_MAX {
            *outbox = BTreeSet::from([Hint::Everything]);
        }
        self.told.notify_one();
    }

    /// Tells this process only.
    pub(crate) fn tell_here(&self, hints: BTreeSet<Hint>) {
        let hints: Vec<Hint> = hints.into_iter().collect();
        self.listeners.tell(&hints);
    }

    /// Has this process told in a moment: something was passed over that may be free by then.
    pub(crate) fn look_again(&self, hints: impl IntoIterator<Item = Hint>) {
        self.passed.lock().extend(hints);
        self.passed_over.notify_one();
    }

    pub(crate) fn take_passed(&self) -> BTreeSet<Hint> {
        std::mem::take(&mut self.passed.lock())
    }

    pub(crate) fn take_outbox(&self) -> BTreeSet<Hint> {
        std::mem::take(&mut self.outbox.lock())
    }

    // Numbers that are given out.

    /// A place in a queue, after all that were given out before. Between processes it is the wall
    /// clock that keeps the order, more or less: nothing but fairness hangs on it.
    pub(crate) fn stamp(&self) -> i64 {
        self.stamps(1) + 1
    }

    /// So many places, one after the other: those after the answer.
    pub(crate) fn stamps(&self, count: usize) -> i64 {
        let count = i64::try_from(count).unwrap_or(i64::MAX / 4);
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i64::try_from(wall.as_micros()).unwrap_or(0);
        let next = |last: i64| Some(last.max(wall).saturating_add(count));
        let last = self.stamp.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        last.unwrap_or_else(|last| last).max(wall)
    }

    /// So many fences, one after the other: those after the answer. An epoch belongs to one
    /// process, so no two of them are ever the same.
    pub(crate) fn fences(&self, count: usize) -> u64 {
        self.fence.fetch_add(count as u64, Ordering::SeqCst)
    }

    // The member.

    /// Who this process is from now on.
    pub(crate) fn set_member(&self, member: (Epoch, Duration)) {
        *self.member.lock() = Some(member);
    }

    pub(crate) fn member(&self) -> Option<(Epoch, Duration)> {
        *self.member.lock()
    }

    /// The session by which others know that this process lives, if it has one.
    pub(crate) fn session(&self) -> Option<Session> {
        *self.session.lock()
    }

    pub(crate) fn set_session(&self, session: Session) {
        *self.session.lock() = Some(session);
    }

    /// A session is over; true if it was the one that counts.
    pub(crate) fn end_session(&self, session: Session) -> bool {
        let mut own = self.session.lock();
        let is_own = *own == Some(session);
        if is_own {
            *own = None;
        }
        is_own
    }

    pub(crate) fn lease(&self, epoch: Epoch, lease: Duration) {
        if let Some((own, length)) = self.member.lock().as_mut()
            && *own == epoch
        {
            *length = lease;
        }
    }

    /// A call that was made after this moment has extended the lease of a member.
    pub(crate) fn in_contact(&self, epoch: Epoch, since: Instant) {
        let mut contact = self.contact.lock();
        let newer = contact.is_none_or(|(own, before)| own != epoch || before < since);
        if newer {
            *contact = Some((epoch, since));
        }
    }

    /// For how long nothing is known to have extended the lease of this member.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let (epoch, _) = self.member()?;
        let (_, since) = self.contact.lock().filter(|(own, _)| *own == epoch)?;
        Some(since.elapsed())
    }

    pub(crate) fn forget_member(&self, epoch: Epoch) {
        let mut member = self.member.lock();
        if member.is_some_and(|(own, _)| own == epoch) {
            *member = None;
        }
    }

    // Time.

    /// The latest moment that anybody has spoken of.
    pub(crate) fn now(&self) -> Time {
        Time(self.now.load(Ordering::Relaxed))
    }

    /// A call says what time it is. Questions that nobody answered by then are over.
    pub(crate) fn clock(&self, now: Time) {
        let before = self.now.fetch_max(now.0, Ordering::Relaxed);
        if now.0 > before {
            self.asks.expire(now);
        }
    }

    /// Since when retries that became due have not been hinted at; none if up to this moment all
    /// were.
    pub(crate) fn woken_until(&self, now: Time) -> Option<Time> {
        let before = self.woken.fetch_max(now.0, Ordering::SeqCst);
        (before < now.0).then_some(Time(before))
    }
}
