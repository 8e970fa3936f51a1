//! The future of an activity is bound to its thread.

use std::rc::Rc;

use bowline::prelude::*;

async fn charge(cents: u64) -> bowline::Result<u64> {
    let shared = Rc::new(cents);
    std::future::ready(()).await;
    Ok(*shared)
}

fn main() {
    drop(Bowline::open("orders.db").activity(charge));
}
