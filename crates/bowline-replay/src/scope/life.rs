//! The life of a scope: opened, left, waited for, cleaned up, over.
//!
//! Every step is taken here, in the run, by whatever event makes it possible. So a scope whose
//! future was dropped or forgotten comes to its end like any other.

use std::{
    rc::Rc,
    task::{Poll, Waker},
};

use bowline_core::{
    Cause, Code, Command, ScopeId, ScopeStep, Span, TimerId,
    planted::{Defect, planted},
};

use super::{Leaving, Phase, Plan, Record, Stopped, Why, record::exit};
use crate::{
    Ended, LocalFuture,
    adopt::{Adoption, Orphan},
    run::{ROOT, Run},
};

impl Run {
    /// A scope is polled for the first time.
    pub(crate) fn open_scope(&mut self, plan: Plan) -> ScopeId {
        let id = ScopeId(self.next_scope);
        self.next_scope += 1;
        let Plan { name, deadline, cleanup, shield } = plan;
        let parent = self.current;
        let own = deadline.map(|after| self.now.after(after));
        let (outer, remembers, is_left) = match self.scopes.get_mut(&parent) {
            Some(around) => {
                around.inside.insert(id);
                let deadline = around.deadline.filter(|_| shield.is_none());
                (deadline, around.remembers, !around.is_polled())
            }
            None => (None, false, false),
        };
        self.asking.steps.push(ScopeStep::Opened { scope: id, parent, name: name.clone() });
        let alarm = deadline.map(|after| {
            let number = self.ask(Command::StartTimer(TimerId::default(), Span(after)));
            self.enlist_alarm(number, id);
            number
        });
        let record = Record {
            parent,
            name,
            shield: shield.is_some(),
            rest: shield,
            deadline: own.into_iter().chain(outer).min(),
            alarm,
            remembers: remembers || cleanup.is_some() || deadline.is_some(),
            cleans: cleanup.is_some(),
            cleanup,
            ..Record::root()
        };
        self.scopes.insert(id, Box::new(record));
        if is_left {
            self.adopt_shield(id);
        }
        id
    }

    /// True while the body of a scope may be polled.
    pub(crate) fn is_open(&self, id: ScopeId) -> bool {
        self.scopes.get(&id).is_some_and(|record| matches!(record.phase, Phase::Open))
    }

    pub(crate) fn scope_name(&self, id: ScopeId) -> &str {
        self.scopes.get(&id).map_or("", |record| &record.name)
    }

    /// Why things inside a scope are cancelled now.
    pub(crate) fn inner_cause(&self, id: ScopeId) -> Cause {
        match self.scopes.get(&id).map(|record| (&record.phase, &record.name)) {
            Some((Phase::Stopping(Why::Ended(leaving)), _)) => leaving.inner.clone(),
            Some((Phase::Cleaning(leaving) | Phase::Closing(leaving, _), _)) => {
                leaving.inner.clone()
            }
            Some((_, name)) => exit(name),
            None => Cause::new(Code::ScopeExit),
        }
    }

    /// A scope is left: what is inside is told to stop. The first reason stays, unless the scope
    /// was done and nobody will have its value.
    pub(crate) fn leave(&mut self, id: ScopeId, why: Why) {
        let Some(record) = self.scopes.get_mut(&id) else { return };
        match (&record.phase, &why) {
            (Phase::Open, _) => {}
            (Phase::Stopping(Why::Done) | Phase::Settled, Why::Ended(_)) => {
                record.phase = Phase::Stopping(why);
                return self.check(id);
            }
            _ => return,
        }
        self.wakes.extend(record.waker.take());
        record.phase = Phase::Stopping(why);
        let alarm = record.alarm.take();
        let cause = Rc::new(self.inner_cause(id));
        if let Some(alarm) = alarm {
            self.cancel(alarm, &cause, id);
        }
        self.stop_inside(id, &cause);
        self.check(id);
    }

