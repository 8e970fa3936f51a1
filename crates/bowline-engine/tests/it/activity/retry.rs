//! Attempts that fail: tried again by the policy, by what the failure says, or not at all.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, EventKind, Failure, Outcome, Payload, Place, RetryPolicy, RetryState, RunEnding,
    RunId, Span, Time, Verdict,
};
use bowline_engine::{Builder, Engine, worker::activity::ActivityContext};
use bowline_store::Read;
use parking_lot::Mutex;

use crate::world::{Code, World, activity, ending, history, start, text, within};

crate::world::on_every_store! {
    some_failures_are_final,
    pauses_grow_keys_stay_and_fences_rise,
    attempts_are_used_up,
    a_failure_may_choose_the_pause,
    a_panic_is_tried_again,
}

const SECOND: Duration = Duration::from_secs(1);

/// What an attempt has seen of itself.
#[derive(Clone, Debug, PartialEq)]
struct Try {
    at: Time,
    attempt: u32,
    key: String,
    fence: u64,
    before: Option<String>,
}

#[derive(Clone, Default)]
struct Tries(Arc<Mutex<Vec<Try>>>);

impl Tries {
    fn note(&self, ctx: &ActivityContext) -> u32 {
        let info = ctx.info();
        self.0.lock().push(Try {
            at: info.started_at,
            attempt: info.attempt,
            key: ctx.idempotency_key(),
            fence: ctx.fence(),
            before: info.last_failure.as_ref().map(|failure| failure.message.clone()),
        });
        info.attempt
    }

