//! What can be a workflow: async functions that take a [`Ctx`] and return
//! [`bowline::Result`](crate::Result).

use std::sync::Arc;

use bowline_replay::{Context, Ended as Untyped, Workflow as Code};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Ctx, Error, carry::Carried, ctx::App, value};

/// A function that can be a workflow. Functions implement it by themselves.
///
/// Write `async fn(Ctx)` or `async fn(Ctx, I)`, and return [`bowline::Result`](crate::Result).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a workflow",
    label = "not a workflow",
    note = "a workflow is an `async fn` that takes a `Ctx` and at most one input that serde can \
            write and read",
    note = "it returns `bowline::Result`, so that a cancel inside it stays a cancel and never \
            becomes a failure"
)]
pub trait Workflow<M>: Copy + Send + Sync + 'static {
    /// What you start it with; `()` for functions without input.
    type Input;
    /// What it returns.
    type Output: DeserializeOwned + 'static;
    /// What it fails with.
    type Error: Carried;

    #[doc(hidden)]
    fn code(self, app: Arc<App>) -> Arc<dyn Code>;
}

impl<F, B, T, E> Workflow<fn(Ctx) -> (T, E)> for F
where
    F: Fn(Ctx) -> B + Copy + Send + Sync + 'static,
    B: Future<Output = Result<T, Error<E>>> + 'static,
    T: Serialize + DeserializeOwned + 'static,
    E: Carried,
{
    type Input = ();
    type Output = T;
    type Error = E;

    fn code(self, app: Arc<App>) -> Arc<dyn Code> {
        Arc::new(move |ctx: Context, _| {
            let body = self(Ctx::new(ctx, app.clone()));
            async move { answer(body.await) }
        })
    }
}

impl<F, I, B, T, E> Workflow<fn(Ctx, I) -> (T, E)> for F
where
    F: Fn(Ctx, I) -> B + Copy + Send + Sync + 'static,
    I: DeserializeOwned + 'static,
    B: Future<Output = Result<T, Error<E>>> + 'static,
    T: Serialize + DeserializeOwned + 'static,
    E: Carried,
{
    type Input = I;
    type Output = T;
    type Error = E;

    fn code(self, app: Arc<App>) -> Arc<dyn Code> {
        Arc::new(move |ctx: Context, input: Option<_>| {
            let app = app.clone();
            async move {
                let input = value::decode(input.as_ref()).map_err(Untyped::Broken)?;
                answer(self(Ctx::new(ctx, app), input).await)
            }
        })
    }
}

fn answer<T: Serialize, E: Carried>(
    result: Result<T, Error<E>>,
) -> Result<Option<bowline_engine::core::Payload>, Untyped> {
    match result {
        Ok(output) => value::encode(&output).map_err(Untyped::Broken),
        Err(error) => Err(error.0.into_untyped()),
    }
}
