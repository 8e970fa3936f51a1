//! A race with a time limit, an approval, an update and a query.

use std::time::Duration;

use bowline::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Place;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Status {
    Asking,
    Waiting(u64),
}

const APPROVE: Signal<bool> = Signal::new("approve");
const STATUS: Query<Status> = Query::new("status");
const RAISE: Update<u64, u64> = Update::new("raise");

async fn fast(item: String) -> bowline::Result<u64> {
    Ok(item.len() as u64 * 100)
}

async fn slow(ctx: ActivityCtx, _item: String) -> bowline::Result<u64> {
    ctx.cancelled().await;
    Err(bowline::Failure::new("too slow").into())
}

async fn quote(ctx: Ctx, item: String) -> bowline::Result<u64> {
    let status = ctx.expose(STATUS, Status::Asking);
    let (mut approvals, mut raises) = (ctx.signal(APPROVE), ctx.update(RAISE));
    let mut price = select! {
        price = ctx.activity(fast, &item) => price?,
        price = ctx.activity(slow, &item) => price?,
        _ = ctx.sleep(Duration::from_secs(5)) => {
            return Err(bowline::Failure::new("nobody answered").into())
        },
    };
    status.set(Status::Waiting(price));
    loop {
        select! {
            yes = approvals.recv() => return Ok(if yes { price } else { 0 }),
            raise = raises.recv() => { price += raise.input; raise.reply(Ok(price)) },
        }
    }
}

#[tokio::test]
async fn a_quote_is_raised_and_approved() {
    let place = Place::new();
    let app = place.open().workflow(quote).activity(fast).activity(slow);
    let bowline = app.start().await.expect("it starts");
    let run = bowline.start(quote, "quote", "rope").await.expect("it is started");
    assert_eq!(run.update(RAISE, 50).await.expect("it is raised"), 450);
    assert_eq!(run.query(STATUS).await.expect("it is shown"), Status::Waiting(400));
    run.signal(APPROVE, true).await.expect("it is sent");
    assert_eq!(run.result().await.expect("it is approved"), 450);
    assert_eq!(run.query(STATUS).await.expect("closed runs answer"), Status::Waiting(400));
}
