//! Questions to runs: those that are held here, and those that are replayed to be asked.

use bowline_core::{Name, Payload, RunId};
use bowline_replay::Replay;

use super::{
    super::{Cold, NativeAnswer},
    Thread,
};

impl Thread {
    /// Asks a run that is held here, unless its turn is being written: then nobody knows yet what
    /// it will have been.
    pub(super) fn query(
        &mut self,
        run: RunId,
        name: &Name,
        input: Option<Payload>,
    ) -> Option<NativeAnswer> {
        self.enter(run);
        let cached = self.cache.touch(run).filter(|cached| cached.state.is_some());
        let answer = match cached {
            Some(cached) => Some(cached.replay.query(name.as_str(), input)),
            None => None,
        };
        self.leave();
        answer
    }

    pub(super) fn cold(&mut self, cold: Cold) {
        let Cold { run, workflow, events, name, input, reply } = cold;
        self.enter(run);
        let mut replay = Replay::new(workflow, run);
        let fed = events.iter().try_for_each(|event| {
            self.go_on(run, event);
            replay.feed(event)
        });
        let answer = match fed.and_then(|()| replay.settle()) {
            Ok(()) => Ok(replay.query(name.as_str(), input)),
            Err(fault) => Err(fault.to_string()),
        };
        self.leave();
        let _ = reply.send(answer);
    }
}
