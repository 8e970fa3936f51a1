//! The one workflow, and its steps.

use std::{sync::OnceLock, time::Duration};

use dbos::{Enqueue, PendingStep, StartOptions, StepOptions, WorkflowRef, recv, step, step_with};
use futures_util::future::try_join_all;
use harness::{Work, probe};

const HOUR: Duration = Duration::from_secs(3600);

/// A queue where one workflow at a time may run.
pub(crate) const CROWD: &str = "crowd";

/// The workflow, as it starts itself as a child.
pub(crate) static SELF: OnceLock<WorkflowRef<Work, u32>> = OnceLock::new();

/// Does what it is told.
pub(crate) async fn perform(work: Work) -> dbos::Result<u32> {
    match work {
        Work::Hello => touch(1).await,
        Work::Nothing => Ok(0),
        Work::Chain { steps } => chain(steps).await,
        Work::Fanout { width } => {
            let all: Vec<_> = (0..width).map(touch).collect();
            Ok(try_join_all(all).await?.len() as u32)
        }
        Work::Children { width } => children(width, Work::Nothing, None).await,
        Work::Signals { count } => signals(count).await,
        Work::Hold => hold().await,
        Work::Sleep => {
            dbos::sleep(HOUR).await?;
            Ok(0)
        }
        Work::Race => race().await,
        Work::Crowd { width } => children(width, Work::Hold, Some(CROWD)).await,
        Work::Tree { children: width, activities } => {
            children(width, Work::Branch { activities }, None).await
        }
        Work::Branch { activities } => {
            let all: Vec<_> = (0..activities).map(|_| hold()).collect();
            Ok(try_join_all(all).await?.len() as u32)
        }
        Work::Long { steps } => {
            chain(steps).await?;
            signals(1).await
        }
    }
}

/// Ends by itself, at once.
fn touch(number: u32) -> PendingStep<'static, u32> {
    step("touch", move || async move {
        probe::step();
        Ok(number)
    })
}

/// Says that it was told when it is dropped.
struct Told;

impl Drop for Told {
    fn drop(&mut self) {
        probe::told();
    }
}

/// Runs until it is told. A step is told of a cancel only if it asked to be.
fn hold() -> PendingStep<'static, u32> {
    let options = StepOptions { preemptible: true, ..StepOptions::default() };
    step_with("hold", options, || async {
        probe::held();
        let _told = Told;
        std::future::pending().await
    })
}

async fn race() -> dbos::Result<u32> {
    dbos::select_step! {
        lost = hold() => lost?,
        won = step("win", || async { probe::win().await; Ok(1_u32) }) => won?,
    }
}

async fn chain(steps: u32) -> dbos::Result<u32> {
    for number in 0..steps {
        touch(number).await?;
    }
    Ok(steps)
}

async fn signals(count: u32) -> dbos::Result<u32> {
    let mut taken = 0;
    while taken < count {
        if recv::<u32, _>(None, HOUR).await?.is_some() {
            taken += 1;
        }
    }
    Ok(taken)
}

async fn children(width: u32, work: Work, queue: Option<&str>) -> dbos::Result<u32> {
    let perform = SELF.get().expect("it is set before the launch");
    let mut handles = Vec::new();
    for _ in 0..width {
        let options = StartOptions { queue: queue.map(Enqueue::new), ..StartOptions::default() };
        handles.push(perform.start_with(work.clone(), options).await?);
    }
    let all: Vec<_> = handles.into_iter().map(|handle| handle.result()).collect();
    Ok(try_join_all(all).await?.len() as u32)
}
