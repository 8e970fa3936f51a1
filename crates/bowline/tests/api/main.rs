//! The crate as its users write it: every test is a small program of its own on a real file.

mod activities;
mod agent;
mod cancelling;
mod client;
mod mistakes;
mod order;
mod quote;
mod transaction;
mod trip;

use std::path::Path;

use bowline::{Bowline, Builder};
use tempfile::TempDir;

/// A file of its own, gone after the test.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn open(&self) -> Builder {
        Bowline::open(self.path().join("test.db"))
    }
}