    async fn count(&self, wanted: usize) {
        within(&format!("attempt {wanted}"), async {
            while self.0.lock().len() < wanted {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// Calls an activity that fails as `fails` says.
fn caller(
    builder: Builder,
    retry: Option<RetryPolicy>,
    tries: Tries,
    fails: impl Fn(u32) -> Option<Failure> + Clone + Send + Sync + 'static,
) -> Builder {
    builder
        .flow("caller", move |ctx, _| {
            let spec = ActivitySpec { retry: retry.clone(), ..activity("flaky", "1") };
            async move {
                let said = match ctx.activity(spec).await {
                    Outcome::Completed(_) => "ok".to_owned(),
                    Outcome::Failed(failure) => failure.to_string(),
                    other => format!("{other:?}"),
                };
                Ok(Some(Payload::json(said)))
            }
        })
        .act("flaky", move |ctx, _| {
            let attempt = tries.note(&ctx);
            let failure = fails(attempt);
            async move { failure.map_or(Ok(None), Err) }
        })
}

async fn said(engine: &Engine, run: RunId) -> String {
    match ending(engine, run).await {
        RunEnding::Completed(said) => text(&said),
        other => panic!("{other:?}"),
    }
}

/// When the activity may be tried again.
async fn pauses_until(engine: &Engine, run: RunId) -> Time {
    within("a pause", async {
        loop {
            let read = Read { activities_max: 10, ..Read::inbox(run) };
            let rows = engine.read(read).await.expect("it reads").activities;
            if let Some(Place::Queued { due }) = rows.first().map(|row| &row.live.place)
                && *due > engine.now()
            {
                return *due;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// The pauses grow as the policy says; every attempt has the same key, a higher fence, and knows
/// how the one before it failed. History shows the attempt that counted.
async fn pauses_grow_keys_stay_and_fences_rise(world: World) {
    let tries = Tries::default();
    let fails = |attempt| (attempt < 4).then(|| Failure::new(format!("no {attempt}")));
    let retry = Some(RetryPolicy::default());
    let engine = caller(world.builder(), retry, tries.clone(), fails).start().await.expect("");
    let run = start(&engine, "caller", "c-1").await;
    for (attempt, pause) in [(1, 1), (2, 2), (3, 4)] {
        tries.count(attempt).await;
        let due = pauses_until(&engine, run).await;
        assert_eq!(due.since(engine.now()), pause * SECOND);
        world.advance(pause * SECOND - Duration::from_micros(1));
        let held = Read { activities_max: 1, ..Read::inbox(run) };
        let rows = engine.read(held).await.expect("").activities;
        assert!(matches!(rows[0].live.place, Place::Queued { .. }), "not a moment too early");
        world.advance(Duration::from_micros(1));
    }
    assert_eq!(said(&engine, run).await, "ok");
    let events = history(&engine, run).await;
    let tries = tries.0.lock();
    let column = |of: fn(&Try) -> String| tries.iter().map(of).collect::<Vec<_>>();
    assert_eq!(column(|t| t.attempt.to_string()), ["1", "2", "3", "4"]);
    assert_eq!(column(|t| t.before.clone().unwrap_or_default()), ["", "no 1", "no 2", "no 3"]);
    assert!(tries.iter().all(|t| t.key == tries[0].key && !t.key.is_empty()));
    assert!(tries.is_sorted_by(|a, b| a.fence < b.fence));
    let started: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ActivityStarted(started) => Some(started.attempt),
            _ => None,
        })
        .collect();
    assert_eq!(started, [4]);
}

/// When its attempts are used up, the last failure is the outcome, and says why it is the last.
async fn attempts_are_used_up(world: World) {
    let tries = Tries::default();
    let retry = RetryPolicy { attempts_max: 2, ..RetryPolicy::default() };
    let fails = |attempt| Some(Failure::new(format!("no {attempt}")));
    let engine =
        caller(world.builder(), Some(retry), tries.clone(), fails).start().await.expect("");
    let run = start(&engine, "caller", "c-1").await;
    tries.count(1).await;
    pauses_until(&engine, run).await;
    world.advance(SECOND);
    assert_eq!(said(&engine, run).await, "no 2");
    assert_eq!(retry_state(&engine, run).await, RetryState::AttemptsUsed);
    assert_eq!(tries.0.lock().len(), 2);
}

/// A failure of a kind that the policy names, one that says never, and one without any policy are
/// not tried again.
async fn some_failures_are_final(mut world: World) {
    let named = RetryPolicy { non_retryable: vec!["Fatal".to_owned()], ..RetryPolicy::default() };
    let plain = Failure::new("no");
    let table = [
        (Some(named), plain.clone().kind("Fatal"), RetryState::NonRetryable),
        (Some(RetryPolicy::default()), plain.clone().final_(), RetryState::NonRetryable),
        (None, plain, RetryState::NoPolicy),
    ];
    for (retry, failure, wanted) in table {
        world.reopen();
        let tries = Tries::default();
        let fails = move |_| Some(failure.clone());
        let engine = caller(world.builder(), retry, tries.clone(), fails).start().await.expect("");
        let run = start(&engine, "caller", "c-1").await;
        assert!(said(&engine, run).await.ends_with("no"));
        assert_eq!(retry_state(&engine, run).await, wanted);
        assert_eq!(tries.0.lock().len(), 1);
    }
}

/// A failure may choose its own pause.
async fn a_failure_may_choose_the_pause(world: World) {
    let tries = Tries::default();
    let fails = |attempt| {
        let verdict = Verdict::After(Span(777 * SECOND));
        (attempt == 1).then(|| Failure { verdict, ..Failure::new("later") })
    };
    let retry = Some(RetryPolicy::default());
    let engine = caller(world.builder(), retry, tries.clone(), fails).start().await.expect("");
    let run = start(&engine, "caller", "c-1").await;
    tries.count(1).await;
    let due = pauses_until(&engine, run).await;
    assert_eq!(due.since(engine.now()), 777 * SECOND);
    world.advance(777 * SECOND);
    assert_eq!(said(&engine, run).await, "ok");
}

/// A panic is a failure like any other: it is tried again, and the process lives on.
async fn a_panic_is_tried_again(world: World) {
    let tries = Tries::default();
    let fails = |attempt: u32| {
        assert!(attempt > 1, "the first one panics");
        None
    };
    let retry = Some(RetryPolicy::default());
    let engine = caller(world.builder(), retry, tries.clone(), fails).start().await.expect("");
    let run = start(&engine, "caller", "c-1").await;
    tries.count(1).await;
    pauses_until(&engine, run).await;
    world.advance(SECOND);
    assert_eq!(said(&engine, run).await, "ok");
    assert!(tries.0.lock()[1].before.as_ref().expect("it failed").contains("the first one panics"));
}

async fn retry_state(engine: &Engine, run: RunId) -> RetryState {
    let events = history(engine, run).await;
    let failed = events.iter().find_map(|event| match &event.kind {
        EventKind::ActivityFailed(failed) => Some(failed.retry),
        _ => None,
    });
    failed.expect("it failed")
}
