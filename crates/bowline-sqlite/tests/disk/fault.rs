//! Every n-th call of each kind fails, once or from then on: the file is whole afterwards, nothing
//! acknowledged is lost, and whoever asked was told in a way that has a type.

use std::time::Instant;

use tempfile::TempDir;

use crate::{is_thorough, say, trace, work};

/// Calls that are made to fail.
const CALLS: [&str; 5] = ["pwrite64", "fdatasync", "ftruncate", "unlink", "fsync"];

/// Numbers of each that are tried without [`is_thorough`].
const TRIED: usize = 4;

/// A few more than were counted: two workloads never go quite alike.
const MORE: usize = 8;

pub(crate) async fn every_call() {
    let (began, mut children, mut told) = (Instant::now(), 0, 0);
    let folder = TempDir::new().expect("there is room for a folder");
    let most = trace::counted(&folder.path().join("store.db"), &CALLS);
    for (call, counted) in CALLS.into_iter().zip(&most) {
        assert!(*counted > 0, "the workload never calls {call}");
        let most = counted + if is_thorough() { MORE } else { 0 };
        let every = if is_thorough() { 1 } else { most.div_ceil(TRIED) };
        for (index, nth) in (1..=most).step_by(every).enumerate() {
            for (error, when) in [("EIO", ""), ("ENOSPC", "+"), ("EIO", "+"), ("ENOSPC", "")] {
                // A few of each are enough to find a hang or a panic.
                if !is_thorough() && (error == "EIO") != index.is_multiple_of(2) {
                    continue;
                }
                told += one(&format!("{call}:error={error}:when={nth}{when}")).await;
                children += 1;
            }
        }
    }
    assert!(told > 0, "nothing ever failed");
    say(&format!(
        "fault: of each thread up to {most:?} calls of {CALLS:?}; {children} children, {told} \
         errors told, {:.1?}",
        began.elapsed()
    ));
}

/// Answers how many errors were told.
async fn one(inject: &str) -> usize {
    let folder = TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("store.db");
    let done = trace::faulty(&path, inject);
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{inject}: {:?}\n{out}\n{errors}", done.status);
    assert!(!errors.contains("panicked"), "{inject}: {errors}");
    let said: Vec<String> = out.lines().map(str::to_owned).collect();
    if let Err(why) = work::look(&path, &said).await {
        panic!("{inject}: {why}");
    }
    said.iter().filter(|line| line.starts_with("error ")).count()
}
