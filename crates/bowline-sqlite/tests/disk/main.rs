//! A disk that fails, and power that is lost: system calls of a process are made to fail from
//! outside of it, and its file operations are recorded, so that the files can be built again as
//! they may have lain on the disk at any moment.
//!
//! This program is both: started with a path, it works on a store there and says what was
//! acknowledged; started without, it starts itself under `strace`, and looks at what was left.

mod fault;
mod image;
mod power;
mod trace;
mod work;
#[path = "../it/world.rs"]
#[allow(dead_code)]
mod world;

use std::{io::Write, path::Path};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, path] = &arguments[..]
        && word == "work"
    {
        return work::work(Path::new(path)).await;
    }
    if !trace::is_there() {
        assert!(std::env::var_os("CI").is_none(), "strace is not installed, and must be here");
        say("skipped: strace is not installed, or may not trace");
        return;
    }
    let wanted = |name: &str| match &arguments[1..] {
        [only, ..] if !only.starts_with('-') => name.contains(only.as_str()),
        _ => true,
    };
    if wanted("power") {
        power::every_moment().await;
    }
    if wanted("failed_sync") {
        power::after_a_failed_sync().await;
    }
    if wanted("fault") {
        fault::every_call().await;
    }
}

/// Says how it went, for whoever looks.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// How much is tried: `BOWLINE_CHAOS` set to anything tries everything.
fn is_thorough() -> bool {
    std::env::var_os("BOWLINE_CHAOS").is_some()
}

/// Numbers that look random, the same each time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// True once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }
}
