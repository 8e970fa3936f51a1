//! What the running code, its supervisor and the senders of notices know in common.
//!
//! Everything that races is settled under one lock: whichever of "the code returned", "a notice
//! came", "a limit passed" and "it was given up" takes it first came first.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use bowline_core::{Cause, Code, Ladder, Payload, Time, Timeout};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    Assignment, MayRun, Passing, Probe, Spawn,
    ending::{Finish, How},
    log,
    notice::{Notice, Orders, Told},
    supervise::Resting,
    tracked::{Kind, Tracked},
};
use crate::clock::Clock;

/// Who is asked on the way.
pub(super) struct Hooks {
    pub(super) probe: Option<Arc<dyn Probe>>,
    pub(super) may_run: Option<MayRun>,
}

pub(super) struct AttemptShared {
    pub(super) assignment: Assignment,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) spawn: Arc<dyn Spawn>,
    asked: Hooks,
    pub(super) tracked: Tracked,
    /// The code must stop now.
    pub(super) told: CancellationToken,
    /// The code will have to stop.
    pub(super) stopping: CancellationToken,
    /// Futures are dropped.
    pub(super) abort: CancellationToken,
    /// Wakes the supervisor, and nobody else.
    pub(super) changed: Notify,
    /// The supervisor, while nothing has happened that it would have to look at.
    resting: Mutex<Option<Resting>>,
    /// As `told`, for code that asks in every turn of a loop.
    is_told: AtomicBool,
    /// Alive as long as any clone of the context is.
    pub(super) contexts: Weak<()>,
    state: Mutex<AttemptState>,
}

struct AttemptState {
    orders: Orders,
    observed_at: Option<Time>,
    /// The code was given a token of which nobody knows whether it is looked at.
    has_token: bool,
    heard_at: Time,
    beat: Option<Option<Payload>>,
    /// The code has said something about its progress.
    has_spoken: bool,
    finish: Option<Finish>,
    has_finished: bool,
    /// The attempt was ended without its code.
    is_ended_early: bool,
}

/// What the supervisor sees when it looks.
pub(super) struct Look {
    pub(super) word: Told,
    pub(super) is_told: bool,
    pub(super) until: Option<Time>,
    pub(super) ladder: Ladder,
    pub(super) drain_due: Option<Time>,
    pub(super) delivered_at: Option<Time>,
    pub(super) observed_at: Option<Time>,
    pub(super) heard_at: Time,
    pub(super) has_beat: bool,
    pub(super) has_finished: bool,
}

impl AttemptShared {
    /// `contexts` is what the clones of the context will hold.
    pub(super) fn new(
        assignment: Assignment,
        clock: Arc<dyn Clock>,
        spawn: Arc<dyn Spawn>,
        asked: Hooks,
        contexts: Weak<()>,
    ) -> Arc<Self> {
        let state = AttemptState {
            orders: Orders::new(assignment.spec.ladder),
            observed_at: None,
            has_token: false,
            heard_at: assignment.started_at,
            beat: None,
            has_spoken: false,
            finish: None,
            has_finished: false,
            is_ended_early: false,
        };
        Arc::new(Self {
            assignment,
            clock,
            spawn,
            asked,
            tracked: Tracked::default(),
            told: CancellationToken::new(),
            stopping: CancellationToken::new(),
            abort: CancellationToken::new(),
            changed: Notify::new(),
            resting: Mutex::new(None),
            is_told: AtomicBool::new(false),
            contexts,
            state: Mutex::new(state),
        })
    }

    // What comes from outside.

    pub(super) fn tell(&self, notice: Notice) -> bool {
        let now = self.clock.now();
        let (kind, cause) = (notice.kind(), notice.cause().clone());
        let mut state = self.state.lock();
        if state.has_finished {
            drop(state);
            log!(debug, self.assignment, kind, %cause, "a notice came after the code had ended");
            return false;
        }
        let is_cancel = matches!(notice, Notice::Cancel { .. });
        if is_cancel && self.asked.probe.is_some() {
            drop(state);
            if !self.passes(Passing::BeforeDelivered) {
                return true;
            }
            state = self.state.lock();
        }
        let is_news = state.orders.take(notice, now);
        let is_told = state.orders.is_told();
        drop(state);
        self.fire(is_told);
        if is_cancel && is_news {
            self.passes(Passing::Delivered);
        }
        if is_news {
            log!(info, self.assignment, kind, %cause, is_told, "the code was told to stop");
        }
        self.wake();
        true
    }

    /// There is nothing to look at: the supervisor begins when there is.
    pub(super) fn rest(&self, resting: Resting) {
        *self.resting.lock() = Some(resting);
    }

    /// There is something for the supervisor to look at.
    pub(super) fn wake(&self) {
        let resting = self.resting.lock().take();
        match resting {
            Some(resting) => resting.wake(),
            None => self.changed.notify_one(),
        }
    }

