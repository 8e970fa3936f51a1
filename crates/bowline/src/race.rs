//! Waiting for the first, and for all: top to bottom, never at random.

use bowline_replay::LocalFuture;

pub use bowline_replay::{Either, either, join, join_all, try_join_all};

/// Waits for the first of many futures of one kind, and returns its index and value. The others are
/// dropped, and so cancelled, with the code `select_lost`.
pub async fn race<F: Future>(futures: impl IntoIterator<Item = F>) -> (usize, F::Output) {
    let boxed = futures.into_iter().map(|future| -> LocalFuture<'_, _> { Box::pin(future) });
    bowline_replay::race(boxed).await
}

/// Waits for the first of several futures, and runs its branch.
///
/// ```text
/// select! {
///     value = future => expression,
///     value = future => expression,
/// }
/// ```
///
/// The futures are polled from top to bottom, never at random, so that a run can be replayed. The
/// losers are dropped before the branch begins, and so cancelled, with the code `select_lost`. Any
/// futures will do, `async {}` blocks included; `return`, `break`, `continue` and `?` work in the
/// branches.
#[macro_export]
macro_rules! select {
    // The futures, nested: the first, or the first of the rest.
    (@race [$future:expr]) => { $future };
    (@race [$future:expr, $($rest:expr),+]) => {
        $crate::either($future, $crate::select!(@race [$($rest),+]))
    };
    // The branches, nested in the same way.
    (@branch $winner:ident [$pattern:pat => $branch:expr]) => {
        match $winner { $pattern => $branch }
    };
    (@branch $winner:ident [$pattern:pat => $branch:expr, $($rest:tt)+]) => {
        match $winner {
            $crate::Either::Left($pattern) => $branch,
            $crate::Either::Right(later) => $crate::select!(@branch later [$($rest)+]),
        }
    };
    // All are read.
    (@read [$($future:expr),+] [$($branches:tt)+]) => {{
        let winner = $crate::select!(@race [$($future),+]).await;
        $crate::select!(@branch winner [$($branches)+])
    }};
    // One branch after the other. A block needs no comma behind it.
    (@read [$($futures:expr),*] [$($branches:tt)*]
        $pattern:pat = $future:expr => $branch:block $(,)?) => {
        $crate::select!(@read [$($futures,)* $future] [$($branches)* $pattern => $branch])
    };
    (@read [$($futures:expr),*] [$($branches:tt)*]
        $pattern:pat = $future:expr => $branch:block, $($rest:tt)+) => {
        $crate::select!(
            @read [$($futures,)* $future] [$($branches)* $pattern => $branch,] $($rest)+
        )
    };
    (@read [$($futures:expr),*] [$($branches:tt)*]
        $pattern:pat = $future:expr => $branch:expr $(,)?) => {
        $crate::select!(@read [$($futures,)* $future] [$($branches)* $pattern => $branch])
    };
    (@read [$($futures:expr),*] [$($branches:tt)*]
        $pattern:pat = $future:expr => $branch:expr, $($rest:tt)+) => {
        $crate::select!(
            @read [$($futures,)* $future] [$($branches)* $pattern => $branch,] $($rest)+
        )
    };
    (@read [$($futures:expr),*] [$($branches:tt)*]
        $pattern:pat = $future:expr => $branch:block $($rest:tt)+) => {
        $crate::select!(
            @read [$($futures,)* $future] [$($branches)* $pattern => $branch,] $($rest)+
        )
    };
    ($($input:tt)+) => { $crate::select!(@read [] [] $($input)+) };
}

/// Waits for all of two to eight futures of any kinds, and returns their values as a tuple.
#[macro_export]
macro_rules! join {
    (@tuple $e:expr) => { ($e.await,) };
    (@tuple $($e:expr),+) => { $crate::join!($($e),+) };
    (@flat $a:ident $b:ident $c:ident $d:ident $rest:ident $e:expr) => {
        ($a, $b, $c, $d, $rest.0)
    };
    (@flat $a:ident $b:ident $c:ident $d:ident $rest:ident $e:expr, $f:expr) => {
        ($a, $b, $c, $d, $rest.0, $rest.1)
    };
    (@flat $a:ident $b:ident $c:ident $d:ident $rest:ident $e:expr, $f:expr, $g:expr) => {
        ($a, $b, $c, $d, $rest.0, $rest.1, $rest.2)
    };
    (@flat $a:ident $b:ident $c:ident $d:ident $rest:ident $e:expr, $f:expr, $g:expr, $h:expr) => {
        ($a, $b, $c, $d, $rest.0, $rest.1, $rest.2, $rest.3)
    };
    ($a:expr, $b:expr $(,)?) => { $crate::join($a, $b).await };
    ($a:expr, $b:expr, $c:expr $(,)?) => {{
        let (a, (b, c)) = $crate::join($a, $crate::join($b, $c)).await;
        (a, b, c)
    }};
    ($a:expr, $b:expr, $c:expr, $d:expr $(,)?) => {{
        let (a, (b, (c, d))) = $crate::join($a, $crate::join($b, $crate::join($c, $d))).await;
        (a, b, c, d)
    }};
    ($a:expr, $b:expr, $c:expr, $d:expr, $($rest:expr),+ $(,)?) => {{
        let ((a, b, c, d), rest) = $crate::join(
            async { $crate::join!($a, $b, $c, $d) },
            async { $crate::join!(@tuple $($rest),+) },
        ).await;
        $crate::join!(@flat a b c d rest $($rest),+)
    }};
}
