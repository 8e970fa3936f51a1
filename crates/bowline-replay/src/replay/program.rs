//! The workflow's body and everything that the run has adopted, polled until nobody is woken.

use std::{
    collections::BTreeMap,
    rc::Rc,
    sync::Arc,
    task::{self, Poll},
};

use bowline_core::{Cause, Code, Failure, Payload, ScopeId};

use crate::{
    Context, Ended, Fault, LocalFuture, Workflow,
    adopt::{Adoption, Orphan},
    ended,
    fault::guarded,
    limits,
    ready::{Alarm, Member, Ready},
    reason,
    run::{self, Close, ROOT, Shared},
    scope::{self, Leaving},
};

/// The body's place among those that are polled; what is adopted comes after it.
const BODY: u64 = 0;

type Body = LocalFuture<'static, Result<Option<Payload>, Ended>>;

/// The futures of a run.
pub(super) struct Program {
    body: Option<(Body, Arc<Member>)>,
    adopted: BTreeMap<u64, Adopted>,
    next_place: u64,
    ready: Arc<Ready>,
    over: Option<Over>,
    begun: bool,
    /// The body of a run that was cancelled, which is dropped with the next turn.
    late: Option<(Body, Cause)>,
}

struct Adopted {
    adoption: Adoption,
    own: Arc<Member>,
}

/// How the body came to its end.
enum Over {
    Returned(Result<Option<Payload>, Ended>),
    /// It was dropped, because the run is to cancel.
    Cancelled(Cause),
    /// It was dropped, because it goes on as a new run.
    Continued,
}

impl Program {
    /// Nothing yet, on the thread where it will be polled.
    pub(super) fn new() -> Self {
        Self {
            body: None,
            adopted: BTreeMap::new(),
            next_place: 0,
            ready: Arc::new(Ready::at_home()),
            over: None,
            begun: false,
            late: None,
        }
    }

    /// Whom to call if somebody wakes it from elsewhere.
    pub(super) fn guard(&self, alarm: Alarm) {
        self.ready.guard(alarm);
    }

    /// A turn begins or ends.
    pub(super) fn open(&self, open: bool) {
        self.ready.open(open);
    }

    /// Nobody is interested any more in who wakes it.
    pub(super) fn retire(&self) {
        self.ready.retire();
    }

    /// Somebody woke it from elsewhere.
    pub(super) fn is_intruded(&self) -> bool {
        self.ready.is_intruded()
    }

    /// Calls the workflow, if that was not done, and if the run was not cancelled before.
    pub(super) fn begin_body(
        &mut self,
        workflow: &dyn Workflow,
        ctx: Context,
    ) -> Result<bool, Fault> {
        if self.begun || self.over.is_some() {
            return Ok(false);
        }
        self.begun = true;
        let input = ctx.info().input.clone();
        let body = guarded(|| workflow.call(ctx, input)).map_err(Fault::Panicked)?;
        self.body = Some((body, self.ready.member(BODY)));
        Ok(true)
    }

    /// The body has returned, or was dropped.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// The run is to cancel: what is inside is told to stop, and the body is dropped. A body that
    /// has returned stays as it is; one that wanted to go on as a new run does not any more.
    ///
    /// What is told to stop is known before the body is dropped. Where that is very much, the drop
    /// takes its time, and is put off to the next turn: there is one, because everything that was
    /// told has an end. Until then nobody is polled.
    pub(super) fn cancel(&mut self, shared: &Shared, cause: &Cause) -> Result<(), Fault> {
        match &self.over {
            Some(Over::Returned(_) | Over::Cancelled(_)) => return Ok(()),
            Some(Over::Continued) | None => {}
        }
        self.over = Some(Over::Cancelled(cause.clone()));
        let cause = reason::chained(Cause::new(Code::RunCancelled), Some(cause));
        let told = run::with(shared, |run| {
            run.leave(ROOT, Leaving::passing_on(cause.clone()).into());
            run.widely_cancelled()
        });
        if told >= limits::LATER_FROM {
            self.late = self.body.take().map(|(body, _)| (body, cause));
            return Ok(());
        }
        self.drop_body(&cause)
    }

    /// The body is still to be dropped.
    pub(super) fn is_late(&self) -> bool {
        self.late.is_some()
    }

    /// Drops a body that was left for later.
    pub(super) fn drop_late_body(&mut self) -> Result<(), Fault> {
        let Some((body, cause)) = self.late.take() else { return Ok(()) };
        let cause = Rc::new(cause);
        guarded(|| reason::because(&cause, || drop(body))).map_err(Fault::Panicked)
    }

    /// Polls whoever was woken, until nobody is; the body once in any case.
    pub(super) fn poll(&mut self, shared: &Shared) -> Result<(), Fault> {
        if self.late.is_some() {
            return Ok(());
        }
        self.ready.mark(BODY);
        for _ in 0..limits::POLLS_MAX {
            self.adopt(shared);
            match self.ready.pop() {
                None => return Ok(()),
                Some(BODY) => self.poll_body(shared)?,
                Some(place) => self.poll_adopted(shared, place)?,
            }
            self.go_on(shared)?;
        }
        Err(Fault::Spinning)
    }

    fn poll_body(&mut self, shared: &Shared) -> Result<(), Fault> {
        let Some((body, own)) = &mut self.body else { return Ok(()) };
        let waker = own.waker();
        let mut cx = task::Context::from_waker(&waker);
        let mark = run::with(shared, |run| run.asking.plain.len());
        let polled = guarded(|| body.as_mut().poll(&mut cx)).map_err(Fault::Panicked)?;
        if let Poll::Ready(result) = polled {
            return self.returned(shared, mark, result);
        }
        Ok(())
    }

