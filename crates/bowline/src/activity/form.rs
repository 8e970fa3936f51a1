//! The forms that an activity's function may have, each told apart by a marker: what is left of
//! its signature, beside the state if it has one.

use std::{pin::Pin, sync::Arc};

use bowline_engine::worker::registry::ActivityCode;
use serde::de::DeserializeOwned;

use super::{Activity, ActivityCtx, Returned, code};
use crate::{registry::States, value};

impl<F, B, R> Activity<fn() -> R> for F
where
    F: Fn() -> B + Copy + Send + Sync + 'static,
    B: Future<Output = R> + Send + 'static,
    R: Returned,
{
    type Input = ();
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, _: &States) -> Result<Arc<dyn ActivityCode>, String> {
        Ok(code(move |ctx, _| Box::pin(async move { self().await.answer(&ctx) })))
    }
}

impl<F, I, B, R> Activity<fn(I) -> R> for F
where
    F: Fn(I) -> B + Copy + Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    B: Future<Output = R> + Send + 'static,
    R: Returned,
{
    type Input = I;
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, _: &States) -> Result<Arc<dyn ActivityCode>, String> {
        Ok(code(move |ctx, input| {
            Box::pin(async move {
                let input = value::decode(input.as_ref())?;
                self(input).await.answer(&ctx)
            })
        }))
    }
}

impl<F, B, R> Activity<fn(ActivityCtx) -> R> for F
where
    F: Fn(ActivityCtx) -> B + Copy + Send + Sync + 'static,
    B: Future<Output = R> + Send + 'static,
    R: Returned,
{
    type Input = ();
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, _: &States) -> Result<Arc<dyn ActivityCode>, String> {
        Ok(code(move |ctx, _| Box::pin(async move { self(ctx.clone()).await.answer(&ctx) })))
    }
}

impl<F, I, B, R> Activity<fn(ActivityCtx, I) -> R> for F
where
    F: Fn(ActivityCtx, I) -> B + Copy + Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    B: Future<Output = R> + Send + 'static,
    R: Returned,
{
    type Input = I;
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, _: &States) -> Result<Arc<dyn ActivityCode>, String> {
        Ok(code(move |ctx, input| {
            Box::pin(async move {
                let input = value::decode(input.as_ref())?;
                self(ctx.clone(), input).await.answer(&ctx)
            })
        }))
    }
}

/// An `async fn` that borrows the state it is called on, with the rest of its arguments as `A`.
///
/// The future borrows the state, so its type is another one for every lifetime. It is put in a box
/// here, where that lifetime has a name.
pub trait Method<'a, S, A> {
    /// What it returns.
    type Returned;

    #[doc(hidden)]
    fn call(
        self,
        state: &'a S,
        rest: A,
    ) -> Pin<Box<dyn Future<Output = Self::Returned> + Send + 'a>>;
}

macro_rules! method {
    ($($name:ident: $type:ident),*) => {
        impl<'a, S, F, B, $($type),*> Method<'a, S, ($($type,)*)> for F
        where
            S: 'a,
            F: Fn(&'a S, $($type),*) -> B,
            B: Future + Send + 'a,
        {
            type Returned = B::Output;

            fn call(
                self,
                state: &'a S,
                ($($name,)*): ($($type,)*),
            ) -> Pin<Box<dyn Future<Output = B::Output> + Send + 'a>> {
                Box::pin(self(state, $($name),*))
            }
        }
    };
}

method!();
method!(a: A);
method!(a: A, b: B1);

fn state<S: Send + Sync + 'static, F>(states: &States) -> Result<Arc<S>, String> {
    states.find::<S>().ok_or_else(|| {
        let (function, state) = (std::any::type_name::<F>(), std::any::type_name::<S>());
        let short = state.rsplit("::").next().unwrap_or(state);
        format!(
            "the activity `{function}` is a method of `{state}`, and no such state was given: add \
             `.state({short} {{ .. }})` to the builder, before `.start()`"
        )
    })
}

impl<F, S, R> Activity<(S, fn() -> R)> for F
where
    F: for<'a> Method<'a, S, (), Returned = R> + Copy + Send + Sync + 'static,
    S: Send + Sync + 'static,
    R: Returned,
{
    type Input = ();
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, states: &States) -> Result<Arc<dyn ActivityCode>, String> {
        let state = state::<S, F>(states)?;
        Ok(code(move |ctx, _| {
            let state = state.clone();
            Box::pin(async move { self.call(&state, ()).await.answer(&ctx) })
        }))
    }
}

impl<F, S, R> Activity<(S, fn(ActivityCtx) -> R)> for F
where
    F: for<'a> Method<'a, S, (ActivityCtx,), Returned = R> + Copy + Send + Sync + 'static,
    S: Send + Sync + 'static,
    R: Returned,
{
    type Input = ();
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, states: &States) -> Result<Arc<dyn ActivityCode>, String> {
        let state = state::<S, F>(states)?;
        Ok(code(move |ctx, _| {
            let state = state.clone();
            Box::pin(async move { self.call(&state, (ctx.clone(),)).await.answer(&ctx) })
        }))
    }
}

impl<F, S, I, R> Activity<(S, fn(I) -> R)> for F
where
    F: for<'a> Method<'a, S, (I,), Returned = R> + Copy + Send + Sync + 'static,
    S: Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    R: Returned,
{
    type Input = I;
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, states: &States) -> Result<Arc<dyn ActivityCode>, String> {
        let state = state::<S, F>(states)?;
        Ok(code(move |ctx, input| {
            let state = state.clone();
            Box::pin(async move {
                let input = value::decode(input.as_ref())?;
                self.call(&state, (input,)).await.answer(&ctx)
            })
        }))
    }
}

impl<F, S, I, R> Activity<(S, fn(ActivityCtx, I) -> R)> for F
where
    F: for<'a> Method<'a, S, (ActivityCtx, I), Returned = R> + Copy + Send + Sync + 'static,
    S: Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    R: Returned,
{
    type Input = I;
    type Output = R::Output;
    type Error = R::Error;
    type Returned = R;

    fn code(self, states: &States) -> Result<Arc<dyn ActivityCode>, String> {
        let state = state::<S, F>(states)?;
        Ok(code(move |ctx, input| {
            let state = state.clone();
            Box::pin(async move {
                let input = value::decode(input.as_ref())?;
                self.call(&state, (ctx.clone(), input)).await.answer(&ctx)
            })
        }))
    }
}
