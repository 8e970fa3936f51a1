//! An error that cannot be stored.

use bowline::prelude::*;

#[derive(Debug)]
struct PayError;

impl std::fmt::Display for PayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no money")
    }
}

impl std::error::Error for PayError {}

async fn charge(_: u64) -> Result<u64, PayError> {
    Err(PayError)
}

fn main() {
    drop(Bowline::open("orders.db").activity(charge));
}
