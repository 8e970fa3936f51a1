//! The loop beside the code: looks at what has happened, says it, and climbs the ladder.
//!
//! It owns the slot. The slot moves out once: when everything has ended, or when what is left was
//! given up; in either case with the report that says so, never before.

use std::sync::Arc;

use bowline_core::{Ending, Rung, Time, Timeout};
use tokio::sync::mpsc;

use super::{
    Ended, HEARTBEAT_PAUSE, Report, Spawn, What,
    ending::{Finish, How},
    ladder::Climb,
    log,
    notice::Told,
    outbox::Outbox,
    shared::{AttemptShared, Look},
};
use crate::{
    clock::Sleep,
    worker::slots::{Permit, StillRunning},
};

pub(super) struct Supervisor {
    shared: Arc<AttemptShared>,
    permit: Option<Permit>,
    /// Counts the code as leaked from its abandonment to its end.
    leaked: Option<StillRunning>,
    reports: mpsc::Sender<Report>,
    outbox: Outbox,
    climb: Climb,
    /// The last heartbeat was reported then.
    beat_at: Option<Time>,
    has_delivered: bool,
    has_observed: bool,
    /// The end of the code was seen, and what it started is being stopped.
    is_closed: bool,
    has_killed: bool,
    /// Processes were killed that the code had left behind.
    has_reaped: bool,
    has_ended: bool,
    is_given_up: bool,
    is_over: bool,
    /// Nobody listens to reports any more.
    is_unheard: bool,
}

impl Supervisor {
    pub(super) fn new(
        shared: Arc<AttemptShared>,
        permit: Permit,
        reports: mpsc::Sender<Report>,
    ) -> Self {
        Self {
            shared,
            permit: Some(permit),
            leaked: None,
            reports,
            outbox: Outbox::default(),
            climb: Climb::default(),
            beat_at: None,
            has_delivered: false,
            has_observed: false,
            is_closed: false,
            has_killed: false,
            has_reaped: false,
            has_ended: false,
            is_given_up: false,
            is_over: false,
            is_unheard: false,
        }
    }

    /// Begins to supervise; where there is nothing to look at yet, once there is.
    pub(super) fn begin_supervising(mut self, watch: &Arc<dyn Spawn>) {
        let (shared, watch) = (Arc::clone(&self.shared), Arc::clone(watch));
        // Whatever has a time is waited for where no code can be in the way.
        let rests = self.step().is_none() && self.outbox.is_empty();
        let resting = Resting { supervisor: self, watch };
        match rests {
            true => shared.rest(resting),
            false => resting.wake(),
        }
    }

    /// Says what there is to say, as far as there is room for it. True if that was the last of it.
    fn say(&mut self) -> bool {
        let reports = self.reports.clone();
        while let (true, Ok(place)) = (!self.outbox.is_empty(), reports.try_reserve()) {
            self.hand_over(place);
        }
        self.is_over && self.outbox.is_empty()
    }

    /// Until nothing of the attempt is left, and all of it was said.
    pub(super) async fn run(mut self) {
        let (shared, reports) = (Arc::clone(&self.shared), self.reports.clone());
        let mut timer: Option<(Time, Sleep)> = None;
        loop {
            let due = self.step();
            if self.is_over && self.outbox.is_empty() {
                return;
            }
            if timer.as_ref().map(|(at, _)| *at) != due {
                timer = due.map(|at| (at, shared.clock.sleep_until(at)));
            }
            tokio::select! {
                biased;
                () = shared.changed.notified() => {}
                place = reports.reserve(), if !self.outbox.is_empty() => match place {
                    Ok(place) => self.hand_over(place),
                    Err(_) => self.is_unheard = true,
                },
                () = wait(&mut timer), if timer.is_some() => timer = None,
            }
        }
    }

    /// Looks, and does whatever is due. Says when to look again.
    fn step(&mut self) -> Option<Time> {
        let now = self.shared.clock.now();
        self.shared.pass(now);
        self.check_limit(now);
        let look = self.shared.look();
        self.note(&look, now);
        if look.is_told && self.climb == Climb::Free {
            self.climb = Climb::Told;
        }
        if look.has_finished && !self.is_closed {
            self.close(now);
        }
        if self.is_closed && !self.is_over && self.shared.tracked.is_empty() {
            self.finish(now, &look);
        }
        if !self.is_over {
            self.climb(now, &look);
        }
        if self.is_unheard {
            self.outbox = Outbox::default();
            self.free_slot();
        }
        self.next_due(&look)
    }

    fn check_limit(&mut self, now: Time) {
        let look = self.shared.look();
        let Some((at, timeout)) = self.limit(&look) else { return };
        if at <= now && self.shared.time_out(timeout, now) {
            log!(warn, self.shared.assignment, ?timeout, "the attempt timed out");
            self.end(ended(Ending::TimedOut(timeout), &look));
        }
    }