    /// Fires the tokens. They wake whoever waits, so nothing may be locked here.
    fn fire(&self, is_told: bool) {
        self.stopping.cancel();
        if is_told {
            self.is_told.store(true, Ordering::Release);
            self.told.cancel();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().has_finished
    }

    /// Whether the code has ever heartbeat.
    pub(super) fn has_spoken(&self) -> bool {
        self.state.lock().has_spoken
    }

    // What comes from the code.

    /// Whether the code must stop now. If so, it knows from now on.
    pub(super) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Acquire) && self.observe()
    }

    /// The code has looked. False if it may not go on.
    pub(super) fn observe(&self) -> bool {
        if !self.would_be_first() {
            return true;
        }
        if !self.passes(Passing::BeforeObserved) {
            return false;
        }
        let now = self.clock.now();
        self.state.lock().observed_at.get_or_insert(now);
        log!(debug, self.assignment, "the code knows that it is cancelled");
        self.wake();
        self.passes(Passing::Observed)
    }

    /// Whether the code is cancelled, and has not looked before.
    fn would_be_first(&self) -> bool {
        let state = self.state.lock();
        state.observed_at.is_none() && state.orders.cancelled_at().is_some() && !state.has_finished
    }

    /// Something begins that takes real time, until what this gives is dropped.
    pub(super) fn begins_real(&self) -> Option<Box<dyn Send>> {
        self.asked.probe.as_ref().and_then(|probe| probe.begins_real())
    }

    /// Whoever looks on is told on the spot; nothing may be locked here.
    fn passes(&self, at: Passing) -> bool {
        self.asked.probe.as_ref().is_none_or(|probe| probe.passes(&self.assignment, at))
    }

    /// Whether code may be polled now.
    pub(super) fn may_be_polled(&self) -> bool {
        self.asked.may_run.as_ref().is_none_or(|ask| ask())
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        let state = self.state.lock();
        let ended = || Cause::new(Code::ScopeExit).detail("the activity's own code has ended");
        state.orders.cause().cloned().or_else(|| state.has_finished.then(ended))
    }

    pub(super) fn give_token(&self) -> CancellationToken {
        self.state.lock().has_token = true;
        // A child, so that code that fires its own token does not fire ours.
        self.told.child_token()
    }

    pub(super) fn beat(&self, details: Option<Payload>) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        state.heard_at = now;
        state.has_spoken = true;
        let before = state.beat.take().flatten();
        state.beat = Some(details.or(before));
        drop(state);
        self.wake();
    }

    /// Something is started through the context, unless its code has ended.
    pub(super) fn track(self: &Arc<Self>, kind: Kind) -> Option<Begun> {
        self.tracked.add(kind).then(|| Begun { shared: Arc::clone(self), kind })
    }

    /// The code begins; false if it was told to stop before.
    pub(super) fn may_run(&self) -> bool {
        let state = self.state.lock();
        state.orders.word() == Told::None && !state.is_ended_early
    }

    /// The code has ended.
    pub(super) fn finish(&self, how: How) {
        if self.note_finish(how) {
            self.wake();
        }
    }

    /// The same, where its supervisor may look at once: on the thread of the code, which has
    /// nothing else to do.
    pub(super) fn finish_here(&self, how: How) {
        if !self.note_finish(how) {
            return;
        }
        let resting = self.resting.lock().take();
        match resting {
            Some(resting) => resting.look(),
            None => self.changed.notify_one(),
        }
    }

    /// False if it had ended before.
    fn note_finish(&self, how: How) -> bool {
        let now = self.clock.now();
        let mut state = self.state.lock();
        if state.has_finished {
            return false;
        }
        let word = state.orders.word();
        let stopped = matches!(how, How::Returned(Err(_))) && word == Told::Cancel;
        if stopped && state.has_token && state.observed_at.is_none() {
            // It held a token and stopped: it has looked at the latest now.
            state.observed_at = Some(now);
        }
        let (is_late, is_cut) = (state.is_ended_early, state.orders.is_cut());
        state.finish = Some(Finish { how, word, is_late, is_cut });
        state.has_finished = true;
        true
    }

    // What the supervisor does.

    pub(super) fn look(&self) -> Look {
        let state = self.state.lock();
        let orders = &state.orders;
        Look {
            word: orders.word(),
            is_told: orders.is_told(),
            until: orders.until(),
            ladder: orders.ladder(),
            drain_due: orders.drain_due(),
            delivered_at: orders.cancelled_at(),
            observed_at: state.observed_at,
            heard_at: state.heard_at,
            has_beat: state.beat.is_some(),
            has_finished: state.has_finished,
        }
    }

    /// Time has passed: a drain may have turned into a stop.
    pub(super) fn pass(&self, now: Time) {
        let mut state = self.state.lock();
        let was_told = state.orders.is_told();
        state.orders.pass(now);
        let is_told = state.orders.is_told();
        drop(state);
        if is_told && !was_told {
            self.fire(true);
            log!(info, self.assignment, "the drain is near its deadline: the code was told");
        }
    }

    /// A limit has passed. False if the code ended, or was told to stop, before.
    pub(super) fn time_out(&self, timeout: Timeout, now: Time) -> bool {
        let mut state = self.state.lock();
        if state.has_finished || state.orders.is_told() {
            return false;
        }
        state.orders.time_out(timeout, now);
        state.is_ended_early = true;
        drop(state);
        self.fire(true);
        true
    }

    /// The code was given up: its end, if it comes, is late. False if it has ended before.
    pub(super) fn give_up(&self) -> bool {
        let mut state = self.state.lock();
        state.is_ended_early |= !state.has_finished;
        !state.has_finished
    }

    /// The end of the code; taken once.
    pub(super) fn take_finish(&self) -> Option<Finish> {
        self.state.lock().finish.take()
    }

    pub(super) fn take_beat(&self) -> Option<Option<Payload>> {
        self.state.lock().beat.take()
    }

    /// The code has ended: whatever it started is stopped as well. True if a process was killed.
    pub(super) fn close(&self) -> bool {
        let has_killed = self.tracked.close();
        self.abort.cancel();
        // Threads can only be told.
        self.fire(true);
        has_killed
    }
}

/// Something that was started through the context; dropped when it has ended.
pub(super) struct Begun {
    shared: Arc<AttemptShared>,
    kind: Kind,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.shared.tracked.end(self.kind);
        self.shared.changed.notify_one();
    }
}
