//! How a workflow thread waits for its next piece of work.
//!
//! To wake a thread that sleeps on a core that sleeps takes longer than many a turn. So a thread
//! whose last wait was short looks again and again for a moment before it sleeps, and lets every
//! other thread go first. Where work comes seldom, nothing of that happens.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{Receiver, error::TryRecvError};

use super::handle::ThreadShared;
use crate::limits;

/// The waits of one thread.
pub(super) struct Waits {
    /// For how long it looks before it sleeps, if it does.
    patience: Duration,
    was_short: bool,
    /// Whether it looks is to be seen here.
    shared: Arc<ThreadShared>,
}

impl Waits {
    pub(super) fn new(shared: Arc<ThreadShared>) -> Self {
        // A single core has other things to do than to look whether somebody else has done them.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let patience = if cores > 1 { limits::SHORT_WAIT } else { Duration::ZERO };
        Self { patience, was_short: false, shared }
    }

    /// Waits for something; none when there will be no more.
    pub(super) fn next<T>(&mut self, mailbox: &mut Receiver<T>) -> Option<T> {
        if let Ok(work) = mailbox.try_recv() {
            return Some(work);
        }
        let since = Instant::now();
        if self.was_short {
            self.shared.looks.store(true, Ordering::Relaxed);
            let found = self.look(mailbox, since);
            self.shared.looks.store(false, Ordering::Relaxed);
            if found.is_some() {
                return found;
            }
        }
        let work = mailbox.blocking_recv();
        self.was_short = since.elapsed() < self.patience;
        work
    }

    /// Looks for something until it has taken too long, or there will be nothing.
    fn look<T>(&self, mailbox: &mut Receiver<T>, since: Instant) -> Option<T> {
        while since.elapsed() < self.patience {
            match mailbox.try_recv() {
                Err(TryRecvError::Empty) => std::thread::yield_now(),
                found => return found.ok(),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    #[test]
    fn what_comes_while_it_looks_and_while_it_sleeps_is_found() {
        let (sender, mut mailbox) = mpsc::channel(1);
        for was_short in [true, false] {
            let mut waits = Waits { was_short, ..Waits::new(Arc::default()) };
            let sending = sender.clone();
            let sent = std::thread::spawn(move || sending.blocking_send(1));
            assert_eq!(waits.next(&mut mailbox), Some(1));
            sent.join().expect("it ends").expect("somebody reads it");
        }
    }

    #[test]
    fn it_ends_with_the_last_sender() {
        for was_short in [true, false] {
            let (sender, mut mailbox) = mpsc::channel::<u8>(1);
            let mut waits = Waits { was_short, ..Waits::new(Arc::default()) };
            drop(sender);
            assert_eq!(waits.next(&mut mailbox), None);
        }
    }
}