    /// The limit that passes next, while limits count: code that was told to stop has its ladder.
    fn limit(&self, look: &Look) -> Option<(Time, Timeout)> {
        let counts = !look.has_finished && !look.is_told && !self.has_ended;
        counts.then(|| self.shared.assignment.limit(look.heard_at)).flatten()
    }

    /// Puts what is new into the outbox.
    fn note(&mut self, look: &Look, now: Time) {
        if let Some(marks) = self.shared.tracked.changed_processes() {
            self.outbox.push(What::Processes(marks));
        }
        if self.has_ended {
            return;
        }
        if let (Some(at), false) = (look.delivered_at, self.has_delivered) {
            self.has_delivered = true;
            self.outbox.push(What::Delivered { at });
        }
        if let (Some(at), false) = (look.observed_at, self.has_observed) {
            self.has_observed = true;
            self.outbox.push(What::Observed { at });
        }
        let is_due = look.has_finished || self.beat_due().is_none_or(|due| due <= now);
        if look.has_beat && is_due {
            self.beat_at = Some(now);
            let beat = self.shared.take_beat().expect("only the supervisor takes it");
            self.outbox.push(What::Heartbeat { details: beat });
        }
    }

    /// The code has ended: whatever it started is stopped with it.
    fn close(&mut self, now: Time) {
        self.is_closed = true;
        self.has_reaped = self.shared.close();
        if self.has_reaped {
            log!(warn, self.shared.assignment, "processes that the code left behind were killed");
        }
        if self.climb == Climb::Free {
            self.climb = Climb::Aborted(now);
        }
    }

    /// Nothing of the attempt is left.
    fn finish(&mut self, now: Time, look: &Look) {
        self.is_over = true;
        self.leaked = None;
        let finish = self.shared.take_finish();
        let rung = finish.as_ref().and_then(|finish| self.rung(finish));
        if self.is_given_up {
            self.push_late(finish);
            log!(info, self.shared.assignment, "code that was given up has ended after all");
            self.outbox.push(What::LeakEnded { at: now });
        } else if self.has_ended {
            self.push_late(finish);
            log!(info, self.shared.assignment, ?rung, "code that timed out has stopped");
            self.outbox.push(What::Stopped { at: now, rung });
        } else {
            let finish = finish.expect("the end of the code is taken once, and nobody has");
            self.log_finish(&finish);
            let (stopped_at, strays) = (Some(now), self.strays());
            let ended = ended(finish.ending(false), look);
            self.end(Ended { rung, stopped_at, strays, ..ended });
        }
    }

    fn climb(&mut self, now: Time, look: &Look) {
        let has_processes = self.shared.tracked.has_processes();
        match self.climb.climb(now, look.until, look.ladder, has_processes) {
            Some(Rung::Abort) => {
                log!(warn, self.shared.assignment, "the grace period is over: aborted");
                self.shared.abort.cancel();
            }
            Some(Rung::Kill) => {
                log!(warn, self.shared.assignment, "aborting did not help: its processes killed");
                self.has_killed |= self.shared.tracked.kill();
            }
            Some(_) => self.give_up(now, look),
            None => {}
        }
    }

    /// The last rung: what is left runs on, and nobody waits for it.
    fn give_up(&mut self, now: Time, look: &Look) {
        if !self.is_closed && !self.shared.give_up() {
            // It ended in this very moment, and what is left of it has not been told yet.
            self.climb = Climb::Aborted(now);
            return;
        }
        self.is_given_up = true;
        let finish = self.shared.take_finish();
        let leak = self.shared.tracked.leak(!self.is_closed);
        log!(error, self.shared.assignment, %leak, "given up: it runs on and cannot be stopped");
        if self.has_ended {
            self.push_late(finish);
            return self.outbox.push(What::Leaked(leak));
        }
        let rung = (look.word != Told::None).then_some(Rung::Abandon);
        let ending = match finish {
            Some(finish) => {
                self.log_finish(&finish);
                finish.ending(true)
            }
            None => Ending::Abandoned,
        };
        self.end(Ended { rung, leak: Some(leak), ..ended(ending, look) });
    }

    fn end(&mut self, ended: Ended) {
        let (ending, rung, strays) = (&ended.ending, ended.rung, ended.strays);
        log!(debug, self.shared.assignment, ?ending, ?rung, strays, "the attempt has ended");
        self.has_ended = true;
        self.outbox.push(What::Ended(ended));
    }

