//! Requests on their way into a transaction: what is asked is the same as where it is awaited.

use std::sync::Arc;

use bowline_engine::{
    Error as EngineError, Prepared,
    core::Signal as RawSignal,
    store::{Error as StoreError, Posted, Posting},
};

use super::Transaction;
use crate::{AnyRun, Bowline, CancelCall, ClientError, Give, Receipt, Run, Signal, StartCall};

/// What the store's answer means to whoever asked.
pub(crate) type Reading<T> =
    Box<dyn FnOnce(Result<Posted, StoreError>) -> Result<T, ClientError> + Send>;

/// A request on its way into a [`Transaction`].
pub struct Request<T> {
    inner: Result<Building<T>, ClientError>,
}

struct Building<T> {
    bowline: Bowline,
    posting: Posting,
    read: Reading<T>,
}

impl<T> Request<T> {
    /// A request that the engine has prepared; `then` makes of its answer what the caller gets.
    fn new<P: 'static>(
        bowline: &Bowline,
        prepared: Result<Prepared<P>, EngineError>,
        then: impl FnOnce(Result<P, EngineError>) -> Result<T, ClientError> + Send + 'static,
    ) -> Self {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Self { inner: then(Err(error)).and_then(|_| Err(never())) },
        };
        let posting = prepared.posting().clone();
        let read: Reading<T> = Box::new(move |posted| then(prepared.answer(posted)));
        Self { inner: Ok(Building { bowline: bowline.clone(), posting, read }) }
    }

    fn refused(error: ClientError) -> Self {
        Self { inner: Err(error) }
    }

    /// Whose it is, what its store is to be given, and what the answer will mean.
    #[cfg(feature = "_guest")]
    pub(crate) fn into_parts(self) -> Result<(Bowline, Posting, Reading<T>), ClientError> {
        let Building { bowline, posting, read } = self.inner?;
        Ok((bowline, posting, read))
    }

    /// What the store of `bowline` is to be given, and what its answer will mean.
    pub(crate) fn for_store_of(
        self,
        bowline: &Bowline,
    ) -> Result<(Posting, Reading<T>), ClientError> {
        let Building { bowline: own, posting, read } = self.inner?;
        match Arc::ptr_eq(own.store(), bowline.store()) {
            true => Ok((posting, read)),
            false => Err(ClientError::Invalid(
                "this transaction belongs to another store than the run".to_owned(),
            )),
        }
    }
}

/// What was refused before it was sent has no answer but an error.
fn never() -> ClientError {
    ClientError::Invalid("it was not sent".to_owned())
}

impl<T> std::fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let posting = self.inner.as_ref().map(|inner| &inner.posting);
        f.debug_tuple("Request").field(&posting).finish()
    }
}

impl<T: 'static, E: 'static> StartCall<T, E> {
    /// Sends it as part of a transaction instead of awaiting it; see
    /// [`Bowline::start_in`](Bowline::start_in). `if_exists(IfExists::Replace)` is refused there.
    pub fn send_in<X: Transaction>(self, tx: &mut X) -> X::Answer<'_, Run<T, E>> {
        let (bowline, options) = match self.prepare() {
            Ok(prepared) => prepared,
            Err(error) => return tx.put(Request::refused(error)),
        };
        let started = &options.started;
        let (name, id) = (started.name.clone(), started.workflow_id.to_string());
        let prepared = bowline.engine().prepare_start(options);
        let owner = bowline.clone();
        tx.put(Request::new(&bowline, prepared, move |run| {
            crate::client::begun(owner, name, id, run.map(|run| (run, None)))
        }))
    }
}

impl CancelCall {
    /// Sends it as part of a transaction instead of awaiting it; see
    /// [`Bowline::cancel_in`](Bowline::cancel_in).
    pub fn send_in<X: Transaction>(self, tx: &mut X) -> X::Answer<'_, Receipt> {
        let (run, to, request) = self.prepare();
        let bowline = run.bowline().clone();
        let prepared = bowline.engine().prepare_cancel(to, request);
        let owner = bowline.clone();
        tx.put(Request::new(&bowline, prepared, move |receipt| match receipt {
            Ok(id) => Ok(Receipt::new(owner, id)),
            Err(error) => Err(run.missing(error)),
        }))
    }
}

impl AnyRun {
    /// Sends it a signal as part of a transaction; see [`Bowline::signal_in`](Bowline::signal_in).
    pub fn signal_in<'t, X: Transaction, V>(
        &self,
        tx: &'t mut X,
        signal: Signal<V>,
        value: impl Give<V>,
    ) -> X::Answer<'t, ()> {
        let input = match value.give() {
            Ok(input) => input,
            Err(raw) => return tx.put(Request::refused(crate::client::unreadable(raw))),
        };
        let signal = RawSignal { name: signal.name().into(), input, ..RawSignal::default() };
        let prepared = self.bowline().engine().prepare_signal(self.address(), signal);
        let run = self.clone();
        tx.put(Request::new(self.bowline(), prepared, move |sent| {
            sent.map(drop).map_err(|error| run.missing(error))
        }))
    }
}
