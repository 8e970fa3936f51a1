//! Runs and parts of them are stopped, and receipts say how far that has come.

use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn a_cancel_is_clean_when_nothing_is_left_running() {
    let world = World::new().await;
    world.start("parent", "p-1").await;
    world.held(1).await;
    let tree = world.get("runs/p-1/tree").await.is(200);
    assert_eq!(tree["runs"][0]["children"][0]["id"], "the-child");
    let body = json!({ "reason": "out of stock", "by": "alice", "ladder": { "grace_ms": 60000 } });
    let asked = world.post("runs/p-1/cancel", body.clone()).await;
    let location = asked.headers["location"].to_str().expect("text").to_owned();
    let asked = asked.is(202);
    assert_eq!((&asked["met"], &asked["status"]), (&json!("asked"), &json!("running")));
    let receipt = world.get(&format!("{location}?wait=clean&within_ms=60000")).await.is(200);
    assert_eq!((&receipt["phase"], &receipt["clean"]), (&json!("clean"), &json!(true)));
    assert_eq!(
        (&receipt["why"]["by"], &receipt["why"]["reason"]),
        (&json!("alice"), &json!("out of stock"),)
    );
    assert_eq!(receipt["why"]["grace_ms"], 60_000);
    assert_eq!((&receipt["awaited"], &receipt["running"]), (&json!([]), &json!(0)));
    let top = &receipt["tree"][0];
    let activity = &top["children"][0]["activities"][0];
    assert_eq!((&top["id"], &activity["name"]), (&json!("p-1"), &json!("hold")));
    assert_eq!((&activity["rung"], &activity["running"]), (&json!("signal"), &json!(false)));
    for hop in ["decided_ms", "delivered_ms", "observed_ms", "stopped_ms"] {
        assert!(activity["hops"][hop].is_f64(), "{hop}: {activity}");
    }
    assert_eq!(activity["why"]["because"]["code"], "parent_cancelled", "{activity}");
    let again = world.post("runs/p-1/cancel", body).await.is(202);
    assert_eq!((&again["met"], &again["status"]), (&json!("over"), &json!("cancelled")));
    let list = world.get("runs?status=cancelled&order=oldest").await.is(200);
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(world.get("orphans").await.is(200)["count"], 0);
}

#[tokio::test]
async fn a_second_request_says_that_it_is_one() {
    let world = World::new().await;
    world.start("broken", "b-1").await;
    world.until("b-1", "parked").await;
    let asked = world.post("runs/b-1/cancel", json!({ "reason": "first" })).await.is(202);
    let again = world.post("runs/b-1/cancel", json!({ "reason": "second" })).await.is(202);
    assert_eq!((&asked["met"], &again["met"]), (&json!("asked"), &json!("again")));
    let run = world.get("runs/b-1").await.is(200);
    assert_eq!(run["cancel"]["why"]["reason"], "first", "it stays");
    // Nobody can decide it: the wait ends with how far it has come.
    let receipt = asked["receipt"].as_str().expect("an id");
    let waited = world.get(&format!("receipts/{receipt}?wait=clean&within_ms=1")).await.is(200);
    assert_eq!((&waited["phase"], &waited["settled"]), (&json!("requested"), &json!(false)));
    assert_eq!(waited["awaited"][0]["kind"], "open");
    let ended = world.post("runs/b-1/terminate", json!({ "reason": "enough", "by": "bob" })).await;
    let ended = ended.is(202);
    assert_eq!(ended["met"], "again");
    let run = world.get("runs/b-1").await.is(200);
    assert_eq!((&run["status"], &run["ended"]["why"]["by"]), (&json!("terminated"), &json!("bob")));
}

#[tokio::test]
async fn one_thing_is_cancelled_and_its_run_goes_on() {
    let world = World::new().await;
    world.start("holder", "h-1").await;
    world.held(1).await;
    let run = world.get("runs/h-1").await.is(200);
    let number = run["activities"][0]["number"].as_u64().expect("a number");
    for other in ["timers", "children"] {
        let path = format!("runs/h-1/{other}/{number}/cancel");
        world.post(&path, json!({})).await.refused(404, "no_such_target");
    }
    let path = format!("runs/h-1/activities/{number}/cancel");
    let met = world.post(&path, json!({ "reason": "not this one" })).await.is(202);
    assert_eq!((&met["met"], &met["number"]), (&json!("asked"), &json!(number)));
    world.until("h-1", "completed").await;
    assert_eq!(world.post(&path, json!({})).await.is(202)["met"], "closed");

    world.start("sleeper", "s-1").await;
    let timer = pending(&world, "s-1", "timers").await;
    let path = format!("runs/s-1/timers/{}/cancel", timer["number"]);
    world.post(&path, json!({})).await.is(202);
    world.until("s-1", "completed").await;

    world.start("parent", "p-1").await;
    world.held(2).await;
    world.post("runs/p-1/children/the-child/cancel", json!({})).await.is(202);
    world.until("p-1", "completed").await;
    world.until("the-child", "cancelled").await;
    let missing = world.post("runs/p-1/children/nobody/cancel", json!({})).await;
    missing.refused(404, "no_such_target");
}

/// The first pending thing of a kind, as soon as there is one.
async fn pending(world: &World, id: &str, kind: &str) -> Value {
    let mut hints = world.engine.changes();
    loop {
        let run = world.get(&format!("runs/{id}")).await.is(200);
        if !run[kind][0].is_null() {
            return run[kind][0].clone();
        }
        crate::world::within(kind, hints.next()).await;
    }
}

#[tokio::test]
async fn a_run_is_deleted_with_a_receipt() {
    let world = World::new().await;
    world.start("holder", "h-1").await;
    world.held(1).await;
    let body = json!({ "reason": "a mistake" });
    let asked = world.send("DELETE", "runs/h-1", &[], Some(body)).await.is(202);
    let receipt = asked["receipt"].as_str().expect("it was open");
    let path = format!("receipts/{receipt}?wait=settled&within_ms=60000");
    assert_eq!(world.get(&path).await.is(200)["clean"], true);
}
