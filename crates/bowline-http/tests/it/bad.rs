//! What is not acceptable is said so, and changes nothing.

use serde_json::{Value, json};

use crate::world::{QUEUE, World};

async fn rows(world: &World) -> Value {
    let list = world.get("runs?limit=500").await.is(200);
    let events = |run: &Value| (run["id"].clone(), run["events"].clone(), run["status"].clone());
    json!(list["runs"].as_array().expect("runs").iter().map(events).collect::<Vec<_>>())
}

#[tokio::test]
async fn bad_addresses_change_nothing() {
    let world = World::new().await;
    world.start("broken", "b-1").await;
    world.until("b-1", "parked").await;
    let before = rows(&world).await;
    let paths = [
        ("runs?colour=red", 400, "invalid"),
        ("runs?limit=0", 400, "invalid"),
        ("runs?limit=501", 400, "invalid"),
        ("runs?limit=many", 400, "invalid"),
        ("runs?type=a&type=b", 400, "invalid"),
        ("runs?status=runing", 400, "invalid"),
        ("runs?status=parked,failed", 400, "invalid"),
        ("runs?order=sideways", 400, "invalid"),
        ("runs?started_from=yesterday", 400, "invalid"),
        ("runs?parent=me", 400, "invalid"),
        ("runs?search=novalue", 400, "invalid"),
        ("runs?cursor=nonsense", 400, "bad_cursor"),
        ("runs/nobody", 404, "missing"),
        ("runs/b-1?run=7", 400, "invalid"),
        ("runs/@00000000-0000-0000-0000-000000000000", 404, "missing"),
        ("runs/b-1/history?from=-1", 400, "invalid"),
        ("runs/b-1?payloads=some", 400, "invalid"),
        ("receipts/7", 400, "invalid"),
        ("receipts/00000000-0000-0000-0000-000000000000", 404, "missing"),
        ("receipts/00000000-0000-0000-0000-000000000000/events", 404, "missing"),
        ("events?status=running", 400, "invalid"),
        ("/api/v1/namespaces/elsewhere/runs", 404, "missing"),
        ("/api/v1/nothing", 404, "no_such_route"),
        ("/api/v2", 404, "no_such_route"),
    ];
    for (path, status, code) in paths {
        world.get(path).await.refused(status, code);
    }
    assert_eq!(rows(&world).await, before);
}

#[tokio::test]
async fn bad_bodies_change_nothing() {
    let world = World::new().await;
    world.start("broken", "b-1").await;
    world.until("b-1", "parked").await;
    let before = rows(&world).await;
    let long = "x".repeat(1_001);
    let start = |changes: Value| {
        let mut body = json!({ "type": "echo", "id": "e-1", "queue": QUEUE });
        for (key, value) in changes.as_object().expect("an object") {
            body[key] = value.clone();
        }
        body
    };
    let bodies = [
        ("runs", json!({}), 400, "invalid"),
        ("runs", start(json!({ "id": "" })), 400, "invalid"),
        ("runs", start(json!({ "id": long })), 400, "invalid"),
        ("runs", start(json!({ "colour": 1 })), 400, "invalid"),
        ("runs", start(json!({ "rules": "mine" })), 400, "invalid"),
        ("runs", start(json!({ "reuse": "maybe" })), 400, "invalid"),
        ("runs", start(json!({ "on_conflict": "fight" })), 400, "invalid"),
        ("runs", start(json!({ "search": { "a": {} } })), 400, "invalid"),
        ("runs", start(json!({ "by": long })), 400, "invalid"),
        ("runs", start(json!({ "rules": "remote", "input": 1 })), 409, "not_ready"),
        ("runs/b-1/signal", json!({}), 400, "invalid"),
        ("runs/b-1/signal", json!({ "name": "" }), 400, "invalid"),
        ("runs/nobody/signal", json!({ "name": "x" }), 404, "missing"),
        ("runs/nobody/cancel", json!({}), 404, "missing"),
        ("runs/b-1/cancel", json!({ "reason": "x".repeat(4_001) }), 400, "invalid"),
        ("runs/b-1/cancel", json!({ "ladder": { "grace_ms": u64::MAX } }), 400, "invalid"),
        ("runs/b-1/cancel", json!({ "terminate_after_ms": -1 }), 400, "invalid"),
        ("runs/b-1/terminate", json!({ "force": true }), 400, "invalid"),
        ("runs/b-1/activities/99/cancel", json!({}), 404, "no_such_target"),
        ("runs/b-1/activities/ship/cancel", json!({}), 404, "no_such_target"),
        ("retry", json!({ "filter": { "status": ["running"] } }), 400, "invalid"),
        ("retry", json!({ "filter": { "colour": 1 } }), 400, "invalid"),
        ("retry", json!([]), 400, "invalid"),
    ];
    for (path, body, status, code) in bodies {
        world.post(path, body).await.refused(status, code);
    }
    assert_eq!(rows(&world).await, before);
}

#[tokio::test]
async fn only_json_of_a_bounded_length_is_read() {
    let world = World::new().await;
    let body = json!({ "type": "echo", "id": "e-1", "queue": QUEUE }).to_string();
    let plain = [("content-type", "text/plain")];
    world.raw("POST", "runs", &plain, body.clone()).await.refused(415, "not_json");
    world.raw("POST", "runs", &[], body).await.refused(415, "not_json");
    let json = [("content-type", "application/json")];
    world.raw("POST", "runs", &json, "{".into()).await.refused(400, "invalid");
    let long = format!("\"{}\"", "x".repeat(5 << 20));
    world.raw("POST", "runs", &json, long).await.refused(413, "too_large");
    world.raw("PUT", "runs", &json, "{}".into()).await.refused(405, "no_such_route");
    assert_eq!(world.get("runs").await.is(200)["runs"], json!([]));
}

#[tokio::test]
async fn a_request_has_a_name_of_its_own_or_is_given_one() {
    let world = World::new().await;
    let named = world.send("GET", "runs", &[("x-request-id", "mine-1")], None).await;
    assert_eq!(named.headers["x-request-id"], "mine-1");
    let bad = world.send("GET", "runs", &[("x-request-id", "not mine")], None).await;
    assert_eq!(bad.headers["x-request-id"].len(), 32);
}
