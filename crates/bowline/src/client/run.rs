//! One run, seen from outside.

use std::{fmt, marker::PhantomData, ops::Deref};

use bowline_engine::{
    RunEnd,
    core::{
        Address, Cause, Name, Namespace, RunId, Signal as RawSignal, UpdateAnswer, UpdateRequest,
        UpdateStage,
    },
    store::Head,
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::{
    Bowline, CancelCall, CancelOneCall, CancelTree, ClientError, Description, HistoryEvent,
    Receipt, Recording, RunError, TerminateCall, UpdateError, start::unreadable,
};
use crate::{
    Ended, Give, Outcome, Query, Signal, Update, carry::Carried, ended, failure::Failure, value,
};

/// A run of any workflow: signal, query, update or cancel it.
#[derive(Clone)]
pub struct AnyRun {
    bowline: Bowline,
    id: String,
    /// Set for exactly this run; unset for whichever run of the id is the newest.
    run: Option<RunId>,
}

impl AnyRun {
    pub(crate) fn current(bowline: Bowline, id: String) -> Self {
        Self { bowline, id, run: None }
    }

    /// The workflow id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the run's own id, which no other run ever has; `None` before the run is known.
    pub fn run_id(&self) -> Option<String> {
        self.run.map(|run| run.to_string())
    }

    pub(crate) fn bowline(&self) -> &Bowline {
        &self.bowline
    }

    pub(crate) fn address(&self) -> Address {
        match self.run {
            Some(run) => Address::Chain(run),
            None => Address::Current(Namespace(1), self.id.as_str().into()),
        }
    }

    pub(crate) fn missing(&self, error: bowline_engine::Error) -> ClientError {
        match error {
            bowline_engine::Error::NotFound(_) => {
                ClientError::NotFound(format!("run of {:?}", self.id))
            }
            other => other.into(),
        }
    }

    pub(crate) async fn head(&self) -> Result<Head, ClientError> {
        let engine = self.bowline.engine();
        let found = match self.run {
            Some(run) => match engine.head(run).await {
                // It is kept no longer, but its chain may have gone on.
                Err(bowline_engine::Error::NotFound(_)) => engine.newest(run).await,
                head => head,
            },
            None => engine.current(self.id.as_str()).await,
        };
        found.map_err(|error| self.missing(error))
    }

    /// The run that is meant now: whichever goes on in place of one that continued as new or is
    /// tried again.
    async fn newest(&self) -> Result<Head, ClientError> {
        match self.run {
            Some(run) => {
                let newest = self.bowline.engine().newest(run).await;
                newest.map_err(|error| self.missing(error))
            }
            None => self.head().await,
        }
    }

    /// Sends it a signal, which is durable when this returns.
    ///
    /// # Errors
    /// If there is no such run, or it is closed.
    pub async fn signal<T>(
        &self,
        signal: Signal<T>,
        value: impl Give<T>,
    ) -> Result<(), ClientError> {
        let input = value.give().map_err(unreadable)?;
        let signal = RawSignal { name: signal.name().into(), input, ..RawSignal::default() };
        let sent = self.bowline.engine().signal(self.address(), signal).await;
        sent.map(drop).map_err(|error| self.missing(error))
    }

    /// Reads a value that the workflow shows; closed runs answer too.
    ///
    /// # Errors
    /// If there is no such run, or it shows nothing of that name.
    pub async fn query<T: DeserializeOwned>(&self, query: Query<T>) -> Result<T, ClientError> {
        let run = self.newest().await?.run;
        let answer = self.bowline.engine().query(run, query.name(), None).await;
        let answer = answer.map_err(|error| self.missing(error))?;
        value::decode(answer.as_ref()).map_err(unreadable)
    }

    /// Sends the workflow's code a request, and waits for its answer.
    ///
    /// # Errors
    /// If the code refuses it or answers with an error, there is no such run, or it is closed.
    pub async fn update<I, T, E>(
        &self,
        update: Update<I, T, E>,
        input: impl Give<I>,
    ) -> Result<T, UpdateError<E>>
    where
        T: DeserializeOwned,
        E: Carried + fmt::Display + fmt::Debug,
    {
        let input = input.give().map_err(unreadable)?;
        let run = self.newest().await?.run;
        let id = format!("{:032x}", self.bowline.engine().draw());
        let (name, identity) = (Name::from(update.name()), Default::default());
        let request =
            UpdateRequest { id: id.into(), name, input, identity, ..UpdateRequest::default() };
        let answer = Box::pin(self.bowline.engine().update(run, request)).await;
        match answer.map_err(|error| self.missing(error))? {
            UpdateStage::Completed(UpdateAnswer::Done(result)) => {
                Ok(value::decode(result.as_ref()).map_err(unreadable)?)
            }
            UpdateStage::Completed(UpdateAnswer::Failed(raw)) | UpdateStage::Rejected(raw) => {
                Err(match E::from_raw(raw) {
                    Ok(error) => UpdateError::Failed(error),
                    Err(raw) => UpdateError::Refused(Failure(raw)),
                })
            }
            UpdateStage::Accepted | UpdateStage::Unanswered | UpdateStage::Moved(_) => {
                Err(UpdateError::Refused(Failure::new("the run closed before it answered")))
            }
        }
    }

    /// Asks the run to cancel, with clean-up. Once you have awaited this, the request is durable.
    /// If the run is closed already, that is a success, and the receipt shows it.
    pub fn cancel(&self, reason: impl Into<String>) -> CancelCall {
        CancelCall::new(self.clone(), self.address(), reason.into())
    }

    /// Closes the run without asking its code: no clean-up runs. Its activities are told to stop.
    pub fn terminate(&self, reason: impl Into<String>) -> TerminateCall {
        TerminateCall::new(self.clone(), self.address(), reason.into())
    }

    /// Cancels one activity, timer or child of the run, by its number. The workflow's code sees the
    /// outcome and goes on. If it is over already, that is a success, and the answer says so.
    pub fn cancel_one(&self, number: u64, reason: impl Into<String>) -> CancelOneCall {
        CancelOneCall::new(self.clone(), number, reason.into())
    }

    /// Terminates the run if it is open, and deletes it as soon as nothing of it is left and no
    /// receipt speaks of it. A run that was open has a receipt, as any termination; a closed one
    /// has none, and goes at once if nothing keeps it.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn delete(&self, reason: impl Into<String>) -> Result<Option<Receipt>, ClientError> {
        let run = self.newest().await?.run;
        let cause = Cause::requested(reason, "");
        match self.bowline.engine().delete(run, cause).await {
            Ok(receipt) => Ok(receipt.map(|id| Receipt::new(self.bowline.clone(), id))),
            Err(error) => Err(self.missing(error)),
        }
    }

    /// Lets every process try a parked run again.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn retry(&self) -> Result<(), ClientError> {
        let run = self.newest().await?.run;
        self.bowline.engine().retry(run).await.map_err(|error| self.missing(error))
    }

    /// Describes the state of the run.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn describe(&self) -> Result<Description, ClientError> {
        Description::read(self).await
    }

    /// Returns everything that happened to the run, in order.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn history(&self) -> Result<Vec<HistoryEvent>, ClientError> {
        let run = self.head().await?.run;
        let events = self.bowline.engine().history(run).await;
        let events = events.map_err(|error| self.missing(error))?;
        Ok(events.iter().map(HistoryEvent::new).collect())
    }

    /// Returns the history as a [`Recording`], for you to keep in a file: the test runtime replays
    /// it against later code.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn record(&self) -> Result<Recording, ClientError> {
        let run = self.head().await?.run;
        let events = self.bowline.engine().history(run).await;
        Ok(Recording::new(run, events.map_err(|error| self.missing(error))?))
    }

    /// Returns what there is of the run and everything below it, and how far its cancel has come.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn tree(&self) -> Result<CancelTree, ClientError> {
        let run = self.head().await?.run;
        let left = self.bowline.engine().leftovers(run).await;
        Ok(CancelTree::new(left.map_err(|error| self.missing(error))?))
    }
}

