//! Hints on their way to one process.

use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use bowline_store::{Hint, Store, memory::MemoryStore};
use tokio::time::sleep;

use super::Line;
use crate::world::LEASE;

impl Line {
    /// Passes on what the rows hint at, for as long as the process lives.
    pub(crate) async fn pass_on(self: Arc<Self>, rows: MemoryStore) {
        let mut hints = rows.watch();
        loop {
            let heard = tokio::select! {
                biased;
                () = self.process.died() => return,
                heard = hints.next() => heard,
            };
            heard.into_iter().for_each(|hint| self.tell(hint));
        }
    }

    /// A hint comes, or does not.
    pub(crate) fn tell(self: &Arc<Self>, hint: Hint) {
        let n = self.told.fetch_add(1, SeqCst);
        let draw = self.chance.draw("hint", self.process.life.bits(), n);
        let weather = self.sky.weather();
        if draw.per_mille(weather.lost) {
            self.observer.reach("a hint is lost");
            return;
        }
        if !draw.next(1).per_mille(weather.late) {
            return self.listeners.tell(&[hint]);
        }
        let line = self.clone();
        let twice = draw.next(2).per_mille(300);
        self.observer.reach(if twice { "a hint comes twice" } else { "a hint is late" });
        let late = Duration::from_millis(draw.next(3).between(1, 1_500));
        self.runtime.spawn(async move {
            sleep(late).await;
            line.listeners.tell(std::slice::from_ref(&hint));
            if twice {
                sleep(late).await;
                line.listeners.tell(&[hint]);
            }
        });
    }

    /// What a store with a connection of its own does in the background: says that the process is
    /// alive, and looks everywhere now and then.
    pub(crate) async fn stay(self: Arc<Self>) {
        let every = Duration::from_millis(LEASE / 3);
        loop {
            tokio::select! {
                biased;
                () = self.process.died() => return,
                () = sleep(every) => {}
            }
            self.process.thawed().await;
            if self.process.is_dead() {
                return;
            }
            if !self.process.is_cut() {
                self.rows.keep_alive();
                self.observer.look();
                self.listeners.tell(&[Hint::Everything]);
            }
        }
    }
}
