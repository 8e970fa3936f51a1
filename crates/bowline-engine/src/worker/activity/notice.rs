//! What an attempt is told from outside, and what all of it together means.
//!
//! A cancel belongs to the activity: its first cause stays, and a later one may only hasten the
//! ladder. A stop belongs to the attempt, and a cancel replaces it. A drain is a stop with a
//! delay: the code may see it coming, and is told in time to be gone at the deadline.

use std::time::Duration;

use bowline_core::{Cause, Code, Ladder, Time, Timeout};

/// What a running attempt is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// Its activity is cancelled.
    Cancel {
        /// Why.
        cause: Cause,
        /// When that was decided.
        decided_at: Time,
        /// How it is to be stopped, instead of as its activity says. Of a second cancel only
        /// what is quicker counts.
        ladder: Option<Ladder>,
    },
    /// This attempt must stop; the activity may be tried again.
    Stop {
        /// Why.
        cause: Cause,
    },
    /// The same, at once: there is no grace.
    Cut {
        /// Why.
        cause: Cause,
    },
    /// The worker shuts down.
    Drain {
        /// Why.
        cause: Cause,
        /// Code that still runs then is aborted; it is told one grace period earlier.
        deadline: Time,
    },
}

impl Notice {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Cancel { .. } => "cancel",
            Self::Stop { .. } => "stop",
            Self::Cut { .. } => "cut",
            Self::Drain { .. } => "drain",
        }
    }

    pub(super) fn cause(&self) -> &Cause {
        match self {
            Self::Cancel { cause, .. } | Self::Drain { cause, .. } => cause,
            Self::Stop { cause } | Self::Cut { cause } => cause,
        }
    }
}

/// The strongest thing that an attempt was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// Nothing.
    #[default]
    None,
    /// The worker shuts down.
    Drain,
    /// This attempt must stop.
    Stop,
    /// The activity is cancelled.
    Cancel,
}

#[derive(Clone, Debug)]
struct Order {
    cause: Cause,
    at: Time,
}

/// Everything that an attempt was told, as one.
#[derive(Debug)]
pub(super) struct Orders {
    ladder: Ladder,
    cancel: Option<Order>,
    stop: Option<Order>,
    drain: Option<(Order, Time)>,
    /// The end of the grace period; set once the code has been told.
    until: Option<Time>,
    is_cut: bool,
}

impl Orders {
    pub(super) fn new(ladder: Ladder) -> Self {
        Self { ladder, cancel: None, stop: None, drain: None, until: None, is_cut: false }
    }

    /// Takes a notice in. True if it changed anything: the same one may come many times.
    pub(super) fn take(&mut self, notice: Notice, now: Time) -> bool {
        let before = (self.word(), self.until, self.drain_due(), self.ladder);
        match notice {
            Notice::Cancel { cause, ladder, .. } => self.cancel(cause, ladder, now),
            Notice::Stop { cause } => self.stop(cause, now),
            Notice::Cut { cause } => self.cut(cause, now),
            Notice::Drain { cause, deadline } => self.drain(cause, deadline, now),
        }
        before != (self.word(), self.until, self.drain_due(), self.ladder)
    }

    /// A limit has passed: a stop, made here.
    pub(super) fn time_out(&mut self, timeout: Timeout, now: Time) {
        let cause = Cause::new(Code::AttemptTimedOut).detail(format!("{timeout:?}"));
        self.stop(cause, now);
    }

    /// The moment at which a drain turns into a stop, if that is still to come.
    pub(super) fn drain_due(&self) -> Option<Time> {
        let (_, deadline) = self.drain.as_ref().filter(|_| self.until.is_none())?;
        Some(before(*deadline, self.ladder.grace.0))
    }

    /// Time has passed: a drain may have turned into a stop.
    pub(super) fn pass(&mut self, now: Time) {
        if self.drain_due().is_some_and(|due| due <= now) {
            self.fire(now);
        }
    }

    /// The strongest thing that was said.
    pub(super) fn word(&self) -> Told {
        if self.cancel.is_some() {
            Told::Cancel
        } else if self.stop.is_some() {
            Told::Stop
        } else if self.drain.is_some() {
            Told::Drain
        } else {
            Told::None
        }
    }

