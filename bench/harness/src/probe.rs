//! Where activities say when they ran and when they were told to stop. One board per process:
//! activities of every system run in the peer, so all are timed by one clock.

use std::{
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

#[derive(Default)]
struct Board {
    steps: Vec<Instant>,
    is_timed: bool,
    held: Vec<Instant>,
    told: Vec<Instant>,
    won: Vec<Instant>,
}

static BOARD: LazyLock<Mutex<Board>> = LazyLock::new(Mutex::default);
static CHANGED: LazyLock<Notify> = LazyLock::new(Notify::new);

fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An activity that only counts has run.
pub fn step() {
    let mut board = board();
    if board.is_timed {
        board.steps.push(Instant::now());
    }
}

/// An activity that waits to be told has begun.
pub fn held() {
    board().held.push(Instant::now());
    CHANGED.notify_waiters();
}

/// Such an activity was told.
pub fn told() {
    board().told.push(Instant::now());
    CHANGED.notify_waiters();
}

/// The winner of a race: ends as soon as the loser runs.
pub async fn win() {
    until(|board| !board.held.is_empty()).await;
    board().won.push(Instant::now());
}

/// Begins a new measurement.
pub fn reset() {
    *board() = Board { is_timed: true, ..Board::default() };
}

/// When the counted activities ran.
pub fn steps() -> Vec<Instant> {
    board().steps.clone()
}

/// When those that wait were told.
pub fn told_at() -> Vec<Instant> {
    board().told.clone()
}

/// When the winners of races ended.
pub fn won_at() -> Vec<Instant> {
    board().won.clone()
}

/// When activities began to wait.
pub fn held_at() -> Vec<Instant> {
    board().held.clone()
}

/// How many activities wait to be told, or waited.
pub fn held_count() -> usize {
    board().held.len()
}

/// Waits until this many activities have begun to wait.
pub async fn until_held(count: usize) {
    until(|board| board.held.len() >= count).await;
}

/// Waits until this many were told; says whether they were in time.
pub async fn until_told(count: usize, within: Duration) -> bool {
    tokio::time::timeout(within, until(|board| board.told.len() >= count)).await.is_ok()
}

async fn until(is_so: impl Fn(&Board) -> bool) {
    loop {
        let changed = CHANGED.notified();
        tokio::pin!(changed);
        // Registered before the look, so that a change in between is not missed.
        changed.as_mut().enable();
        if is_so(&board()) {
            return;
        }
        changed.await;
    }
}
