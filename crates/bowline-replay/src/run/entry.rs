//! The things that a run has asked for: activities, timers, children, requests to others.
//!
//! A thing is `stopped` when its scope need not wait for it any longer, and `over` when history
//! says how it ended. A cancelled timer stops at once and is over with the turn.

use std::{
    collections::BTreeSet,
    rc::Rc,
    task::{Poll, Waker},
};

use bowline_core::{
    Cause, Code, EventId, ExternalRefusal, Name, Outcome, Payload, Ranges, Rung, ScopeId,
    planted::{Defect, planted},
};

use super::{NOTHING, Run};
use crate::{
    Ended,
    run::asking::Dropped,
    scope::{Fate, Item, Leaving, Record},
};

/// What kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Activity,
    Timer,
    Child,
    /// A signal or cancel for another run: it cannot be cancelled, and no scope waits for it.
    External,
}

/// How a thing ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Activity(Outcome),
    Timer(Result<(), Cause>),
    Child(Result<Option<Payload>, Ended>),
    External(Result<(), ExternalRefusal>),
}

/// A thing that was asked for.
pub(crate) struct Entry {
    pub(crate) what: What,
    pub(crate) name: Name,
    /// The scope in which it was first polled.
    scope: ScopeId,
    /// Somebody has its handle, and wants its end.
    held: bool,
    detached: bool,
    stopped: bool,
    over: bool,
    /// Why it was cancelled by this run's code.
    cancel: Option<Rc<Cause>>,
    /// Why it was cancelled by an operator.
    operator: Option<Box<Cause>>,
    end: Option<Box<End>>,
    waker: Option<Waker>,
    /// The scope whose deadline it is.
    alarm_of: Option<ScopeId>,
}

impl Entry {
    fn new(what: What, name: Name, scope: ScopeId) -> Self {
        Self {
            what,
            name,
            scope,
            held: false,
            detached: false,
            stopped: false,
            over: false,
            cancel: None,
            operator: None,
            end: None,
            waker: None,
            alarm_of: None,
        }
    }

    /// It was cancelled by the run's code, and perhaps nobody has its handle any more.
    pub(super) fn cancelled_with(&mut self, cause: Rc<Cause>, gone: bool) {
        self.cancel = Some(cause);
        self.unhold_if(gone);
    }

    /// Nobody waits for it any more, if its handle is gone.
    fn unhold_if(&mut self, gone: bool) {
        if gone {
            self.held = false;
            self.waker = None;
        }
    }

    fn works(&self) -> bool {
        matches!(self.what, What::Activity | What::Child)
    }
}

impl Run {
    /// A thing was asked for, by somebody who holds its handle or has detached it.
    pub(crate) fn enlist(&mut self, number: EventId, what: What, name: Name, detached: bool) {
        if number == NOTHING {
            return;
        }
        let mut entry = Entry::new(what, name, self.current);
        entry.held = !detached;
        entry.detached = detached;
        if detached && entry.works() {
            self.asking.detached.insert(number);
        }
        if !detached && what != What::External {
            self.live += usize::from(entry.works());
            if let Some(record) = self.scopes.get_mut(&self.current) {
                record.members.insert(number);
                if what == What::Activity {
                    record.calls.insert(number);
                }
            }
        }
        self.entries.insert(number, entry);
    }

    /// The deadline of a scope was set as a timer.
    pub(crate) fn enlist_alarm(&mut self, number: EventId, scope: ScopeId) {
        let mut entry = Entry::new(What::Timer, Name::default(), scope);
        entry.alarm_of = Some(scope);
        self.entries.insert(number, entry);
    }

    /// The cancel of a child was asked for; whether it arrived is of no interest.
    pub(crate) fn enlist_answer(&mut self, number: EventId) {
        self.entries.insert(number, Entry::new(What::External, Name::default(), self.current));
    }

    /// True if there is an open thing of that kind under this number.
    pub(crate) fn knows(&self, number: EventId, what: What) -> bool {
        self.entries.get(&number).is_some_and(|entry| entry.what == what && !entry.over)
    }

    /// Whether the end of a thing would be noticed now: by somebody who was polled for it, or by
    /// a scope that is to be over. What nobody has asked for is noticed, as a mistake.
    pub(crate) fn waits_for(&self, number: EventId) -> bool {
        let Some(entry) = self.entries.get(&number) else { return true };
        if entry.alarm_of.is_some() || entry.waker.is_some() {
            return true;
        }
        let counts = !entry.stopped && !entry.detached && entry.what != What::External;
        counts && self.scopes.get(&entry.scope).is_none_or(|scope| !scope.is_open())
    }

    /// Whether somebody waits for something that will be in history: an end, a message, what has
    /// still to stop in a scope that is left.
    pub(crate) fn awaits_history(&self) -> bool {
        let awaits = |entry: &Entry| entry.alarm_of.is_some() || entry.waker.is_some();
        // Most likely what was awaited last still is: then the others need not be looked at.
        self.entries.get(&self.awaited).is_some_and(awaits)
            || self.entries.values().any(awaits)
            || self.signals.values().any(|mailbox| mailbox.is_awaited())
            || self.updates.values().any(|mailbox| mailbox.is_awaited())
            || self.scopes.values().any(|scope| !scope.is_open())
    }

