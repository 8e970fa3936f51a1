//! What the engine knows of a workflow: something that can be called with a payload.

use std::pin::Pin;

use bowline_core::Payload;

use crate::{Context, Ended};

/// A future that stays on its thread.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Workflow code, untyped. One value serves all runs of a workflow, on all threads; the futures
/// that it makes never leave theirs.
pub trait Workflow: Send + Sync + 'static {
    /// Makes the body of one run. Nothing of it runs until it is polled.
    fn call(
        &self,
        ctx: Context,
        input: Option<Payload>,
    ) -> LocalFuture<'static, Result<Option<Payload>, Ended>>;
}

impl<F, B> Workflow for F
where
    F: Fn(Context, Option<Payload>) -> B + Send + Sync + 'static,
    B: Future<Output = Result<Option<Payload>, Ended>> + 'static,
{
    fn call(
        &self,
        ctx: Context,
        input: Option<Payload>,
    ) -> LocalFuture<'static, Result<Option<Payload>, Ended>> {
        Box::pin(self(ctx, input))
    }
}
