//! In which order a run hears of things.

use std::sync::OnceLock;

use bowline::prelude::*;
use tokio::sync::Semaphore;

use crate::Place;

const STOP: Signal<()> = Signal::new("stop");
const RUNS: usize = 200;

/// By the number of a run: that its activity runs, and that it may end.
static GATES: OnceLock<Vec<(Semaphore, Semaphore)>> = OnceLock::new();

fn gates() -> &'static [(Semaphore, Semaphore)] {
    GATES.get_or_init(|| (0..RUNS).map(|_| (Semaphore::new(0), Semaphore::new(0))).collect())
}

async fn waits(number: usize) -> bowline::Result<()> {
    let (began, go) = &gates()[number];
    began.add_permits(1);
    go.acquire().await.expect("it is never closed").forget();
    Ok(())
}

async fn goes_on() -> bowline::Result<()> {
    Ok(())
}

async fn races(ctx: Ctx, number: usize) -> bowline::Result<String> {
    let mut stop = ctx.signal(STOP);
    let heard = select! {
        done = ctx.activity(waits, number) => { done?; "the activity" },
        () = stop.recv() => "the signal",
    };
    // Or the turn would close the run, and such turns look twice anyway.
    ctx.activity(goes_on, ()).await?;
    Ok(heard.to_owned())
}

/// A signal that was acknowledged before an activity came to its end was heard after it in most
/// runs: the end was offered to the run's thread and written by its turn, while the signal still
/// waited in the inbox. Whatever is acknowledged first is heard first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_acknowledged_before_an_end_is_heard_before_it() {
    let place = Place::new();
    let app = place.open().workflow(races).activity(waits).activity(goes_on);
    let bowline = app.start().await.unwrap();
    let mut late = 0;
    for number in 0..RUNS {
        let run = bowline.start(races, format!("race-{number}"), number).await.unwrap();
        let (began, go) = &gates()[number];
        began.acquire().await.expect("it is never closed").forget();
        run.signal(STOP, ()).await.unwrap();
        go.add_permits(1);
        late += usize::from(run.result().await.unwrap() != "the signal");
    }
    assert_eq!(late, 0, "of {RUNS} runs so many heard of the activity first");
}
