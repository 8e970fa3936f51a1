//! A function pointer has no name.

use std::{future::Ready, future::ready};

use bowline::prelude::*;

fn charge(_: u64) -> Ready<bowline::Result<u64>> {
    ready(Ok(7))
}

fn main() {
    let pointer: fn(u64) -> Ready<bowline::Result<u64>> = charge;
    drop(Bowline::open("orders.db").activity(pointer));
}