    fn push_late(&mut self, finish: Option<Finish>) {
        if let Some(late) = finish.filter(|finish| finish.is_late).and_then(Finish::late) {
            log!(warn, self.shared.assignment, "the code answered after its attempt had ended");
            self.outbox.push(What::Late(late));
        }
    }

    /// How far the attempt had to be pushed, all that it started included.
    fn rung(&self, finish: &Finish) -> Option<Rung> {
        Some(match finish.rung()? {
            own if self.has_killed => own.max(Rung::Kill),
            // It did what it was told, and left the rest to whoever stops it.
            Rung::Signal if self.has_reaped => Rung::Reap,
            own if self.has_reaped => own.max(Rung::Kill),
            own => own,
        })
    }

    /// How many clones of the context are left although everything that is known has ended.
    fn strays(&self) -> usize {
        let strays = self.shared.contexts.strong_count();
        if strays > 0 {
            log!(warn, self.shared.assignment, strays, "its context is held by code nobody knows");
        }
        strays
    }

    /// Each way to end has its own line, and in the grace period its own again.
    fn log_finish(&self, finish: &Finish) {
        let (assignment, is_told) = (&self.shared.assignment, finish.word != Told::None);
        match (&finish.how, is_told) {
            (How::Returned(Ok(_)), false) => log!(debug, assignment, "the code completed"),
            (How::Returned(Ok(_)), true) => {
                log!(info, assignment, "the code completed although it was told to stop");
            }
            (How::Returned(Err(failure)), false) => {
                log!(info, assignment, %failure, "the code failed");
            }
            (How::Returned(Err(failure)), true) => {
                log!(info, assignment, %failure, "the code stopped");
            }
            (How::Panicked(failure), is_told) => {
                let place = &failure.trace;
                log!(error, assignment, is_told, %failure, place, "the code panicked");
            }
            (How::Aborted, _) => log!(warn, assignment, "the code was aborted"),
            (How::NeverRan, _) => log!(info, assignment, "the code never ran"),
            (How::Vanished, _) => log!(warn, assignment, "the code's runtime was shut down"),
        }
    }

    /// Says the next thing. The slot is free before anybody can hear that it is.
    fn hand_over(&mut self, place: mpsc::Permit<'_, Report>) {
        let Some(what) = self.outbox.pop() else { return };
        if what.frees_slot() {
            self.free_slot();
        }
        let assignment = &self.shared.assignment;
        let (attempt, fence) = (assignment.key(), assignment.fence);
        place.send(Report { attempt, fence, what });
    }

    /// Lets the slot go, if nothing runs in it any more or what runs was given up.
    fn free_slot(&mut self) {
        if self.is_over {
            self.permit = None;
        } else if self.is_given_up {
            let permit = self.permit.take();
            self.leaked = permit.map(Permit::leak).or(self.leaked.take());
        }
    }

    fn beat_due(&self) -> Option<Time> {
        self.beat_at.map(|at| at.after(HEARTBEAT_PAUSE))
    }

    fn next_due(&self, look: &Look) -> Option<Time> {
        if self.is_over {
            return None;
        }
        let limit = self.limit(look).map(|(at, _)| at);
        let beat = self.beat_due().filter(|_| look.has_beat && !self.has_ended);
        let rung = self.climb.due(look.until, look.ladder);
        let drain = look.drain_due.filter(|_| !look.has_finished);
        [limit, beat, rung, drain].into_iter().flatten().min()
    }
}

impl Drop for Supervisor {
    /// Dropped in the middle of it, because its runtime shuts down or its engine was killed: no
    /// process may go on without anybody who watches it.
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.tracked.close();
        }
    }
}

/// A supervisor of which nobody has wanted anything yet. Most attempts end like that: then no
/// thread but their own is woken for them.
pub(super) struct Resting {
    supervisor: Supervisor,
    watch: Arc<dyn Spawn>,
}

impl Resting {
    /// Looks from now on.
    pub(super) fn wake(self) {
        self.watch.spawn(Box::pin(self.supervisor.run()));
    }

    /// Looks here and now. What is not over with that is waited for elsewhere.
    pub(super) fn look(mut self) {
        self.supervisor.step();
        if !self.supervisor.say() {
            self.wake();
        }
    }
}

/// An end of which nothing is known but what the attempt was told.
fn ended(ending: Ending, look: &Look) -> Ended {
    let (delivered_at, observed_at) = (look.delivered_at, look.observed_at);
    let (rung, stopped_at, leak, strays) = (None, None, None, 0);
    Ended { ending, rung, delivered_at, observed_at, stopped_at, leak, strays }
}

async fn wait(timer: &mut Option<(Time, Sleep)>) {
    match timer {
        Some((_, sleep)) => sleep.await,
        None => std::future::pending().await,
    }
}
