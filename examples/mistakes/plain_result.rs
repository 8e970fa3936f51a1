//! A workflow returns a plain `Result`.

use std::io;

use bowline::prelude::*;

async fn checkout(_: Ctx) -> Result<u64, io::Error> {
    Ok(7)
}

fn main() {
    drop(Bowline::open("orders.db").workflow(checkout));
}
