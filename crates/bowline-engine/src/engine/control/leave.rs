//! Which workers have left, by their own keys.

use bowline_store::Recent;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::limits;

/// One token for a worker, which fires when it leaves. Polls that it sent before may arrive after
/// its word: they find the token fired. It does not come back, for every worker that starts draws a
/// key of its own.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    tokens: Mutex<Recent<String, CancellationToken, { limits::WORKERS }>>,
}

impl Leaving {
    /// The token of a worker that polls here, or has left.
    pub(super) fn of(&self, worker: &str) -> CancellationToken {
        if worker.is_empty() {
            return CancellationToken::new();
        }
        let (worker, mut tokens) = (worker.to_owned(), self.tokens.lock());
        tokens.find(&worker).unwrap_or_else(|| {
            let token = CancellationToken::new();
            tokens.put(worker, token.clone());
            token
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_that_comes_after_the_word_is_told_too() {
        let leaving = Leaving::default();
        let (before, other) = (leaving.of("a"), leaving.of("b"));
        leaving.of("a").cancel();
        assert!(before.is_cancelled() && leaving.of("a").is_cancelled());
        assert!(!other.is_cancelled() && !leaving.of("b").is_cancelled());
        leaving.of("").cancel();
        assert!(!leaving.of("").is_cancelled(), "nobody's key is no worker's");
    }

    #[test]
    fn workers_that_never_said_so_take_no_room_for_ever() {
        let leaving = Leaving::default();
        for worker in 0..3 * limits::WORKERS {
            leaving.of(&worker.to_string());
        }
        let token = leaving.of("late");
        leaving.of("late").cancel();
        assert!(token.is_cancelled());
    }
}