    /// How many wakers scopes and shields keep, at most.
    pub(crate) fn kept_wakers(&self) -> usize {
        let keeps = |record: &Record| record.waker.is_some() || record.rest.is_some();
        self.scopes.values().filter(|record| keeps(record)).count()
    }

    /// Why an activity or child is cancelled that history says nothing more about.
    pub(crate) fn cause_of(&self, number: EventId) -> Cause {
        let entry = self.entries.get(&number);
        let own = entry.and_then(|entry| entry.cancel.as_ref()).or_else(|| self.wide_cause(number));
        let operator = || entry.and_then(|entry| entry.operator.as_deref());
        let cause = own.map(Rc::as_ref).or_else(operator);
        cause.cloned().unwrap_or_else(|| Cause::new(Code::Requested))
    }

    /// An operator cancelled an activity or a child; its end follows by itself.
    pub(crate) fn cancelled_by_operator(&mut self, number: EventId, cause: &Cause) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.operator.get_or_insert_with(|| Box::new(cause.clone()));
        }
    }

    /// History says how a thing that it [knows](Self::knows) ended.
    pub(crate) fn end(&mut self, number: EventId, end: End) {
        self.asking.dropped.remove(&number);
        self.asking.detached.remove(&number);
        let gone = self.end_wide(number);
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.unhold_if(gone);
        entry.over = true;
        if let Some(scope) = entry.alarm_of {
            self.entries.remove(&number);
            let rang = matches!(end, End::Timer(Ok(())));
            return self.alarm(scope, rang);
        }
        if !entry.detached
            && let Some((fate, result)) = fate(&end)
            && let Some(record) = self.scopes.get_mut(&entry.scope)
        {
            record.remember(fate, Item { name: entry.name.clone(), number, result });
        }
        // A timer that was cancelled earlier in this turn has told its holder so.
        entry.end.get_or_insert_with(|| Box::new(end));
        self.wakes.extend(entry.waker.take());
        let held = entry.held;
        self.release(number);
        if !held {
            self.entries.remove(&number);
        }
    }

    /// Cancelled activities that never started are over.
    pub(crate) fn skip(&mut self, skipped: &Ranges) {
        let skipped = self.skip_wide(skipped);
        let unheard = self.unheard(&skipped);
        self.forget(&unheard);
        for number in skipped.ids().filter(|number| !unheard.contains(*number)) {
            let cause = self.cause_of(number);
            let outcome = Outcome::Cancelled(cause, Rung::NeverStarted, None);
            self.end(number, End::Activity(outcome));
        }
    }

    /// True if all of these are activities that are open.
    pub(crate) fn knows_all(&self, numbers: &Ranges) -> bool {
        let open = |entry: &Entry| entry.what == What::Activity && !entry.over;
        self.not_wide(numbers).ranges().iter().all(|range| {
            let found = self.entries.range(range.first..=range.last);
            let count = found.filter(|(_, entry)| open(entry)).count() as u64;
            count == range.last.0 - range.first.0 + 1
        })
    }

    /// Those that nobody holds, and whose end no scope remembers: it need not be told.
    fn unheard(&self, numbers: &Ranges) -> Ranges {
        let mut unheard = Ranges::default();
        for range in numbers.ranges() {
            for (number, entry) in self.entries.range(range.first..=range.last) {
                let scope = self.scopes.get(&entry.scope);
                let remembered = scope.is_some_and(|record| record.remembers && !entry.detached);
                if !entry.held && !remembered && entry.alarm_of.is_none() {
                    unheard.push(*number);
                }
            }
        }
        unheard
    }

    /// Things that nobody will ask for again are over. They may be very many, so nothing is looked
    /// up for each.
    fn forget(&mut self, numbers: &Ranges) {
        if numbers.is_empty() {
            return;
        }
        self.asking.dropped.retain(|number, _| !numbers.contains(*number));
        self.asking.detached.retain(|number| !numbers.contains(*number));
        let mut scopes = BTreeSet::new();
        let mut live = self.live;
        self.entries.retain(|number, entry| {
            if !numbers.contains(*number) {
                return true;
            }
            if !entry.stopped && !entry.detached {
                live -= usize::from(entry.works());
                scopes.insert(entry.scope);
            }
            false
        });
        self.live = live;
        for scope in scopes {
            if let Some(record) = self.scopes.get_mut(&scope) {
                record.members.remove_all(numbers);
                record.calls.remove_all(numbers);
            }
            self.check(scope);
        }
    }

    /// The end of a thing, for its holder.
    pub(crate) fn take_end(&mut self, number: EventId, waker: &Waker) -> Poll<End> {
        let Some(entry) = self.entries.get_mut(&number) else { return Poll::Pending };
        let Some(end) = entry.end.take() else {
            match &mut entry.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
            self.awaited = number;
            return Poll::Pending;
        };
        entry.held = false;
        if entry.over {
            self.entries.remove(&number);
        }
        Poll::Ready(*end)
    }

    /// Cancels a thing, for a reason that arose in `scope`. The first reason stays.
    pub(crate) fn cancel(&mut self, number: EventId, cause: &Rc<Cause>, scope: ScopeId) {
        if self.wide_cause(number).is_some() {
            return;
        }
        let Some(entry) = self.entries.get_mut(&number) else { return };
        let done = entry.over || entry.end.is_some() || entry.cancel.is_some();
        if done || entry.what == What::External {
            return;
        }
        entry.cancel = Some(cause.clone());
        if let Some(record) = self.scopes.get_mut(&entry.scope) {
            record.calls.remove(number);
        }
        let dropped = Dropped { what: entry.what, scope, cause: cause.clone() };
        self.asking.dropped.insert(number, dropped);
        if entry.what == What::Timer {
            entry.end = Some(Box::new(End::Timer(Err(Cause::clone(cause)))));
            self.wakes.extend(entry.waker.take());
            self.release(number);
        }
    }

    /// The handle of a thing was dropped, and perhaps somebody said why.
    pub(crate) fn on_handle_dropped(
        &mut self,
        number: EventId,
        cause: impl FnOnce() -> Option<Rc<Cause>>,
    ) {
        // Of those it may be the turn of very many, and there is nothing to be done for each.
        if self.on_wide_handle_dropped(number) {
            return;
        }
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.held = false;
        entry.waker = None;
        if entry.over {
            self.entries.remove(&number);
            return;
        }
        let cause = cause();
        if cause.is_none() {
            self.asking.plain.push(number);
        }
        let cause = cause.unwrap_or_else(|| Rc::new(Cause::new(Code::FutureDropped)));
        self.cancel(number, &cause, self.current);
    }

    /// The body of a scope ended with the poll that began when `mark` things had been dropped
    /// plainly. What it dropped since was most likely dropped by its end: that is the better
    /// reason to give.
    pub(crate) fn drop_with(&mut self, scope: ScopeId, mark: usize, cause: &Rc<Cause>) {
        for number in self.asking.plain.split_off(mark.min(self.asking.plain.len())) {
            let dropped = self.asking.dropped.get_mut(&number);
            let Some(dropped) = dropped.filter(|dropped| dropped.scope == scope) else { continue };
            dropped.cause = cause.clone();
            if let Some(entry) = self.entries.get_mut(&number) {
                entry.cancel = Some(cause.clone());
            }
        }
    }

    /// The handle of a thing was given up on purpose: it goes on by itself.
    pub(crate) fn detach(&mut self, number: EventId) {
        self.single_out(number);
        self.release(number);
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.held = false;
        entry.detached = true;
        if entry.over {
            self.entries.remove(&number);
        } else if entry.works() && entry.cancel.is_none() {
            self.asking.detached.insert(number);
        }
    }

    /// The turn is at its end: its cancelled timers are over with it.
    pub(super) fn unset(&mut self, timer: EventId) {
        let Some(entry) = self.entries.get_mut(&timer) else { return };
        entry.over = true;
        if !entry.held {
            self.entries.remove(&timer);
        }
    }

    /// Nobody need wait for a thing any longer.
    fn release(&mut self, number: EventId) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        if entry.stopped || entry.detached || entry.alarm_of.is_some() {
            return;
        }
        entry.stopped = true;
        let (scope, works) = (entry.scope, entry.works());
        self.live -= usize::from(works);
        if let Some(record) = self.scopes.get_mut(&scope) {
            record.members.remove(number);
            record.calls.remove(number);
        }
        self.check(scope);
    }

    /// The deadline timer of a scope rang, or was unset by an operator.
    fn alarm(&mut self, scope: ScopeId, rang: bool) {
        if let Some(record) = self.scopes.get_mut(&scope) {
            record.alarm = None;
        }
        // One that rings after the body was done takes no value away.
        if rang && (self.is_open(scope) || planted(Defect::DeadlineAfterValue)) {
            let cause = self.passed(scope);
            self.leave(scope, Leaving::passing_on(cause).into());
        }
    }

    /// The deadline of a scope has passed.
    fn passed(&self, scope: ScopeId) -> Cause {
        Cause::new(Code::Deadline).detail(self.scope_name(scope))
    }
}

/// What a clean-up is told of a thing that ended so.
fn fate(end: &End) -> Option<(Fate, Option<Payload>)> {
    match end {
        End::Activity(Outcome::Completed(result)) => Some((Fate::Completed, result.clone())),
        End::Activity(Outcome::Cancelled(_, rung, details)) => {
            let fate = match rung {
                // Nobody has seen it end.
                Rung::Abandon | Rung::Unknown => Fate::Abandoned,
                _ => Fate::Cancelled,
            };
            Some((fate, details.clone()))
        }
        End::Child(Ok(result)) => Some((Fate::Completed, result.clone())),
        End::Child(Err(Ended::Cancelled(_))) => Some((Fate::Cancelled, None)),
        _ => None,
    }
}
