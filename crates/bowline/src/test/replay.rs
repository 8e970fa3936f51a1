//! Holding today's code against a history that was recorded.

use std::{fmt, sync::Arc};

use bowline_engine::core::EventId;
use bowline_replay::{Fault, Mismatch, Replay, Workflow};

use crate::{Builder, Recording};

/// The result of a replay: the code still does what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// How many events were compared.
    pub events: u64,
    /// Whether the run was closed when it was recorded.
    pub closed: bool,
}

/// Why a recorded run cannot continue with today's code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Drift {
    /// Its workflow is not registered.
    Unregistered {
        /// The workflow that it is a run of.
        workflow: String,
    },
    /// The code does something else than it did.
    Differs {
        /// The workflow.
        workflow: String,
        /// The event where that shows.
        event: u64,
        /// What was recorded.
        recorded: String,
        /// What the code asks for now.
        asked: String,
        /// What to look for.
        hint: String,
        /// All of it, in several lines.
        report: String,
    },
    /// The code panics, or loops without waiting for anything.
    Fails {
        /// The workflow.
        workflow: String,
        /// The event before which that happens.
        event: u64,
        /// How.
        why: String,
    },
    /// The program itself cannot be started.
    Invalid(String),
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unregistered { workflow } => write!(
                f,
                "the recording is of the workflow {workflow:?}, which is not registered: was it \
                 renamed? Register it with `.workflow_with(…, |o| o.name({workflow:?}))`"
            ),
            Self::Differs { workflow, report, .. } => write!(f, "workflow {workflow:?}: {report}"),
            Self::Fails { workflow, event, why } => {
                write!(f, "workflow {workflow:?}, at event {event}: {why}")
            }
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Drift {}

/// Replays a recorded run against today's code. Do it in your CI, to find a change that would stop
/// open runs before you deploy it.
///
/// Record a run with [`AnyRun::record`](crate::AnyRun::record) and keep the file beside your tests.
/// Only workflow code runs: no activity is called and nothing is written. What the code asks for is
/// compared with what it asked for then.
///
/// # Errors
/// If the code does something else than was recorded. Printed, the error shows both sides, where
/// they differ, and what to look for.
///
/// ```no_run
/// # use bowline::prelude::*;
/// # fn app() -> bowline::Builder { Bowline::open("orders.db") }
/// #[test]
/// fn open_runs_go_on_with_todays_code() {
///     let recording = bowline::Recording::load("tests/recorded/checkout").unwrap();
///     bowline::test::replay(app(), &recording).unwrap_or_else(|drift| panic!("{drift}"));
/// }
/// ```
pub fn replay(builder: Builder, recording: &Recording) -> Result<Replayed, Drift> {
    let parts = builder.parts().map_err(|error| Drift::Invalid(error.to_string()))?;
    let workflow = recording.workflow().to_owned();
    let found = parts.workflows.into_iter().find(|(name, _)| name.as_str() == workflow);
    let Some((_, code)) = found else { return Err(Drift::Unregistered { workflow }) };
    // Workflow code runs outside any runtime, as it does in a real program.
    let replayed = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("bowline-replay".to_owned());
        let thread = thread.spawn_scoped(scope, || feed(code, recording));
        thread.expect("a thread can be started").join()
    });
    let replayed = replayed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    replayed.map_err(|(event, fault)| drift(workflow, event, fault))
}

fn feed(code: Arc<dyn Workflow>, recording: &Recording) -> Result<Replayed, (EventId, Fault)> {
    let mut replay = Replay::new(code, recording.run());
    let mut last = EventId(0);
    for event in recording.events() {
        last = event.id;
        replay.feed(event).map_err(|fault| (last, fault))?;
    }
    replay.settle().map_err(|fault| (last, fault))?;
    Ok(Replayed { events: recording.events().len() as u64, closed: replay.is_closed() })
}

fn drift(workflow: String, event: EventId, fault: Fault) -> Drift {
    match fault {
        Fault::Mismatch(mismatch) => {
            let Mismatch { event, recorded, asked, .. } = &*mismatch;
            Drift::Differs {
                workflow,
                event: event.0,
                recorded: recorded.clone(),
                asked: asked.clone(),
                hint: mismatch.hint().to_owned(),
                report: mismatch.to_string(),
            }
        }
        other => Drift::Fails { workflow, event: event.0, why: other.to_string() },
    }
}