impl fmt::Debug for AnyRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("id", &self.id).field("run", &self.run).finish()
    }
}

/// A run with the types of its workflow. It derefs to [`AnyRun`], which has everything that does
/// not need the types.
pub struct Run<T, E = Failure> {
    any: AnyRun,
    /// The workflow, or why that is not known.
    name: Result<Name, String>,
    /// The end of a run that was started through this very handle, for whoever is the first to ask.
    end: Mutex<Option<RunEnd>>,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T, E> Run<T, E> {
    pub(crate) fn of(
        bowline: Bowline,
        name: Name,
        id: String,
        (run, end): (RunId, Option<RunEnd>),
    ) -> Self {
        let any = AnyRun { bowline, id, run: Some(run) };
        Self { any, name: Ok(name), end: Mutex::new(end), types: PhantomData }
    }

    pub(crate) fn current(bowline: Bowline, name: Result<Name, String>, id: String) -> Self {
        let any = AnyRun::current(bowline, id);
        Self { any, name, end: Mutex::default(), types: PhantomData }
    }
}

impl<T: DeserializeOwned, E: Carried> Run<T, E> {
    /// Waits until the run has ended, following the runs that go on in its place.
    ///
    /// # Errors
    /// If there is no such run, or it is parked because its code keeps failing.
    pub async fn outcome(&self) -> Result<Outcome<T, E>, ClientError> {
        let engine = self.any.bowline.engine();
        let end = self.end.lock().take();
        let ended = match end {
            Some(end) => engine.ended(end).await,
            None => engine.result(self.checked().await?).await,
        };
        let (_, ending) = ended.map_err(|error| self.any.missing(error))?;
        Ok(ended::of_run(ending))
    }

    /// The run, which is one of the workflow that this handle is for.
    async fn checked(&self) -> Result<RunId, ClientError> {
        let expected = self.name.clone().map_err(ClientError::Invalid)?;
        let head = self.any.head().await?;
        if head.name != expected {
            let (found, expected) = (head.name.to_string(), expected.to_string());
            return Err(ClientError::OtherWorkflow { id: self.id.clone(), found, expected });
        }
        Ok(head.run)
    }

    /// Waits until the run has ended, and returns its value.
    ///
    /// # Errors
    /// If it ended without one, or could not be asked.
    pub async fn result(&self) -> Result<T, RunError<E>>
    where
        E: fmt::Display + fmt::Debug,
    {
        self.outcome().await?.map_err(|ended: Ended<E>| RunError::Ended(ended))
    }
}

impl<T, E> Deref for Run<T, E> {
    type Target = AnyRun;

    fn deref(&self) -> &AnyRun {
        &self.any
    }
}

impl<T, E> Clone for Run<T, E> {
    fn clone(&self) -> Self {
        let (any, name) = (self.any.clone(), self.name.clone());
        Self { any, name, end: Mutex::default(), types: PhantomData }
    }
}

impl<T, E> fmt::Debug for Run<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}