    /// Why: the cancel's cause before the stop's before the drain's.
    pub(super) fn cause(&self) -> Option<&Cause> {
        let drain = self.drain.as_ref().map(|(order, _)| order);
        self.cancel.as_ref().or(self.stop.as_ref()).or(drain).map(|order| &order.cause)
    }

    /// Whether the code has been told to stop now.
    pub(super) fn is_told(&self) -> bool {
        self.until.is_some()
    }

    /// When a cancel arrived.
    pub(super) fn cancelled_at(&self) -> Option<Time> {
        self.cancel.as_ref().map(|order| order.at)
    }

    /// The end of the grace period; unset while the code has not been told.
    pub(super) fn until(&self) -> Option<Time> {
        self.until
    }

    /// Whether it was to end at once.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How it is to be stopped.
    pub(super) fn ladder(&self) -> Ladder {
        self.ladder
    }

    fn cancel(&mut self, cause: Cause, ladder: Option<Ladder>, now: Time) {
        let is_first = self.cancel.is_none();
        let replaces = is_first && !self.is_told() && !cause.only_hastens();
        if is_first {
            self.cancel = Some(Order { cause, at: now });
        }
        match ladder {
            Some(ladder) if replaces => self.ladder = ladder,
            Some(ladder) => self.hasten(ladder, now),
            None => {}
        }
        if is_first {
            self.fire(now);
        }
    }

    fn stop(&mut self, cause: Cause, now: Time) {
        if self.stop.is_none() {
            self.stop = Some(Order { cause, at: now });
            self.fire(now);
        }
    }

    fn cut(&mut self, cause: Cause, now: Time) {
        self.stop(cause, now);
        self.is_cut = true;
        self.until = self.until.map(|until| until.min(now));
    }

    fn drain(&mut self, cause: Cause, deadline: Time, now: Time) {
        let (order, earlier) = self.drain.take().unwrap_or((Order { cause, at: now }, deadline));
        let deadline = deadline.min(earlier);
        self.drain = Some((order, deadline));
        self.until = self.until.map(|until| until.min(deadline));
        self.pass(now);
    }

    fn hasten(&mut self, ladder: Ladder, now: Time) {
        self.until = self.until.map(|until| until.min(now.after(ladder.grace.0)));
        self.ladder = self.ladder.hastened(ladder);
    }

    /// The code is told now. Whoever was told before keeps the shorter grace period.
    fn fire(&mut self, now: Time) {
        let own = now.after(self.ladder.grace.0);
        let told = self.until.unwrap_or(Time::MAX);
        let drained = self.drain.as_ref().map_or(Time::MAX, |(_, deadline)| *deadline);
        self.until = Some(own.min(told).min(drained));
    }
}

