//! A request that was let in, wherever it is answered.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{Access, Asked, Caller, Need, Peer, Refused, Right, Row, access::Outcome};

tokio::task_local! {
    /// The ticket of the request that this future answers.
    static TICKET: Ticket;
}

/// A request that was let in.
#[derive(Clone)]
pub struct Ticket(Arc<Inner>);

struct Inner {
    access: Arc<Access>,
    row: Row,
    caller: Option<Caller>,
    peer: Arc<Peer>,
    /// What it asks, once that was read.
    kept: OnceLock<Kept>,
    is_refused: AtomicBool,
}

struct Kept {
    namespace: String,
    target: String,
    said: String,
    request_id: String,
}

impl Kept {
    fn asked(&self) -> Asked<'_> {
        Asked {
            namespace: &self.namespace,
            target: &self.target,
            said: &self.said,
            request_id: &self.request_id,
            also: None,
        }
    }
}

impl Ticket {
    pub(crate) fn new(
        access: &Arc<Access>,
        row: Row,
        caller: Option<Caller>,
        peer: &Arc<Peer>,
    ) -> Self {
        Self(Arc::new(Inner {
            access: access.clone(),
            row,
            caller,
            peer: peer.clone(),
            kept: OnceLock::new(),
            is_refused: AtomicBool::new(false),
        }))
    }

    /// The ticket of the request that is being answered here; none where nobody is asked for one.
    pub fn current() -> Option<Self> {
        TICKET.try_with(Self::clone).ok()
    }

    /// Answers a request under this ticket.
    pub async fn scope<F: Future>(self, answering: F) -> F::Output {
        TICKET.scope(self, answering).await
    }

    /// Who asks; none if nobody needs to say so for this call.
    pub fn caller(&self) -> Option<&Caller> {
        self.0.caller.as_ref()
    }

    /// What is known of who may do what.
    pub fn access(&self) -> &Arc<Access> {
        &self.0.access
    }

    /// Whether it changes something that the audit log tells of.
    pub fn is_change(&self) -> bool {
        self.0.row.is_change()
    }

    /// Whether the request may do what it asks. A change is written down by that.
    ///
    /// # Errors
    /// If it may not, or the change cannot be written down.
    pub fn check(&self, asked: &Asked<'_>) -> Result<(), Refused> {
        let kept = self.0.kept.get_or_init(|| Kept {
            namespace: asked.namespace.to_owned(),
            target: asked.target.to_owned(),
            said: asked.said.to_owned(),
            request_id: asked.request_id.to_owned(),
        });
        if kept.namespace != asked.namespace {
            // One request reaches into one namespace.
            return Err(self.refuse(Refused::Unlisted));
        }
        let Some(caller) = &self.0.caller else {
            // Whoever needs no name changes nothing.
            return match self.0.row.need {
                Need::Nothing => Ok(()),
                _ => Err(self.refuse(Refused::Missing)),
            };
        };
        let also = asked.also.filter(|right| !caller.may(*right, asked.namespace));
        if let Some(right) = self.0.row.lacks(caller, asked.namespace).or(also) {
            let (who, namespace) = (caller.who().to_owned(), asked.namespace.to_owned());
            return Err(self.refuse(Refused::Forbidden { who, right, namespace }));
        }
        match self.is_change() {
            true => self.tell(Outcome::Allowed),
            false => Ok(()),
        }
    }

    /// Whether the request may do something more, which was seen only when it was read.
    ///
    /// # Errors
    /// If this right is missing where the request is about.
    pub fn check_also(&self, right: Right) -> Result<(), Refused> {
        let namespace = self.0.kept.get().map_or("", |kept| kept.namespace.as_str());
        match &self.0.caller {
            Some(caller) if !caller.may(right, namespace) => {
                let (who, namespace) = (caller.who().to_owned(), namespace.to_owned());
                Err(self.refuse(Refused::Forbidden { who, right, namespace }))
            }
            _ => Ok(()),
        }
    }

    /// Whether the request may touch so many runs on one caller's word.
    ///
    /// # Errors
    /// If somebody else must confirm it.
    pub fn check_radius(&self, runs: u64) -> Result<(), Refused> {
        let Some(caller) = &self.0.caller else { return Ok(()) };
        let checked = self.0.access.radius().check(caller, runs, None);
        checked.map_err(|why| self.refuse(why))
    }

    /// Who shows this credential, outside of where credentials usually stand. Both answers are
    /// written down.
    ///
    /// # Errors
    /// If it is not accepted.
    pub async fn log_in(&self, credential: &str) -> Result<Caller, Refused> {
        let access = &self.0.access;
        let caller = access.verify(credential).await.map_err(|why| self.refuse(why))?;
        let asked = self.0.kept.get().map(Kept::asked).unwrap_or_default();
        let call = self.0.row.call;
        access.tell(&self.0.peer, call, Some(&caller), &asked, Outcome::Allowed)?;
        Ok(caller)
    }

    /// Whether it does not matter to this request who has started a run.
    pub fn may_cancel_others(&self) -> bool {
        let namespace = self.0.kept.get().map_or("", |kept| kept.namespace.as_str());
        let may = |caller: &Caller| caller.may(Right::CancelOthers, namespace);
        self.0.caller.as_ref().is_none_or(may)
    }

    /// Whether the caller may cancel a run that was started under this name.
    ///
    /// # Errors
    /// If it is somebody else's, and the caller may cancel only their own.
    pub fn check_owner(&self, started_by: &str) -> Result<(), Refused> {
        let Some(caller) = self.0.caller.as_ref().filter(|_| !self.may_cancel_others()) else {
            return Ok(());
        };
        match caller.signed(started_by) {
            true => Ok(()),
            false => Err(self.refuse(Refused::NotYours { who: caller.who().to_owned() })),
        }
    }

    /// Writes a refusal down.
    pub fn refuse(&self, why: Refused) -> Refused {
        self.0.is_refused.store(true, Ordering::Release);
        // A refusal stands whether or not it can be written down.
        let _ = self.tell(Outcome::Refused(&why));
        why
    }

    /// Writes down that a change was allowed and then failed. Who was refused was not allowed.
    pub fn failed(&self, why: &str) {
        if !self.0.is_refused.load(Ordering::Acquire) {
            let _ = self.tell(Outcome::Failed(why));
        }
    }

    fn tell(&self, outcome: Outcome<'_>) -> Result<(), Refused> {
        let asked = self.0.kept.get().map(Kept::asked).unwrap_or_default();
        let (peer, caller) = (&self.0.peer, self.0.caller.as_ref());
        let told = self.0.access.tell(peer, self.0.row.call, caller, &asked, outcome);
        if told.is_err() {
            self.0.is_refused.store(true, Ordering::Release);
        }
        told
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("call", &self.0.row.call).finish_non_exhaustive()
    }
}
