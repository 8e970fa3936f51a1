//! Real time in between: while a child process runs, the clock goes as the machine's does.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

/// How many processes run. While there is one, virtual time does not jump, and does not stand
/// still either: what is to stop the process waits for real.
#[derive(Clone)]
pub(super) struct RealTime {
    runtime: Handle,
    going: Arc<Mutex<u32>>,
}

impl RealTime {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime, going: Arc::default() }
    }

    pub(super) fn begin_process(&self) -> Going {
        let mut going = self.going.lock();
        if *going == 0 {
            let _here = self.runtime.enter();
            tokio::time::resume();
        }
        *going += 1;
        Going(self.clone())
    }
}

/// A process that runs; dropped when it has ended, on any thread.
pub(super) struct Going(RealTime);

impl Drop for Going {
    fn drop(&mut self) {
        let RealTime { runtime, going } = &self.0;
        let mut going = going.lock();
        *going -= 1;
        if *going == 0 {
            let _here = runtime.enter();
            tokio::time::pause();
        }
    }
}