    /// Everything inside is told to stop; shielded and detached work is not. What is shielded is
    /// the run's from now on, because it is waited for.
    fn stop_inside(&mut self, id: ScopeId, cause: &Rc<Cause>) {
        let Some(record) = self.scopes.get_mut(&id) else { return };
        let calls = std::mem::take(&mut record.calls);
        let mut others = record.members.clone();
        let inside = record.inside.clone();
        others.remove_all(&calls.ranges());
        others.ranges().ids().for_each(|number| self.cancel(number, cause, id));
        self.cancel_calls(id, calls, cause);
        for inner in inside {
            if self.scopes.get(&inner).is_some_and(|record| record.shield) {
                self.adopt_shield(inner);
                continue;
            }
            let leaving = Leaving::cancelled(Cause::clone(cause), self.scope_name(inner));
            self.leave(inner, leaving.into());
        }
    }

    /// Takes the next step of a scope, if it waits for nothing any more.
    pub(crate) fn check(&mut self, id: ScopeId) {
        let Some(record) = self.scopes.get_mut(&id) else { return };
        if !record.members.is_empty() || !record.inside.is_empty() {
            return;
        }
        match std::mem::replace(&mut record.phase, Phase::Settled) {
            Phase::Stopping(Why::Done) if record.shield => self.finish_shield(id),
            Phase::Stopping(Why::Done) => self.wakes.extend(record.waker.take()),
            Phase::Stopping(Why::Ended(leaving)) => self.clean(id, leaving),
            Phase::Closing(leaving, failure) => self.over(id, leaving, failure),
            other => record.phase = other,
        }
    }

    /// Everything inside has stopped: the clean-up begins, as a future of the run's own.
    fn clean(&mut self, id: ScopeId, leaving: Box<Leaving>) {
        let Some(record) = self.scopes.get_mut(&id) else { return };
        let Some(cleanup) = record.cleanup.take() else { return self.over(id, leaving, None) };
        let stopped = record.stopped(leaving.ended.clone());
        record.phase = Phase::Cleaning(leaving);
        record.remembers = false;
        record.deadline = None;
        let future = Box::pin(async move { cleanup(stopped).await });
        self.adoptions.push_back(Adoption { scope: id, orphan: Orphan::Cleanup, future });
    }

    /// The clean-up is over; what it has left behind is told to stop.
    pub(crate) fn cleaned(&mut self, id: ScopeId, result: Result<(), Ended>) {
        let Some(record) = self.scopes.get_mut(&id) else { return };
        let Phase::Cleaning(leaving) = &record.phase else { return };
        record.phase = Phase::Closing(leaving.clone(), result.err());
        let cause = Rc::new(exit(&record.name));
        self.stop_inside(id, &cause);
        self.check(id);
    }

    /// A scope is over without a value.
    fn over(&mut self, id: ScopeId, leaving: Box<Leaving>, failure: Option<Ended>) {
        let Leaving { ended, cause, .. } = *leaving;
        let Some(record) = self.scopes.get_mut(&id) else { return };
        let failed = failure.is_some();
        let mut stopped = record.stopped(ended);
        stopped.why = failure.unwrap_or(stopped.why);
        let held = record.held;
        self.wakes.extend(record.waker.take());
        if failed && !held {
            self.failed.get_or_insert(stopped.why.clone().into_failure());
        }
        record.phase = Phase::Over(Box::new(stopped), failed);
        if id == ROOT {
            return;
        }
        self.asking.steps.push(ScopeStep::Left { scope: id, cause: Some(cause) });
        self.depart(id);
        if !held {
            self.scopes.remove(&id);
        }
    }

    /// The scope around hears that this one is over, and takes over what it has done, unless that
    /// was cleaned up.
    fn depart(&mut self, id: ScopeId) {
        let Some(record) = self.scopes.get_mut(&id) else { return };
        let undone = record.cleans && matches!(record.phase, Phase::Over(..));
        let items = std::mem::take(&mut record.items);
        let (parent, is_shield) = (record.parent, record.shield);
        let Some(around) = self.scopes.get_mut(&parent) else { return };
        let forgets = is_shield && planted(Defect::ShieldOutside);
        if !undone && around.remembers && !forgets {
            around.items.extend(items);
        }
        around.inside.remove(&id);
        self.check(parent);
    }

