//! A run is started.

use std::{marker::PhantomData, pin::Pin, time::Duration};

use bowline_engine::{
    Error as EngineError, RunEnd, StartOptions,
    core::{
        Conflict, Failure as Raw, Name, Payload, Reuse, RunId, RunLadder, SearchField, SearchValue,
        Signal as RawSignal, Span, WorkflowId, limits,
    },
};

use super::{Bowline, ClientError, Run};
use crate::{Failure, Give, Retry, Signal, registry::QUEUE, value};

/// What to do if a run of that id is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IfExists {
    /// Refuse the start.
    #[default]
    Refuse,
    /// Use that run.
    Attach,
    /// Terminate that run, and start a new one in its place.
    Replace,
}

/// What to do if the last run of that id is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IfClosed {
    /// Start a new run.
    #[default]
    StartAgain,
    /// Start a new run unless the last one completed.
    StartUnlessCompleted,
    /// Refuse the start.
    Refuse,
}

/// A start that has not been requested yet: await it for the [`Run`].
#[must_use = "a run starts when this is awaited: add `.await`"]
pub struct StartCall<T, E> {
    bowline: Bowline,
    options: StartOptions,
    deadline: Option<Duration>,
    fault: Option<String>,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T, E> StartCall<T, E> {
    pub(crate) fn new(
        bowline: Bowline,
        name: Result<Name, String>,
        id: String,
        input: Result<Option<Payload>, Raw>,
    ) -> Self {
        let fault = name.as_ref().err().cloned();
        let fault = fault.or_else(|| input.as_ref().err().map(|raw| raw.message.clone()));
        let empty = id.is_empty().then(|| "a run needs an id that is not empty".to_owned());
        let options = StartOptions::new(
            name.unwrap_or_default(),
            WorkflowId::from(id),
            QUEUE,
            input.unwrap_or_default(),
        );
        Self { bowline, options, deadline: None, fault: fault.or(empty), types: PhantomData }
    }

    /// Says what to do if a run of that id is open; by default the start is refused.
    pub fn if_exists(mut self, then: IfExists) -> Self {
        self.options.conflict = match then {
            IfExists::Refuse => Conflict::Refuse,
            IfExists::Attach => Conflict::UseExisting,
            IfExists::Replace => Conflict::TerminateExisting,
        };
        self
    }

    /// Says what to do if the last run of that id is closed; by default a new run starts.
    pub fn if_closed(mut self, then: IfClosed) -> Self {
        self.options.reuse = match then {
            IfClosed::StartAgain => Reuse::Allow,
            IfClosed::StartUnlessCompleted => Reuse::AllowUnlessCompleted,
            IfClosed::Refuse => Reuse::Refuse,
        };
        self
    }

    /// Names this request: if you send it twice, it starts one run.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.options.started.request_id = id.into().into();
        self
    }

    /// Cancels the run, with clean-up, if it is still open after this long.
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Closes the run as timed out, without clean-up, if it is still open after this long.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.started.run_timeout = Some(Span(limit));
        self
    }

    /// Waits this long before the run begins.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.options.started.delay = Some(Span(delay));
        self
    }

    /// Starts a new run of the chain when one fails, by this policy.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.options.started.retry = Some(retry.0);
        self
    }

    /// Terminates the run if it is still open this long after it was asked to cancel.
    pub fn terminate_after_cancel(mut self, after: Duration) -> Self {
        self.options.started.ladder = Some(RunLadder { terminate_after: Span(after) });
        self
    }

    /// Says who starts it, for the history.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.options.started.identity = who.into().into();
        self
    }

    /// Stores a value beside the run.
    pub fn memo<V: serde::Serialize>(mut self, key: impl Into<String>, value: &V) -> Self {
        match value::encode(value) {
            Ok(payload) => {
                self.options.started.memo.insert(key.into(), payload.unwrap_or_default());
            }
            Err(raw) => self.fault = self.fault.or(Some(raw.message)),
        }
        self
    }

    /// Tags the run; [`List::tag`](crate::List::tag) filters by that.
    pub fn tag(mut self, key: impl Into<String>, word: impl Into<String>) -> Self {
        let field = SearchField { value: SearchValue::Keyword(word.into()), wire: None };
        self.options.started.search.insert(key.into(), field);
        self
    }

    /// Sends a signal together with the start, or to the run that is used instead.
    pub fn with_signal<V>(mut self, signal: Signal<V>, value: impl Give<V>) -> Self {
        match value.give() {
            Ok(input) => {
                let name = Name::from(signal.name());
                self.options.signal = Some(RawSignal { name, input, ..RawSignal::default() });
            }
            Err(raw) => self.fault = self.fault.or(Some(raw.message)),
        }
        self
    }

    /// What the engine is to be told, or what is wrong with it.
    pub(crate) fn prepare(self) -> Result<(Bowline, StartOptions), ClientError> {
        if let Some(fault) = self.fault {
            return Err(ClientError::Invalid(fault));
        }
        let mut options = self.options;
        if let Some(after) = self.deadline {
            if after > limits::SPAN_MAX {
                let text = "a deadline is longer than a hundred years";
                return Err(ClientError::Invalid(text.to_owned()));
            }
            options.started.deadline = Some(self.bowline.engine().now().after(after));
        }
        Ok((self.bowline, options))
    }

    async fn send(self) -> Result<Run<T, E>, ClientError> {
        let (bowline, options) = self.prepare()?;
        let (name, id) = (options.started.name.clone(), options.started.workflow_id.clone());
        let run = Box::pin(bowline.engine().start_followed(options)).await;
        begun(bowline, name, id.to_string(), run)
    }
}

impl<T: 'static, E: 'static> IntoFuture for StartCall<T, E> {
    type Output = Result<Run<T, E>, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// What a start has led to.
pub(crate) fn begun<T, E>(
    bowline: Bowline,
    name: Name,
    id: String,
    run: Result<(RunId, Option<RunEnd>), EngineError>,
) -> Result<Run<T, E>, ClientError> {
    match run {
        Ok(run) => Ok(Run::of(bowline, name, id, run)),
        Err(EngineError::AlreadyStarted { status, .. }) => {
            Err(ClientError::AlreadyStarted { id, status })
        }
        Err(error) => Err(error.into()),
    }
}

/// A value that does not read, for a caller.
pub(crate) fn unreadable(raw: Raw) -> ClientError {
    ClientError::Unreadable(Failure(raw))
}
