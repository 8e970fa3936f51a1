//! Activities that were cancelled together, because the scope that they belong to was left.
//!
//! They may be a hundred thousand, and a cancel is to be decided in time that does not grow with
//! them. So nothing is written for each: the whole set has the reason, and who of them is no longer
//! held. Those that end, or are detached, leave the set.

use std::rc::Rc;

use bowline_core::{Cancelled, Cause, Decision, EventId, Ranges, ScopeId};

use super::{Numbers, Run, asking::Dropped, entry::What};
use crate::limits;

/// Activities of one scope that were cancelled together and are not over.
pub(crate) struct Wide {
    scope: ScopeId,
    cause: Rc<Cause>,
    targets: Numbers,
    /// Those whose handles were dropped since.
    gone: Numbers,
    /// It was decided in this turn.
    is_new: bool,
}

impl Run {
    /// Cancels activities of a scope, none of which was cancelled before.
    pub(crate) fn cancel_calls(&mut self, scope: ScopeId, calls: Numbers, cause: &Rc<Cause>) {
        if calls.count() < limits::WIDE_FROM {
            return calls.ranges().ids().for_each(|number| self.cancel(number, cause, scope));
        }
        let (cause, gone) = (cause.clone(), Numbers::default());
        self.wide.push(Wide { scope, cause, targets: calls, gone, is_new: true });
    }

    /// How many were cancelled so in this turn and are not over.
    pub(crate) fn widely_cancelled(&self) -> u64 {
        self.wide.iter().filter(|wide| wide.is_new).map(|wide| wide.targets.count()).sum()
    }

    fn wide_of(&self, number: EventId) -> Option<usize> {
        self.wide.iter().position(|wide| wide.targets.contains(number))
    }

    /// Why an activity was cancelled together with others, if it was.
    pub(super) fn wide_cause(&self, number: EventId) -> Option<&Rc<Cause>> {
        self.wide_of(number).map(|at| &self.wide[at].cause)
    }

    /// The handle of one of them was dropped, if it is one.
    pub(super) fn on_wide_handle_dropped(&mut self, number: EventId) -> bool {
        let at = self.wide_of(number);
        at.map(|at| self.wide[at].gone.insert(number)).is_some()
    }

    /// One of them is over. True if its handle was dropped before.
    pub(super) fn end_wide(&mut self, number: EventId) -> bool {
        let Some(at) = self.wide_of(number) else { return false };
        let wide = &mut self.wide[at];
        wide.targets.remove(number);
        let gone = wide.gone.remove(number);
        if wide.targets.is_empty() {
            self.wide.swap_remove(at);
        }
        gone
    }

    /// One of them goes its own way: from now on it counts as cancelled for itself.
    pub(super) fn single_out(&mut self, number: EventId) {
        let Some(at) = self.wide_of(number) else { return };
        let Wide { scope, cause, is_new, .. } = &self.wide[at];
        let (scope, cause, is_new) = (*scope, cause.clone(), *is_new);
        let gone = self.end_wide(number);
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.cancelled_with(cause.clone(), gone);
        }
        if is_new {
            self.asking.dropped.insert(number, Dropped { what: What::Activity, scope, cause });
        }
    }

    /// Those of these that were not cancelled together with others.
    pub(super) fn not_wide(&self, numbers: &Ranges) -> Ranges {
        let known =
            self.wide.iter().flat_map(|wide| wide.targets.common(numbers).ranges().to_vec());
        let mut rest: Numbers = Numbers::of(numbers);
        rest.remove_all(&known.collect());
        rest.ranges()
    }

    /// Takes out those of these that nobody holds, and whose end no scope remembers: it need not be
    /// told. What is left of them is freed with the turn after this one. Tells the others.
    pub(super) fn skip_wide(&mut self, numbers: &Ranges) -> Ranges {
        let mut rest = Numbers::of(numbers);
        let mut scopes = Vec::new();
        for wide in &mut self.wide {
            let mut record = self.scopes.get_mut(&wide.scope);
            if record.as_ref().is_some_and(|record| record.remembers) {
                continue;
            }
            let over = wide.gone.common(numbers);
            if over.is_empty() {
                continue;
            }
            wide.targets.remove_all(&over);
            wide.gone.remove_all(&over);
            rest.remove_all(&over);
            self.live -= over.count() as usize;
            self.freed.push(over.take_from(&mut self.entries));
            if let Some(record) = &mut record {
                record.members.remove_all(&over);
            }
            scopes.push(wide.scope);
        }
        self.wide.retain(|wide| !wide.targets.is_empty());
        scopes.into_iter().for_each(|scope| self.check(scope));
        rest.ranges()
    }

    /// The drops of the turn as decisions, in the order of their first targets.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        let mut decisions = self.asking.decisions();
        for wide in self.wide.iter().filter(|wide| wide.is_new) {
            let (scope, cause) = (wide.scope, Cause::clone(&wide.cause));
            let (what, targets) = (Cancelled::Activities, wide.targets.ranges());
            let same = |d: &&mut Decision| d.what == what && d.scope == scope && d.cause == cause;
            match decisions.iter_mut().find(same) {
                Some(decision) => decision.targets = decision.targets.and(&targets),
                None => decisions.push(Decision { scope, what, targets, cause }),
            }
        }
        decisions.sort_by_key(|decision| decision.targets.ranges().first().copied());
        decisions
    }

    /// The turn is at its end: what it has decided is no news any more.
    pub(super) fn wide_is_told(&mut self) {
        self.wide.iter_mut().for_each(|wide| wide.is_new = false);
    }
}