    /// The result of a scope, for its holder.
    pub(crate) fn take_scope(
        &mut self,
        id: ScopeId,
        waker: &Waker,
    ) -> Poll<Result<(), Box<Stopped>>> {
        let Some(record) = self.scopes.get_mut(&id) else { return Poll::Pending };
        match std::mem::replace(&mut record.phase, Phase::Settled) {
            Phase::Settled => {
                self.asking.steps.push(ScopeStep::Left { scope: id, cause: None });
                self.depart(id);
                self.discard(id);
                Poll::Ready(Ok(()))
            }
            Phase::Over(stopped, _) => {
                self.scopes.remove(&id);
                Poll::Ready(Err(stopped))
            }
            other => {
                record.phase = other;
                record.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// The future of a scope was dropped: the rest of its life is the run's.
    pub(crate) fn on_scope_dropped(&mut self, id: ScopeId, leaving: Leaving) {
        let Some(record) = self.scopes.get_mut(&id) else { return };
        record.held = false;
        record.waker = None;
        match &record.phase {
            Phase::Over(stopped, failed) => {
                if *failed {
                    self.failed.get_or_insert(stopped.why.clone().into_failure());
                }
                self.scopes.remove(&id);
            }
            _ => self.leave(id, leaving.into()),
        }
    }

    /// Whoever is polled right now goes on as a new run: the shield or the clean-up that it is part
    /// of has nothing more to do. The body is the program's.
    pub(crate) fn quit(&mut self) {
        let mut id = self.current;
        while let Some(record) = self.scopes.get_mut(&id) {
            if record.shield || matches!(record.phase, Phase::Cleaning(_)) {
                record.quits = true;
                return;
            }
            if id == ROOT {
                return;
            }
            id = record.parent;
        }
    }

    /// The shield or clean-up of this scope went on as a new run.
    pub(crate) fn has_quit(&self, id: ScopeId) -> bool {
        self.scopes.get(&id).is_some_and(|record| record.quits)
    }

    /// True if the holder of a shield is to poll it.
    pub(crate) fn is_held_shield(&self, id: ScopeId) -> bool {
        self.scopes.get(&id).is_some_and(|record| record.rest.is_some())
    }

    /// From now on the run finishes a shield, if that is not over and not the run's already.
    pub(crate) fn adopt_shield(&mut self, id: ScopeId) {
        let Some(future) = self.scopes.get_mut(&id).and_then(|record| record.rest.take()) else {
            return;
        };
        self.adoptions.push_back(Adoption { scope: id, orphan: Orphan::Shield, future });
    }

    /// The run finishes every shield that was opened in this scope itself.
    pub(crate) fn adopt_shields(&mut self, id: ScopeId) {
        let inside = self.scopes.get(&id).map(|record| record.inside.clone());
        inside.into_iter().flatten().for_each(|inner| self.adopt_shield(inner));
    }

    /// The future of a shield is over. What it left behind is told to stop; the scope around waits
    /// for that as well.
    pub(crate) fn close_shield(&mut self, id: ScopeId) {
        let cause = Rc::new(self.inner_cause(id));
        let Some(record) = self.scopes.get_mut(&id) else { return };
        record.phase = Phase::Stopping(Why::Done);
        self.discarded.extend(record.rest.take());
        self.stop_inside(id, &cause);
        self.check(id);
    }

    /// A shield is over, and everything inside has stopped.
    fn finish_shield(&mut self, id: ScopeId) {
        self.asking.steps.push(ScopeStep::Left { scope: id, cause: None });
        self.depart(id);
        self.scopes.remove(&id);
    }

    /// Nobody needs a scope any more that was done. What its clean-up has captured is the user's.
    fn discard(&mut self, id: ScopeId) {
        let unused = self.scopes.remove(&id).and_then(|record| record.cleanup);
        self.discarded.extend(unused.map(|cleanup| -> LocalFuture<'static, _> {
            Box::pin(async move {
                drop(cleanup);
                Ok(())
            })
        }));
    }
}
