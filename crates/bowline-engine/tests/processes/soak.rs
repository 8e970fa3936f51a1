//! What a storm tells `cargo xtask soak`, which has them come back for hours: how many faults there
//! were, and how many promises were kept. A promise that was not kept has failed the test.

use std::io::Write;

use crate::verify::Aftermath;

/// The file to which a line is added; unset in tests.
const VARIABLE: &str = "BOWLINE_SOAK_TALLY";

/// By which number this storm differs from all others; 0 in tests.
pub(crate) fn number() -> u64 {
    let set = std::env::var("BOWLINE_SOAK_NUMBER").ok();
    set.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Adds a line, in which tabs stand between what is counted: `kind=count`.
pub(crate) fn tell(storm: &str, faults: &[(&str, usize)], after: &Aftermath) {
    let Some(file) = std::env::var_os(VARIABLE) else { return };
    let mut line = storm.to_owned();
    for (kind, count) in faults {
        line.push_str(&format!("\tfault {kind}={count}"));
    }
    for kind in ["start", "signal", "cancel", "terminate"] {
        let kept = after.promised(&format!("{kind} "));
        line.push_str(&format!("\tkept {kind}={kept}"));
    }
    line.push_str(&format!("\truns={}\n", after.histories.len()));
    let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the tally can be written");
}
