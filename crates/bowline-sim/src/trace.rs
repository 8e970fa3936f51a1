//! The trace: every fact in its order, as a hash and, where somebody wants to read it, as a story.

use std::time::Duration;

use crate::chance::mix;

/// Facts in their order.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    hash: u64,
    facts: u64,
    story: Option<Vec<String>>,
}

/// How long a story may be; what is in its middle is left out.
const LINES_MAX: usize = 4_000;

impl Trace {
    pub(crate) fn new(tells: bool) -> Self {
        Self { story: tells.then(Vec::new), ..Self::default() }
    }

    /// A fact that only the hash takes in.
    pub(crate) fn feed(&mut self, what: u64) {
        self.facts += 1;
        self.hash = mix(self.hash ^ what);
    }

    /// A fact, in words.
    pub(crate) fn tell(&mut self, at: Duration, fact: impl FnOnce() -> String) {
        let micros = at.as_micros() as u64;
        match &mut self.story {
            None => self.feed(micros),
            Some(story) => {
                if story.len() == LINES_MAX {
                    story.remove(LINES_MAX / 2);
                }
                story.push(format!("{:>10.3} s  {}", at.as_secs_f64(), fact()));
                self.feed(micros);
            }
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn facts(&self) -> u64 {
        self.facts
    }

    pub(crate) fn story(&mut self) -> Vec<String> {
        self.story.take().unwrap_or_default()
    }
}
