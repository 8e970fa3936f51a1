//! A newcomer's first mistakes: the message names the fix.

use bowline::prelude::*;
use bowline::{Builder, ClientError, RunError};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::sleep as runtimes_own;

use crate::Place;

async fn charge(cents: u32) -> bowline::Result<u32> {
    Ok(cents)
}

mod shop {
    pub(crate) async fn charge(cents: u32) -> bowline::Result<u32> {
        Ok(cents)
    }
}

async fn generic<T: Default + Send + 'static>() -> bowline::Result<()> {
    drop(T::default());
    Ok(())
}

struct Till;

impl Till {
    async fn open(&self) -> bowline::Result<()> {
        Ok(())
    }
}

async fn refused(app: Builder) -> String {
    match app.start().await {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn two_functions_of_one_name_are_refused() {
    let text = refused(Place::new().open().activity(charge).activity(shop::charge)).await;
    assert!(text.contains("two functions are registered as the activity \"charge\""), "{text}");
    assert!(text.contains(".activity_with(…, |o| o.name(\"…\"))"), "{text}");
}

#[tokio::test]
async fn two_functions_may_have_one_name_each() {
    let place = Place::new();
    let app = place.open().activity(charge);
    app.activity_with(shop::charge, |o| o.name("shop-charge")).start().await.expect("it starts");
}

#[tokio::test]
async fn a_generic_function_and_a_closure_need_a_name() {
    let text = refused(Place::new().open().activity(generic::<u8>)).await;
    assert!(text.contains("generic") && text.contains(".activity_with("), "{text}");
    let text = refused(Place::new().open().activity(async |_: u32| bowline::Ok(()))).await;
    assert!(text.contains("closure") && text.contains(".activity_with("), "{text}");
}

#[tokio::test]
async fn a_method_without_its_state_is_refused() {
    let text = refused(Place::new().open().activity(Till::open)).await;
    assert!(text.contains("Till::open") && text.contains(".state(Till { .. })"), "{text}");
}

#[tokio::test]
async fn every_fault_is_told_at_once() {
    let app = Place::new().open().activity(Till::open).activity(charge).activity(shop::charge);
    assert_eq!(refused(app).await.lines().count(), 2);
}

#[tokio::test]
async fn a_function_with_two_names_is_refused() {
    let app = Place::new().open().activity(charge);
    let text = refused(app.activity_with(charge, |o| o.name("charge-v2"))).await;
    assert!(text.contains("\"charge\"") && text.contains("\"charge-v2\""), "{text}");
}

#[tokio::test]
async fn a_retry_that_makes_no_sense_is_refused() {
    let never = Retry::every(Duration::ZERO);
    let text = refused(Place::new().open().activity_with(charge, |o| o.retry(never))).await;
    assert!(text.contains("charge") && text.contains("longer than zero"), "{text}");
}

#[tokio::test]
async fn a_queue_in_which_nothing_could_run_is_refused() {
    let text = refused(Place::new().open().queue("gpu", 0)).await;
    assert!(text.contains("gpu") && text.contains("no slots"), "{text}");
    let text = refused(Place::new().open().queue_rate("mail", 0)).await;
    assert!(text.contains("mail") && text.contains("rate is zero"), "{text}");
}

#[tokio::test]
async fn a_place_that_is_none_is_refused() {
    let text = refused(Bowline::open("mysql://somewhere")).await;
    assert!(text.contains("mysql://somewhere"), "{text}");
}

async fn forgets_to_register(ctx: Ctx) -> bowline::Result<u32> {
    Ok(ctx.activity(charge, 7).await?)
}

async fn sleeps_with_tokio(_: Ctx) -> bowline::Result<()> {
    runtimes_own(Duration::from_millis(1)).await;
    Ok(())
}

async fn spawns_with_tokio(_: Ctx) -> bowline::Result<()> {
    drop(tokio::spawn(async {}));
    Ok(())
}

/// What the client is told about a run whose code cannot go on.
async fn parked<F, M>(workflow: F) -> String
where
    F: bowline::Workflow<M, Input = ()>,
    F::Error: std::fmt::Display + std::fmt::Debug,
{
    let place = Place::new();
    let bowline = place.open().workflow(workflow).start().await.expect("it starts");
    let run = bowline.start(workflow, "w", ()).await.expect("it is started");
    match run.result().await {
        Err(RunError::Client(error @ ClientError::Parked { .. })) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it ended"),
    }
}

#[tokio::test]
async fn an_activity_that_was_not_registered_is_named() {
    let text = parked(forgets_to_register).await;
    assert!(text.contains("charge` is not registered: add `.activity(charge)`"), "{text}");
    assert!(text.contains(concat!(", at ", file!(), ":")), "the place of the call: {text}");
}

#[tokio::test]
async fn a_sleep_of_the_runtime_names_the_contexts_timers() {
    let text = parked(sleeps_with_tokio).await;
    assert!(text.contains("use `ctx.sleep`"), "{text}");
}

#[tokio::test]
async fn a_spawn_of_the_runtime_names_the_way_out() {
    let text = parked(spawns_with_tokio).await;
    assert!(text.contains("outside any async runtime"), "{text}");
}

/// A thread sends as soon as somebody waits for it.
async fn waits_for_a_thread(_: Ctx) -> bowline::Result<()> {
    let (answer, mut answered) = tokio::sync::oneshot::channel();
    let (ask, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || asked.recv().map(|()| answer.send(())));
    let waits = std::future::poll_fn(|cx| {
        let polled = std::pin::Pin::new(&mut answered).poll(cx);
        ask.send(()).expect("the thread listens");
        polled
    });
    waits.await.expect("the thread answers");
    Ok(())
}

/// The run hung in silence: its waker was called, and nobody had a turn for it.
#[tokio::test]
async fn a_channel_that_a_thread_feeds_parks_the_run_and_says_why() {
    let text = parked(waits_for_a_thread).await;
    assert!(text.contains("something that is not durable"), "{text}");
    assert!(text.contains("Do such work in an activity"), "{text}");
}

/// Somebody has the other end, and nothing to say.
async fn waits_for_a_silent_thread(_: Ctx) -> bowline::Result<()> {
    let (answer, answered) = tokio::sync::oneshot::channel::<()>();
    std::mem::forget(answer);
    answered.await.expect("somebody answers");
    Ok(())
}

/// A run that waited for a thread left memory before the thread had said anything. With it went the
/// waker, so that the run hung in silence: it is known beforehand, and parked.
#[tokio::test]
async fn a_run_that_waits_for_a_thread_alone_is_parked_before_it_leaves_memory() {
    let text = parked(waits_for_a_silent_thread).await;
    assert!(text.contains("and nothing else"), "{text}");
    assert!(text.contains("Do such work in an activity"), "{text}");
}

async fn old_name(ctx: Ctx) -> bowline::Result<()> {
    ctx.signal(Signal::<()>::new("go")).recv().await;
    Ok(())
}

async fn new_name(ctx: Ctx) -> bowline::Result<()> {
    old_name(ctx).await
}

#[tokio::test]
async fn runs_of_a_renamed_function_are_listed() {
    let place = Place::new();
    let bowline = place.open().workflow(old_name).start().await.unwrap();
    bowline.start(old_name, "w", ()).await.unwrap();
    bowline.close(Duration::from_secs(5)).await.unwrap();
    let renamed = place.open().workflow(new_name).start().await.unwrap();
    assert_eq!(renamed.unregistered().await.unwrap(), [("old_name".to_owned(), 1)]);
    renamed.close(Duration::from_secs(5)).await.unwrap();
    let app = place.open().workflow_with(new_name, |o| o.name("old_name"));
    let mended = app.start().await.unwrap();
    mended.run("w").signal(Signal::<()>::new("go"), ()).await.unwrap();
    mended.attach(new_name, "w").result().await.unwrap();
}

static TIMES: AtomicU32 = AtomicU32::new(0);

/// Stands for a `tokio::select!` that is not biased: another branch the next time.
async fn by_chance(ctx: Ctx) -> bowline::Result<()> {
    match TIMES.fetch_add(1, Ordering::SeqCst) {
        0 => drop(ctx.activity(charge, 7).await?),
        _ => ctx.sleep(Duration::from_secs(1)).await?,
    }
    ctx.signal(Signal::<()>::new("go")).recv().await;
    Ok(())
}

#[tokio::test]
async fn a_random_choice_is_reported_with_its_usual_suspects() {
    let place = Place::new();
    let bowline = place.open().workflow(by_chance).activity(charge).start().await.unwrap();
    let run = bowline.start(by_chance, "w", ()).await.unwrap();
    while !run.history().await.unwrap().iter().any(|event| event.kind == "ActivityCompleted") {
        tokio::task::yield_now().await;
    }
    bowline.close(Duration::from_secs(5)).await.unwrap();
    let again = place.open().workflow(by_chance).activity(charge).start().await.unwrap();
    let run = again.attach(by_chance, "w");
    run.signal(Signal::<()>::new("go"), ()).await.unwrap();
    let text = run.result().await.unwrap_err().to_string();
    for part in ["recorded:", "asked:", "tokio::select!", "biased"] {
        assert!(text.contains(part), "{text}");
    }
}
