//! What a supervisor says about its attempt.

use std::fmt;

use bowline_core::{Ending, Fence, Payload, Rung, Time};

use super::{AttemptKey, ProcessMark};

/// What a supervisor says.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// About which attempt.
    pub attempt: AttemptKey,
    /// What proves that the reporter has it.
    pub fence: Fence,
    /// What happened.
    pub what: What,
}

/// What happened to an attempt. They come in the order of this list, `Ended` exactly once and the
/// others at most once; only `Heartbeat` comes many times, and `Processes` also at any moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum What {
    /// A cancel has reached the worker, and the code's token has fired.
    Delivered {
        /// When.
        at: Time,
    },
    /// The code has looked, and knows of the cancel.
    Observed {
        /// When.
        at: Time,
    },
    /// The code is alive. Several words may be gathered into one, the newest details win.
    Heartbeat {
        /// What it says about its progress; unset leaves what it said before.
        details: Option<Payload>,
    },
    /// The attempt's child processes are now these.
    Processes(Vec<ProcessMark>),
    /// The attempt is over for its run: settle it.
    Ended(Ended),
    /// What the code still had to say after `Ended`: a result or a failure, of interest to people.
    Late(Ending),
    /// After an `Ended` that could not wait for the code: now nothing of it runs any more.
    Stopped {
        /// When the last of it ended.
        at: Time,
        /// How far it had to be pushed.
        rung: Option<Rung>,
    },
    /// After an `Ended` that could not wait for the code: the code was given up.
    Leaked(Leak),
    /// Code that was given up has ended after all.
    LeakEnded {
        /// When.
        at: Time,
    },
}

impl What {
    /// Whether the attempt's slot is free with this report.
    pub(super) fn frees_slot(&self) -> bool {
        match self {
            Self::Ended(ended) => ended.stopped_at.is_some() || ended.leak.is_some(),
            Self::Stopped { .. } | Self::Leaked(_) => true,
            _ => false,
        }
    }
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What became of it.
    pub ending: Ending,
    /// How far it had to be pushed; unset if nobody told it to stop.
    pub rung: Option<Rung>,
    /// When a cancel reached the worker, if one did while the code ran.
    pub delivered_at: Option<Time>,
    /// When the code looked, if it is known that it did.
    pub observed_at: Option<Time>,
    /// When the last of it ended; unset while anything of it is known to run.
    pub stopped_at: Option<Time>,
    /// What could not be stopped and runs on.
    pub leak: Option<Leak>,
    /// How many clones of its context outlived it. They may work in code that was started behind
    /// the context's back, which nobody can stop or see.
    pub strays: usize,
}

/// What of an attempt could not be stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leak {
    /// Its own future: it does not give its thread back.
    pub future: bool,
    /// Futures started through its context that do not give their threads back.
    pub spawned: usize,
    /// Threads started through its context.
    pub blocking: usize,
    /// Child processes.
    pub processes: Vec<ProcessMark>,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (usize::from(self.future), "future"),
            (self.spawned, "spawned"),
            (self.blocking, "blocking"),
            (self.processes.len(), "process"),
        ];
        let mut comma = "";
        for (count, name) in parts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{comma}{count} {name}")?;
            comma = ", ";
        }
        Ok(())
    }
}
