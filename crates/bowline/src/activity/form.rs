//! The forms that an activity's function may have, each told apart by a marker: what is left of
//! its signature, beside the state if it has one.

use std::{pin::Pin, sync::Arc};

use bowline_engine::worker::registry::ActivityCode;
use serde::de::DeserializeOwned;

use super::{Activity, ActivityCtx, Returned, code};
use crate::{registry::States, value};

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

/// A form, without a state and with one: the arguments that are left, what its input is, and how
/// the arguments are had from the context and the payload.
macro_rules! form {
    (
        [$($generic:ident)?] ($($type:ty),*) $input:ty,
        |$ctx:ident, $payload:ident| $($value:expr),*
    ) => {
        impl<F, $($generic,)? B, R> Activity<fn($($type),*) -> R> for F
        where
            F: Fn($($type),*) -> B + Copy + Send + Sync + 'static,
            $($generic: DeserializeOwned + Send + 'static,)?
            B: Future<Output = R> + Send + 'static,
            R: Returned,
        {
            type Input = $input;
            type Output = R::Output;
            type Error = R::Error;
            type Returned = R;

            fn code(self, _: &States) -> Result<Arc<dyn ActivityCode>, String> {
                Ok(code(move |$ctx, $payload| {
                    Box::pin(async move { self($($value),*).await.answer(&$ctx) })
                }))
            }
        }

        impl<F, S, $($generic,)? R> Activity<(S, fn($($type),*) -> R)> for F
        where
            F: for<'a> Method<'a, S, ($($type,)*), Returned = R> + Copy + Send + Sync + 'static,
            S: Send + Sync + 'static,
            $($generic: DeserializeOwned + Send + 'static,)?
            R: Returned,
        {
            type Input = $input;
            type Output = R::Output;
            type Error = R::Error;
            type Returned = R;

            fn code(self, states: &States) -> Result<Arc<dyn ActivityCode>, String> {
                let state = state::<S, F>(states)?;
                Ok(code(move |$ctx, $payload| {
                    let state = state.clone();
                    Box::pin(async move { self.call(&state, ($($value,)*)).await.answer(&$ctx) })
                }))
            }
        }
    };
}

form!([] () (), |ctx, _payload|);
form!([](ActivityCtx)(), |ctx, _payload| ctx.clone());
form!([I] (I) I, |ctx, payload| value::decode(payload.as_ref())?);
form!([I] (ActivityCtx, I) I, |ctx, payload| ctx.clone(), value::decode(payload.as_ref())?);
