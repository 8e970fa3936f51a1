//! What can be an activity: plain async functions, in a few forms.

mod context;
mod form;

use std::{pin::Pin, sync::Arc};

use bowline_engine::{
    core::{Failure as Raw, Payload},
    worker::{activity::ActivityContext, registry::ActivityCode},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    carry::{Carried, Thrown},
    registry::States,
    value,
};

pub use context::{ActivityCtx, ActivityInfo};
pub use form::Method;

/// A function that can be an activity. Functions implement it by themselves.
///
/// Write `async fn()`, `(I)`, `(ActivityCtx)` or `(ActivityCtx, I)`, or with shared state
/// `(&self)`, `(&self, I)`, `(&self, ActivityCtx)` or `(&self, ActivityCtx, I)`. Return `Result<T,
/// E>` with an error that serde can write and read, or [`bowline::Result`](crate::Result).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an activity",
    label = "not an activity",
    note = "an activity is an `async fn` with at most an `ActivityCtx` and one input, in this \
            order, after an optional `&self`",
    note = "its input and output can be written and read by serde, and its future is `Send`",
    note = "it returns `Result<T, E>` where `E` is a `std::error::Error` that serde can write and \
            read, or `bowline::Result<T>`"
)]
pub trait Activity<M>: Copy + Send + Sync + 'static {
    /// What you call it with; `()` for functions without input.
    type Input;
    /// What it returns.
    type Output: DeserializeOwned + 'static;
    /// What it fails with.
    type Error: Carried;
    /// Exactly what it returns: a `Result` of the two above, in one of the possible forms.
    type Returned: Returned<Output = Self::Output, Error = Self::Error>;

    #[doc(hidden)]
    fn code(self, states: &States) -> Result<Arc<dyn ActivityCode>, String>;
}

/// What an activity returns.
#[diagnostic::on_unimplemented(
    message = "an activity cannot return `{Self}`",
    note = "it returns `Result<T, E>` where `E` is a `std::error::Error` that serde can write and \
            read, or `bowline::Result<T>`"
)]
pub trait Returned {
    /// Its value.
    type Output: DeserializeOwned + 'static;
    /// Its error.
    type Error: Carried;

    #[doc(hidden)]
    fn answer(self, ctx: &ActivityCtx) -> Result<Option<Payload>, Raw>;
}

impl<T, E> Returned for Result<T, E>
where
    T: Serialize + DeserializeOwned + 'static,
    E: Thrown,
{
    type Output = T;
    type Error = E::Error;

    fn answer(self, ctx: &ActivityCtx) -> Result<Option<Payload>, Raw> {
        match self {
            Ok(output) => value::encode(&output),
            Err(error) => {
                let mut raw = error.ended().into_untyped().into_failure();
                ctx.judge(&mut raw);
                Err(raw)
            }
        }
    }
}

type Attempt = Pin<Box<dyn Future<Output = Result<Option<Payload>, Raw>> + Send>>;

/// The code of an activity, around a function of any form.
struct Code<F>(F);

impl<F> ActivityCode for Code<F>
where
    F: Fn(ActivityCtx, Option<Payload>) -> Attempt + Send + Sync,
{
    fn call(&self, ctx: ActivityContext, input: Option<Payload>) -> Attempt {
        (self.0)(ActivityCtx::new(ctx), input)
    }
}

/// Puts a function of any form behind the one that workers call.
fn code<F>(call: F) -> Arc<dyn ActivityCode>
where
    F: Fn(ActivityCtx, Option<Payload>) -> Attempt + Send + Sync + 'static,
{
    Arc::new(Code(call))
}
