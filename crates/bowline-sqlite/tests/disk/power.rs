//! Power is lost at every moment of a workload: whatever was acknowledged by then is there.

use std::time::Instant;

use tempfile::TempDir;

use crate::{
    image::{Disk, Lost},
    is_thorough, say,
    trace::{self, Did},
    work,
};

/// Moments that are tried without [`is_thorough`].
const MOMENTS: usize = 60;
/// Syncs that are made to fail then.
const FAILED: usize = 8;
/// What becomes of everything that is not durable.
const LOST: [Lost; 4] = [Lost::All, Lost::Nothing, Lost::Some(1), Lost::Some(2)];

pub(crate) async fn every_moment() {
    let began = Instant::now();
    let folder = TempDir::new().expect("there is room for a folder");
    let (did, done) = trace::recorded(&folder.path().join("store.db"), None);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = did.iter().filter(|did| matches!(did, Did::Say(line) if line.starts_with("ack")));
    assert!(said.count() > 100, "a workload that says something");
    let checkpoints = syncs(&did, "store.db");
    assert!(checkpoints > 10, "the log is copied several times: {checkpoints}");
    let images = lose_power(&did, MOMENTS, "a whole disk", &LOST).await;
    say(&format!("power: {} operations, {images} images, {:.1?}", did.len(), began.elapsed()));
}

fn syncs(did: &[Did], name: &str) -> usize {
    did.iter().filter(|did| matches!(did, Did::Sync { file, .. } if file == name)).count()
}

/// The sync at the end of a copying fails once, after pieces were copied that nobody has synced:
/// what they wrote may be gone, and the next sync says nothing of it. It went on as if all of that
/// were in the file, and used the log again: a torn file.
pub(crate) async fn after_a_failed_sync() {
    let began = Instant::now();
    let folder = TempDir::new().expect("there is room for a folder");
    let (did, _) = trace::recorded(&folder.path().join("store.db"), None);
    let mut failing: Vec<usize> = did.iter().filter_map(of_file).map(|(nth, _)| nth).collect();
    failing.sort_unstable();
    failing.dedup();
    let every = if is_thorough() { 1 } else { (failing.len() / FAILED).max(1) };
    let (mut images, mut hit) = (0, 0);
    for nth in failing.into_iter().step_by(every) {
        let folder = TempDir::new().expect("there is room for a folder");
        let inject = format!("fdatasync:error=EIO:when={nth}");
        let (did, done) = trace::recorded(&folder.path().join("store.db"), Some(&inject));
        assert!(done.status.success(), "{nth}: {}", String::from_utf8_lossy(&done.stderr));
        hit += usize::from(did.iter().filter_map(of_file).any(|(_, ok)| !ok));
        let what = format!("after sync {nth} of each thread failed");
        images += lose_power(&did, 8, &what, &[Lost::All, Lost::Some(nth as u64)]).await;
    }
    assert!(hit > 0, "no sync of the file itself was hit");
    say(&format!(
        "failed_sync: {hit} of the file itself, {images} images, {:.1?}",
        began.elapsed()
    ));
}

/// Which sync of its thread it was, and whether it did what it should, if it was one of the file.
fn of_file(did: &Did) -> Option<(usize, bool)> {
    match did {
        Did::Sync { file, ok, nth, .. } if file == "store.db" => Some((*nth, *ok)),
        _ => None,
    }
}

/// Builds the folder at some moments, and looks at it; answers how often.
async fn lose_power(did: &[Did], moments: usize, what: &str, losses: &[Lost]) -> usize {
    let every = if is_thorough() { 1 } else { (did.len() / moments).max(1) };
    let (mut disk, mut said, mut images) = (Disk::default(), Vec::new(), 0);
    for (place, next) in did.iter().enumerate() {
        disk.step(place, next);
        if let Did::Say(line) = next {
            said.push(line.clone());
        }
        if place % every != every / 2 && place + 1 != did.len() {
            continue;
        }
        for lost in losses {
            let lost = match lost {
                Lost::Some(seed) => Lost::Some(seed * 1_000_000 + place as u64),
                lost => *lost,
            };
            let folder = TempDir::new().expect("there is room for a folder");
            disk.build(folder.path(), lost);
            let looked = work::look(&folder.path().join("store.db"), &said).await;
            if let Err(why) = looked {
                panic!("{what}, at operation {place} of {}, {lost:?}: {why}", did.len());
            }
            images += 1;
        }
    }
    images
}
