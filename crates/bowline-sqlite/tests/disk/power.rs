//! Power is lost at every moment of a workload: whatever was acknowledged by then is there.

use std::time::Instant;

use tempfile::TempDir;

use crate::{
    image::{Disk, Lost},
    is_thorough,
    trace::{self, Did},
    work,
};

/// Moments that are tried without [`is_thorough`].
const MOMENTS: usize = 60;

pub(crate) async fn every_moment() {
    let began = Instant::now();
    let folder = TempDir::new().expect("there is room for a folder");
    let (did, done) = trace::recorded(&folder.path().join("store.db"), None);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = did.iter().filter(|did| matches!(did, Did::Say(line) if line.starts_with("ack")));
    assert!(said.count() > 100, "a workload that says something");
    let checkpoints = syncs(&did, "store.db");
    assert!(checkpoints > 10, "the log is copied several times: {checkpoints}");
    let images = lose_power(&did, MOMENTS, "a whole disk").await;
    println!("power: {} operations, {images} images, {:.1?}", did.len(), began.elapsed());
}

fn syncs(did: &[Did], name: &str) -> usize {
    did.iter().filter(|did| matches!(did, Did::Sync { file, .. } if file == name)).count()
}

/// The sync at the end of a copying fails once, after pieces were copied that nobody has synced: what
/// they wrote may be gone, and the next sync says nothing of it. It went on as if all of that were in
/// the file, and used the log again: a torn file.
pub(crate) async fn after_a_failed_sync() {
    let began = Instant::now();
    let (mut images, mut hit) = (0, 0);
    let every = if is_thorough() { 1 } else { 4 };
    for nth in (1..=60).step_by(every) {
        let folder = TempDir::new().expect("there is room for a folder");
        let inject = format!("fdatasync:error=EIO:when={nth}");
        let (did, done) = trace::recorded(&folder.path().join("store.db"), Some(&inject));
        assert!(done.status.success(), "{nth}: {}", String::from_utf8_lossy(&done.stderr));
        let failed = did
            .iter()
            .any(|did| matches!(did, Did::Sync { file, ok: false, .. } if file == "store.db"));
        hit += usize::from(failed);
        images += lose_power(&did, 12, &format!("after sync {nth} of each thread failed")).await;
    }
    assert!(hit > 0, "no sync of the file itself was hit");
    println!("failed_sync: {hit} of the file itself, {images} images, {:.1?}", began.elapsed());
}

/// Builds the folder at some moments, and looks at it; answers how often.
async fn lose_power(did: &[Did], moments: usize, what: &str) -> usize {
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
        let seed = place as u64;
        for lost in [Lost::All, Lost::Nothing, Lost::Some(seed), Lost::Some(seed + 1_000_000)] {
            let folder = TempDir::new().expect("there is room for a folder");
            disk.build(folder.path(), lost);
            let looked = work::look(&folder.path().join("store.db"), &said).await;
            if let Err(why) = looked {
                for (at, did) in did.iter().enumerate().take(place + 1) {
                    println!("{at} {}", brief(did));
                }
                panic!("{what}, at operation {place} of {}, {lost:?}: {why}", did.len());
            }
            images += 1;
        }
    }
    images
}

fn brief(did: &Did) -> String {
    match did {
        Did::Write { file, at, bytes } => format!("write {file} {at} {}", bytes.len()),
        other => format!("{other:?}"),
    }
}