    /// Drops a body that goes on as a new run, by its own word or by that of a clean-up or shield.
    fn go_on(&mut self, shared: &Shared) -> Result<(), Fault> {
        if self.over.is_some() || run::with(shared, |run| run.continued.is_none()) {
            return Ok(());
        }
        self.over = Some(Over::Continued);
        run::with(shared, |run| run.adopt_shields(ROOT));
        self.drop_body(&Cause::new(Code::RunContinued))
    }

    /// The body returned. If it says that it was cancelled, what is inside is told to stop, and
    /// the run closes as one that was cancelled does.
    fn returned(
        &mut self,
        shared: &Shared,
        mark: usize,
        result: Result<Option<Payload>, Ended>,
    ) -> Result<(), Fault> {
        let cause = match &result {
            Ok(_) => Cause::new(Code::RunCompleted),
            Err(Ended::Cancelled(cause)) => {
                reason::chained(Cause::new(Code::RunCancelled), Some(cause))
            }
            Err(ended) => Cause::new(Code::RunFailed).detail(ended.to_string()),
        };
        let shared_cause = Rc::new(cause.clone());
        run::with(shared, |run| run.drop_with(ROOT, mark, &shared_cause));
        self.over = Some(match result {
            Err(Ended::Cancelled(why)) => {
                let leaving = Leaving::passing_on(cause.clone());
                run::with(shared, |run| run.leave(ROOT, leaving.into()));
                Over::Cancelled(why)
            }
            result => Over::Returned(result),
        });
        run::with(shared, |run| run.adopt_shields(ROOT));
        self.drop_body(&cause)
    }

    fn poll_adopted(&mut self, shared: &Shared, place: u64) -> Result<(), Fault> {
        let Some(Adopted { adoption, own }) = self.adopted.get_mut(&place) else { return Ok(()) };
        let waker = own.waker();
        let Adoption { scope, orphan, future } = adoption;
        let (scope, orphan): (ScopeId, Orphan) = (*scope, *orphan);
        let polled = {
            let _inside = scope::enter(shared, scope);
            let mut cx = task::Context::from_waker(&waker);
            guarded(|| future.as_mut().poll(&mut cx)).map_err(Fault::Panicked)?
        };
        let is_left = polled.is_pending();
        if is_left && !run::with(shared, |run| run.has_quit(scope)) {
            return Ok(());
        }
        let adopted = self.adopted.remove(&place);
        {
            let _inside = scope::enter(shared, scope);
            let cause = Rc::new(Cause::new(Code::RunContinued));
            let dropped = guarded(|| match is_left {
                true => reason::because(&cause, || drop(adopted)),
                false => drop(adopted),
            });
            dropped.map_err(Fault::Panicked)?;
        }
        // A clean-up that went on as a new run is done.
        let result = match polled {
            Poll::Ready(result) => result,
            Poll::Pending => Ok(()),
        };
        run::with(shared, |run| run.adopted(scope, orphan, result));
        Ok(())
    }

    /// Takes in whoever lost its owner.
    fn adopt(&mut self, shared: &Shared) {
        let mut adoptions = run::with(shared, |run| std::mem::take(&mut run.adoptions));
        // The order of dropping is nobody's order.
        adoptions.make_contiguous().sort_by_key(|adoption| adoption.scope);
        for adoption in adoptions {
            self.next_place += 1;
            let own = self.ready.member(self.next_place);
            self.ready.mark(self.next_place);
            self.adopted.insert(self.next_place, Adopted { adoption, own });
        }
    }

    fn drop_body(&mut self, cause: &Cause) -> Result<(), Fault> {
        let body = self.body.take();
        let cause = Rc::new(cause.clone());
        guarded(|| reason::because(&cause, || drop(body))).map_err(Fault::Panicked)
    }

    /// How the run closes, if nothing holds it open any more.
    pub(super) fn close(&mut self, shared: &Shared) -> Option<Close> {
        let over = self.over.as_ref()?;
        let (owes, stopped, failed, next) = run::with(shared, |run| {
            (run.owes(), run.stopped(), run.failed.clone(), run.continued.clone())
        });
        if owes || !self.adopted.is_empty() {
            return None;
        }
        let unseen = |failure: Failure| Close::With(Ended::Failed(failure).into_close());
        match over {
            Over::Cancelled(_) if !stopped => None,
            _ if failed.is_some() => failed.map(unseen),
            Over::Returned(result) => Some(Close::With(ended::close(result.clone()))),
            Over::Cancelled(cause) => {
                Some(Close::With(Ended::Cancelled(cause.clone()).into_close()))
            }
            Over::Continued => next.map(Close::Continue),
        }
    }

    /// How many wakers of it somebody keeps, to wake it one day.
    pub(super) fn lent(&self) -> usize {
        let body = self.body.iter().map(|(_, own)| own);
        body.chain(self.adopted.values().map(|adopted| &adopted.own)).map(Member::lent).sum()
    }

    /// Drops everything; the turn is not open, so nothing is said.
    pub(super) fn drop_quietly(&mut self) {
        let (body, adopted) = (self.body.take(), std::mem::take(&mut self.adopted));
        let late = self.late.take();
        let _ = guarded(|| drop((body, late)));
        let _ = guarded(|| drop(adopted));
    }
}
