//! Runs: started, listed, shown, asked.

use serde_json::{Value, json};

use crate::world::{QUEUE, World};

fn ids(list: &Value) -> Vec<&str> {
    let runs = list["runs"].as_array().expect("runs");
    runs.iter().map(|run| run["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn a_run_is_started_shown_asked_and_ends() {
    let world = World::new().await;
    let body = json!({
        "type": "echo", "id": "e/1", "queue": QUEUE, "input": { "n": 1 }, "by": "alice",
        "search": { "customer": "acme", "amount": 42 }, "memo": { "why": "a test" },
    });
    let started = world.post("runs", body).await;
    let location = started.headers["location"].to_str().expect("text").to_owned();
    let started = started.is(201);
    assert_eq!((&started["id"], &started["met"]), (&json!("e/1"), &json!("started")));
    let run = world.get("runs/e%2F1").await.is(200);
    assert_eq!(world.get(&location).await.is(200)["run"], run["run"], "by the id of the run");
    assert_eq!(
        run["input"],
        json!({
            "format": "json", "encoding": "json", "value": { "n": 1 }, "bytes": 7
        })
    );
    assert_eq!(run["search"], json!({ "customer": "acme", "amount": 42 }));
    assert_eq!((&run["started_by"], &run["type"]), (&json!("alice"), &json!("echo")));
    assert_eq!(run["memo"]["why"]["value"], "a test");

    let asked = world.post("runs/e%2F1/query", json!({ "name": "input" })).await.is(200);
    assert_eq!(asked["answer"]["value"], json!({ "n": 1 }));
    let query = json!({ "name": "colour" });
    world.post("runs/e%2F1/query", query).await.refused(422, "query_failed");
    let update = json!({ "name": "double", "input": 21 });
    let updated = world.post("runs/e%2F1/update", update).await.is(200);
    assert_eq!((&updated["stage"], &updated["answer"]["value"]), (&json!("completed"), &json!(42)));
    let update = json!({ "name": "double", "input": "x" });
    let updated = world.post("runs/e%2F1/update", update).await.is(200);
    assert_eq!(updated["stage"], "failed");
    assert_eq!(updated["failure"]["message"], "that is no number");

    let signal = json!({ "name": "stop", "input": ["done"], "by": "bob" });
    world.post("runs/e%2F1/signal", signal.clone()).await.is(202);
    let run = world.until("e%2F1", "completed").await;
    assert_eq!(run["ended"]["result"]["value"], json!(["done"]));
    assert!(run["closed_at"].is_string());
    world.post("runs/e%2F1/signal", signal).await.refused(409, "closed");
}

#[tokio::test]
async fn a_key_counts_once_and_for_one_thing() {
    let world = World::new().await;
    let start = async |body: Value| {
        world.send("POST", "runs", &[("idempotency-key", "k-1")], Some(body)).await
    };
    let body = json!({ "type": "echo", "id": "e-1", "queue": QUEUE, "input": 1 });
    let first = start(body.clone()).await.is(201);
    assert_eq!(start(body.clone()).await.is(201), first, "answered as it was");
    let other = json!({ "type": "echo", "id": "e-1", "queue": QUEUE, "input": 2 });
    start(other).await.refused(422, "key_reused");
    world.post("runs", body.clone()).await.refused(409, "id_taken");
    let mut serves = body;
    serves["on_conflict"] = json!("use_existing");
    let again = world.post("runs", serves).await.is(200);
    assert_eq!((&again["run"], &again["met"]), (&first["run"], &json!("again")));
    let list = world.get("runs").await.is(200);
    assert_eq!(ids(&list), ["e-1"]);
}

#[tokio::test]
async fn lists_are_filtered_and_go_on_from_their_cursor() {
    let world = World::new().await;
    for number in 0..7 {
        let workflow = if number % 2 == 0 { "echo" } else { "sleeper" };
        let body = json!({
            "type": workflow, "id": format!("r-{number}"), "queue": QUEUE,
            "search": { "odd": number % 2 == 1, "customer": format!("c{}", number % 3) },
        });
        world.post("runs", body).await.is(201);
    }
    let mut seen = Vec::new();
    let mut path = "runs?limit=3&order=oldest".to_owned();
    let last = loop {
        let page = world.get(&path).await.is(200);
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => path = format!("runs?limit=3&order=oldest&cursor={next}"),
            None => break path,
        }
    };
    let all: Vec<String> = (0..7).map(|number| format!("r-{number}")).collect();
    assert_eq!(seen, all);
    let cursor = last.rsplit_once('=').expect("a cursor").1;
    let other = format!("runs?limit=3&type=echo&cursor={cursor}");
    world.get(&other).await.refused(400, "bad_cursor");

    let found = async |filter: &str| {
        let list = world.get(&format!("runs?order=oldest&{filter}")).await.is(200);
        let count = world.get(&format!("count?{filter}")).await.is(200);
        let ids: Vec<String> = ids(&list).into_iter().map(str::to_owned).collect();
        assert_eq!(count, json!({ "count": ids.len(), "exact": true }), "{filter}");
        ids.join(" ")
    };
    assert_eq!(found("type=sleeper").await, "r-1 r-3 r-5");
    assert_eq!(found("id=r-4").await, "r-4");
    assert_eq!(found("id_prefix=r-").await.split(' ').count(), 7);
    assert_eq!(found("queue=other").await, "");
    assert_eq!(found("search=odd:true&search=customer:c0").await, "r-3");
    assert_eq!(found("status=completed,failed").await, "");
    assert_eq!(found("status=open").await.split(' ').count(), 7);
    assert_eq!(found("started_before=2000-01-01T00:00:00Z").await, "");
    assert_eq!(found("started_from=2000-01-01T00:00:00Z").await.split(' ').count(), 7);
}

#[tokio::test]
async fn history_is_told_from_either_end() {
    let world = World::new().await;
    world.start("holder", "h-1").await;
    world.held(1).await;
    let run = world.get("runs/h-1").await.is(200);
    let activity = &run["activities"][0];
    assert_eq!((&activity["name"], &activity["state"]), (&json!("hold"), &json!("running")));
    assert_eq!(activity["input"]["value"], json!({ "parcel": 7 }));
    assert_eq!((&activity["worker"], &activity["attempt"]), (&json!("worker"), &json!(1)));
    let whole = world.get("runs/h-1/history").await.is(200);
    let total = whole["total"].as_u64().expect("a number");
    let kinds = |list: &Value| -> Vec<String> {
        let events = list["events"].as_array().expect("events");
        events.iter().map(|event| event["kind"].as_str().expect("a word").to_owned()).collect()
    };
    let forward = kinds(&whole);
    assert_eq!((forward.len() as u64, forward[0].as_str()), (total, "WorkflowStarted"));
    let scheduled = &whole["events"].as_array().expect("events")
        [forward.iter().position(|kind| kind == "ActivityScheduled").expect("scheduled")];
    assert_eq!((&scheduled["name"], &scheduled["target"]), (&json!("hold"), &scheduled["id"]));
    let mut backward = Vec::new();
    let mut path = "runs/h-1/history?order=newest&limit=2".to_owned();
    loop {
        let page = world.get(&path).await.is(200);
        backward.extend(kinds(&page));
        match page["next"].as_u64() {
            Some(next) => path = format!("runs/h-1/history?order=newest&limit=2&from={next}"),
            None => break,
        }
    }
    backward.reverse();
    assert_eq!(backward, forward);
    let hidden = world.get("runs/h-1/history?payloads=none").await.is(200);
    let data = hidden["events"].as_array().expect("events").iter().map(|event| &event["data"]);
    assert!(data.into_iter().all(|data| data.is_null() || data["encoding"] == "omitted"));
}

#[tokio::test]
async fn parked_runs_are_found_and_tried_again() {
    let world = World::new().await;
    world.start("broken", "b-1").await;
    world.start("echo", "e-1").await;
    let run = world.until("b-1", "parked").await;
    let reason = run["parked"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("this code is broken"), "{reason}");
    let list = world.get("runs?status=parked").await.is(200);
    assert_eq!(ids(&list), ["b-1"]);
    assert_eq!(world.post("runs/b-1/retry", json!({})).await.is(200)["retried"], 1);
    world.until("b-1", "parked").await;
    let all = json!({ "filter": { "type": "broken" } });
    assert_eq!(world.post("retry", all).await.is(200)["retried"], 1);
    assert_eq!(world.post("runs/e-1/retry", json!({})).await.is(200)["retried"], 0);
}
