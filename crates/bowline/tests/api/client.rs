//! Runs seen from outside.

use bowline::prelude::*;
use bowline::{ClientError, IfClosed, IfExists, RunError, Status};
use std::time::Duration;

use crate::Place;

const GO: Signal<u32> = Signal::new("go");

async fn waits(ctx: Ctx) -> bowline::Result<u32> {
    Ok(ctx.signal(GO).recv().await)
}

async fn other(_: Ctx) -> bowline::Result<String> {
    Ok("other".to_owned())
}

async fn started(place: &Place) -> Bowline {
    place.open().workflow(waits).workflow(other).start().await.expect("it starts")
}

#[tokio::test]
async fn an_id_is_taken_while_its_run_is_open() {
    let place = Place::new();
    let bowline = started(&place).await;
    let first = bowline.start(waits, "w", ()).await.unwrap();
    let refused = bowline.start(waits, "w", ()).await.unwrap_err();
    assert!(matches!(refused, ClientError::AlreadyStarted { .. }), "{refused}");
    assert_eq!(refused.code(), "id_taken");
    let same = bowline.start(waits, "w", ()).if_exists(IfExists::Attach).await.unwrap();
    assert_eq!(same.run_id(), first.run_id());
    let next = bowline.start(waits, "w", ()).if_exists(IfExists::Replace).await.unwrap();
    assert_ne!(next.run_id(), first.run_id());
    assert!(matches!(first.outcome().await.unwrap(), Err(Ended::Terminated(_))));
    next.signal(GO, 3).await.unwrap();
    assert_eq!(next.result().await.unwrap(), 3);
    let refused = bowline.start(waits, "w", ()).if_closed(IfClosed::Refuse).await;
    assert!(matches!(refused, Err(ClientError::AlreadyStarted { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_request_that_is_sent_twice_starts_one_run() {
    let place = Place::new();
    let bowline = started(&place).await;
    let one = bowline.start(waits, "w", ()).request_id("r").await.unwrap();
    let two = bowline.start(waits, "w", ()).request_id("r").await.unwrap();
    assert_eq!(one.run_id(), two.run_id());
}

#[tokio::test]
async fn a_signal_may_come_with_the_start() {
    let place = Place::new();
    let bowline = started(&place).await;
    let run = bowline.start(waits, "w", ()).with_signal(GO, 5).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 5);
}

#[tokio::test]
async fn a_run_is_found_again_by_its_id() {
    let place = Place::new();
    let bowline = started(&place).await;
    bowline.start(waits, "w", ()).await.unwrap();
    let run = bowline.attach(waits, "w");
    run.signal(GO, 9).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 9);
    let missing = bowline.attach(waits, "nobody").result().await.unwrap_err();
    assert_eq!(missing.to_string(), "there is no run of \"nobody\"");
    let wrong = bowline.attach(other, "w").result().await.unwrap_err();
    assert!(matches!(wrong, RunError::Client(ClientError::OtherWorkflow { .. })), "{wrong}");
}

#[tokio::test]
async fn runs_are_listed_described_and_deleted() {
    let place = Place::new();
    let bowline = started(&place).await;
    bowline.start(waits, "order-1", ()).tag("shop", "north").await.unwrap();
    bowline.start(waits, "order-2", ()).tag("shop", "south").await.unwrap();
    bowline.start(other, "parcel", ()).await.unwrap().result().await.unwrap();
    let ids = async |list: bowline::List| -> Vec<String> {
        list.oldest_first().all().await.unwrap().into_iter().map(|run| run.id).collect()
    };
    assert_eq!(ids(bowline.list().page_size(1)).await, ["order-1", "order-2", "parcel"]);
    assert_eq!(ids(bowline.list().open()).await, ["order-1", "order-2"]);
    assert_eq!(ids(bowline.list().tag("shop", "south")).await, ["order-2"]);
    assert_eq!(ids(bowline.list().id_prefix("par")).await, ["parcel"]);
    assert_eq!(ids(bowline.list().status(Status::Completed)).await, ["parcel"]);
    let parcel = bowline.run("parcel");
    let description = parcel.describe().await.unwrap();
    assert_eq!(description.summary.status, Status::Completed);
    assert_eq!(description.events, parcel.history().await.unwrap().len() as u64);
    parcel.delete("old").await.unwrap();
    bowline.run("order-1").terminate("closing").await.unwrap().wait(Phase::Clean).await.unwrap();
    assert_eq!(ids(bowline.list().status(Status::Terminated)).await, ["order-1"]);
}

#[tokio::test]
async fn a_run_goes_on_in_the_next_process() {
    let place = Place::new();
    let bowline = started(&place).await;
    bowline.start(waits, "w", ()).await.unwrap();
    bowline.close(Duration::from_secs(5)).await.unwrap();
    let again = started(&place).await;
    again.run("w").signal(GO, 4).await.unwrap();
    assert_eq!(again.attach(waits, "w").result().await.unwrap(), 4);
}

#[tokio::test]
async fn a_run_has_a_deadline_of_its_own() {
    let place = Place::new();
    let bowline = started(&place).await;
    let run = bowline.start(waits, "w", ()).deadline(Duration::from_millis(10)).await.unwrap();
    let ended = run.outcome().await.unwrap().unwrap_err();
    assert_eq!(ended.cause().map(|cause| cause.code), Some(bowline::Code::Deadline));
}

#[tokio::test]
async fn a_receipt_is_found_again_by_its_id() {
    let place = Place::new();
    let bowline = started(&place).await;
    let run = bowline.start(waits, "w", ()).await.unwrap();
    let id = run.cancel("enough").by("bob").await.unwrap().id();
    let tree = bowline.receipt(&id).unwrap().wait(Phase::Clean).await.unwrap();
    let text = tree.to_string();
    assert!(text.starts_with("cancel requested by bob (enough)\nw (waits) cancelled"), "{text}");
    assert!(text.ends_with("clean: nothing is left running"), "{text}");
    let bad = bowline.receipt("seven").unwrap_err();
    assert_eq!(bad.to_string(), "\"seven\" is not the id of a receipt");
}

const STAGE: Query<String> = Query::new("stage");

async fn shows(ctx: Ctx) -> bowline::Result<u32> {
    ctx.expose(STAGE, "waiting".to_owned());
    Ok(ctx.signal(GO).recv().await)
}

#[tokio::test]
async fn a_query_right_after_the_start_is_answered() {
    let place = Place::new();
    let bowline = place.open().workflow(shows).start().await.unwrap();
    for n in 0..20 {
        let run = bowline.start(shows, format!("s-{n}"), ()).await.unwrap();
        assert_eq!(run.query(STAGE).await.unwrap(), "waiting");
    }
}

const LEVEL: Query<u32> = Query::new("level");

async fn climbs(ctx: Ctx, level: u32) -> bowline::Result<u32> {
    let _shown = ctx.expose(LEVEL, level);
    if level < 2 {
        ctx.continue_as_new(climbs, level + 1).await
    }
    Ok(level + ctx.signal(GO).recv().await)
}

#[tokio::test]
async fn a_run_is_followed_where_it_goes_on() {
    let place = Place::new();
    let bowline = place.open().workflow(climbs).start().await.unwrap();
    let run = bowline.start(climbs, "c", 0).await.unwrap();
    while run.query(LEVEL).await.unwrap() < 2 {
        tokio::task::yield_now().await;
    }
    run.signal(GO, 5).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
}