fn before(at: Time, span: Duration) -> Time {
    Time(at.0.saturating_sub(Time::default().after(span).0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::{Ladders, Span};

    fn seconds(n: u64) -> Time {
        Time::default().after(Duration::from_secs(n))
    }

    fn ladder(grace: u64, step: u64, detach: bool) -> Ladder {
        let span = |n| Span(Duration::from_secs(n));
        Ladder { grace: span(grace), step: span(step), detach }
    }

    fn orders() -> Orders {
        Orders::new(ladder(10, 5, false))
    }

    fn cancel(by: &str, ladder: Option<Ladder>) -> Notice {
        let cause = Cause::requested("enough", by);
        Notice::Cancel { cause, decided_at: Time(0), ladder }
    }

    fn stop() -> Notice {
        Notice::Stop { cause: Cause::new(Code::LeaseLost) }
    }

    fn drain(deadline: u64) -> Notice {
        Notice::Drain { cause: Cause::new(Code::WorkerDrain), deadline: seconds(deadline) }
    }

    #[test]
    fn the_first_cause_of_a_cancel_stays() {
        let mut orders = orders();
        assert!(orders.take(cancel("alice", None), seconds(1)));
        assert!(!orders.take(cancel("bob", None), seconds(9)), "it changes nothing");
        assert_eq!(orders.cause().unwrap().requested_by.as_str(), "alice");
        assert_eq!((orders.cancelled_at(), orders.until()), (Some(seconds(1)), Some(seconds(11))));
    }

    #[test]
    fn a_second_cancel_may_hasten_and_never_delay() {
        let mut orders = orders();
        orders.take(cancel("alice", Some(ladder(20, 4, true))), seconds(0));
        assert_eq!((orders.until(), orders.ladder()), (Some(seconds(20)), ladder(20, 4, true)));
        orders.take(cancel("bob", Some(ladder(60, 9, true))), seconds(1));
        assert_eq!((orders.until(), orders.ladder()), (Some(seconds(20)), ladder(20, 4, true)));
        orders.take(cancel("carol", Some(ladder(0, 1, false))), seconds(2));
        assert_eq!(orders.until(), Some(seconds(2)));
        assert_eq!(
            (orders.ladder().step, orders.ladder().detach),
            (ladder(0, 1, false).step, false)
        );
    }

    #[test]
    fn k7_a_ladder_that_came_later_never_gives_more_time() {
        let ladders = Ladders { activities: Some(ladder(60, 2, false)), run: None, hastens: true };
        let cause = Cause::requested("enough", "alice");
        let cause = Cause { ladders: Some(Box::new(ladders)), ..cause };
        let asked = cause.activity_ladder();
        let mut orders = orders();
        orders.take(Notice::Cancel { cause, decided_at: Time(0), ladder: asked }, seconds(0));
        assert_eq!((orders.until(), orders.ladder()), (Some(seconds(10)), ladder(10, 2, false)));
    }

    #[test]
    fn a_cancel_replaces_a_stop_and_gives_no_new_grace() {
        let mut orders = orders();
        orders.take(stop(), seconds(0));
        assert_eq!((orders.word(), orders.cause().unwrap().code), (Told::Stop, Code::LeaseLost));
        orders.take(cancel("alice", Some(ladder(60, 60, false))), seconds(4));
        assert_eq!((orders.word(), orders.cause().unwrap().code), (Told::Cancel, Code::Requested));
        assert_eq!(orders.until(), Some(seconds(10)));
        orders.take(stop(), seconds(5));
        assert_eq!(orders.cause().unwrap().code, Code::Requested);
    }

    #[test]
    fn a_drain_tells_the_code_one_grace_period_before_its_deadline() {
        let mut orders = orders();
        orders.take(drain(30), seconds(0));
        assert_eq!((orders.word(), orders.is_told()), (Told::Drain, false));
        assert_eq!(orders.drain_due(), Some(seconds(20)));
        orders.pass(Time(seconds(20).0 - 1));
        assert!(!orders.is_told());
        orders.pass(seconds(20));
        assert_eq!((orders.until(), orders.drain_due()), (Some(seconds(30)), None));
    }

    #[test]
    fn a_short_drain_tells_at_once_and_a_second_one_only_hastens() {
        let mut orders = orders();
        orders.take(drain(60), seconds(0));
        orders.take(drain(90), seconds(1));
        assert_eq!(orders.drain_due(), Some(seconds(50)));
        orders.take(drain(7), seconds(2));
        assert_eq!(orders.until(), Some(seconds(7)));
    }

    #[test]
    fn a_cancel_during_a_drain_is_told_at_once_and_ends_with_the_drain() {
        let mut orders = orders();
        orders.take(drain(30), seconds(0));
        orders.take(cancel("alice", None), seconds(25));
        assert_eq!((orders.word(), orders.until()), (Told::Cancel, Some(seconds(30))));
    }

    #[test]
    fn who_is_cut_off_has_no_grace() {
        let mut orders = orders();
        assert!(orders.take(Notice::Cut { cause: Cause::new(Code::LeaseLost) }, seconds(3)));
        assert_eq!((orders.word(), orders.until()), (Told::Stop, Some(seconds(3))));
        let mut told = self::orders();
        told.take(cancel("alice", None), seconds(1));
        assert!(told.take(Notice::Cut { cause: Cause::new(Code::LeaseLost) }, seconds(4)));
        assert_eq!(
            (told.word(), told.until(), told.is_cut()),
            (Told::Cancel, Some(seconds(4)), true)
        );
    }

    #[test]
    fn a_passed_limit_is_a_stop() {
        let mut orders = orders();
        orders.time_out(Timeout::Heartbeat, seconds(3));
        assert_eq!(orders.cause().unwrap().to_string(), "attempt_timed_out (Heartbeat)");
        assert_eq!(orders.until(), Some(seconds(13)));
    }
}
