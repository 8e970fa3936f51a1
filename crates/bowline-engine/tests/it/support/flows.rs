//! Workflows and activities as the stories about cancels need them, again and again.

use std::time::Duration;

use bowline_core::{ActivitySpec, Ladder, Outcome, RetryPolicy, Span};
use bowline_engine::{Builder, Engine};
use bowline_replay::{Context, Ended, join_all};
use bowline_store::{ClaimedActivity, Commit};

use super::gate::Call;
use crate::world::{Code, activity, done};

/// An activity with so many seconds until it is aborted, and as many until it is given up.
pub(crate) fn work(grace: u64, step: u64) -> ActivitySpec {
    let span = |seconds| Span(Duration::from_secs(seconds));
    let ladder = Ladder { grace: span(grace), step: span(step), detach: false };
    ActivitySpec { ladder, ..activity("work", "1") }
}

/// An activity that is tried again after so many seconds, at most so often.
pub(crate) fn retried(pause: u64, attempts_max: u32) -> ActivitySpec {
    let initial = Span(Duration::from_secs(pause));
    let policy = RetryPolicy { initial, attempts_max, ..RetryPolicy::default() };
    ActivitySpec { retry: Some(policy), ..work(10, 5) }
}

/// Starts so many of an activity, and waits for all.
pub(crate) async fn all(
    ctx: Context,
    spec: ActivitySpec,
    count: usize,
) -> Result<Vec<Outcome>, Ended> {
    let calls: Vec<_> = (0..count).map(|_| ctx.activity(spec.clone()).start()).collect();
    Ok(join_all(calls).await)
}

pub(crate) trait Flows {
    /// The workflow `fan`: so many of one activity at once; fails as the first of them does.
    fn fan(self, spec: ActivitySpec, count: usize) -> Self;

    /// Starts the engine.
    async fn up(self) -> Engine;
}

impl Flows for Builder {
    fn fan(self, spec: ActivitySpec, count: usize) -> Self {
        self.flow("fan", move |ctx, _| {
            let spec = spec.clone();
            async move {
                for outcome in all(ctx, spec, count).await? {
                    done(outcome)?;
                }
                Ok(None)
            }
        })
    }

    async fn up(self) -> Engine {
        self.start().await.expect("the engine starts")
    }
}

/// A claim that has started something.
pub(crate) fn claimed(call: &Call<'_>) -> bool {
    matches!(call, Call::Activities([_, ..]))
}

/// The same, where the first of it is an attempt of this number.
pub(crate) fn claimed_attempt(number: u32) -> impl Fn(&Call<'_>) -> bool {
    let is_it = move |found: &ClaimedActivity| found.live.attempt == number;
    move |call| matches!(call, Call::Activities([first, ..]) if is_it(first))
}

/// A look at alarms that rang some.
pub(crate) fn rang(call: &Call<'_>) -> bool {
    matches!(call, Call::Fired(fired) if fired.rang > 0)
}

/// Any call at all.
pub(crate) fn any(_: &Call<'_>) -> bool {
    true
}

/// A commit that is meant.
pub(crate) fn commit(which: impl Fn(&Commit) -> bool) -> impl Fn(&Call<'_>) -> bool {
    move |call| matches!(call, Call::Commit(commit) if which(commit))
}

/// A commit that closes its run.
pub(crate) fn closing(call: &Call<'_>) -> bool {
    matches!(call, Call::Commit(commit) if commit.close.is_some())
}

/// A commit that lets go of its run, and does nothing else.
pub(crate) fn releasing(call: &Call<'_>) -> bool {
    let is_it = |commit: &Commit| commit.release && commit.batch.is_none();
    matches!(call, Call::Commit(commit) if is_it(commit))
}

/// A commit that starts an activity which it schedules.
pub(crate) fn starting(call: &Call<'_>) -> bool {
    let is_it = |commit: &Commit| commit.activities.iter().any(|new| new.start.is_some());
    matches!(call, Call::Commit(commit) if is_it(commit))
}

/// A commit that cancels activities.
pub(crate) fn cancelling(call: &Call<'_>) -> bool {
    matches!(call, Call::Commit(commit) if !commit.cancels.is_empty())
}
