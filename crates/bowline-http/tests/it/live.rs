//! Server-sent events: what changes is told, and whoever comes again goes on where they were.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::world::{World, within};

/// A stream of events that is open.
struct Events {
    body: Incoming,
    text: String,
}

/// One event.
#[derive(Debug)]
struct Told {
    name: String,
    id: Option<String>,
    data: Value,
}

impl Events {
    async fn open(world: &World, path: &str, last: Option<&str>) -> Self {
        let headers: Vec<(&str, &str)> = last.map(|id| ("last-event-id", id)).into_iter().collect();
        let response = world.open("GET", path, &headers, String::new()).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    /// The next event; none when the stream has ended.
    async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(told) = read(&event) {
                    return Some(told);
                }
                continue;
            }
            let frame = within("an event", self.body.frame()).await?.expect("it comes whole");
            let data = frame.into_data().expect("data");
            self.text.push_str(std::str::from_utf8(&data).expect("text"));
        }
    }

    /// The first event that is so.
    async fn until(&mut self, is_it: impl Fn(&Told) -> bool) -> Told {
        loop {
            let told = self.next().await.expect("the stream goes on");
            if is_it(&told) {
                return told;
            }
        }
    }
}

fn read(event: &str) -> Option<Told> {
    let field = |name: &str| {
        let line = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.trim_start().to_owned())
    };
    let data = serde_json::from_str(&field("data")?).expect("JSON");
    Some(Told { name: field("event")?, id: field("id"), data })
}

fn stands(told: &Told, id: &str, status: &str) -> bool {
    let run = &told.data["run"];
    told.name == "run" && run["id"] == id && run["status"] == status
}

#[tokio::test]
async fn whoever_comes_again_goes_on_where_they_were() {
    let world = World::new().await;
    let mut events = Events::open(&world, "events", None).await;
    let live = events.next().await.expect("the first");
    assert_eq!(live.name, "live");
    world.start("echo", "e-1").await;
    let told = events.until(|told| stands(told, "e-1", "running")).await;
    assert_eq!(told.data["run"]["type"], "echo");
    let at = told.id.expect("it has an id");
    drop(events);
    // What happens meanwhile is told, as it stands then.
    world.post("runs/e-1/signal", json!({ "name": "stop" })).await.is(202);
    world.until("e-1", "completed").await;
    world.start("sleeper", "s-1").await;
    let mut events = Events::open(&world, "events", Some(&at)).await;
    let told = events.until(|told| told.name == "run").await;
    assert!(stands(&told, "e-1", "completed"), "{told:?}");
    events.until(|told| stands(told, "s-1", "running")).await;
}

#[tokio::test]
async fn whoever_comes_too_late_is_told_to_begin_again() {
    let world = World::new().await;
    for stale in ["nonsense", "00000000000000000000000000000007-3"] {
        let mut events = Events::open(&world, "events", Some(stale)).await;
        let told = events.next().await.expect("an event");
        assert_eq!(told.name, "reset", "{stale}");
        let at = told.id.expect("from here on");
        world.start("echo", &format!("after-{}", stale.len())).await;
        let mut again = Events::open(&world, "events", Some(&at)).await;
        assert_eq!(again.next().await.expect("an event").name, "run", "it goes on from there");
    }
}

#[tokio::test]
async fn a_stream_is_about_what_was_asked_for() {
    let world = World::new().await;
    let mut events = Events::open(&world, "events?type=echo", None).await;
    assert_eq!(events.next().await.expect("the first").name, "live");
    world.start("sleeper", "s-1").await;
    world.start("echo", "e-1").await;
    let told = events.next().await.expect("an event");
    assert_eq!(told.data["run"]["id"], "e-1", "nothing of the other");
}

#[tokio::test]
async fn a_receipt_is_followed_until_it_is_settled() {
    let world = World::new().await;
    world.start("holder", "h-1").await;
    world.held(1).await;
    let asked = world.post("runs/h-1/cancel", json!({ "reason": "enough" })).await.is(202);
    let receipt = asked["receipt"].as_str().expect("an id");
    let mut events = Events::open(&world, &format!("receipts/{receipt}/events"), None).await;
    let mut last = None;
    while let Some(told) = events.next().await {
        assert_eq!((told.name.as_str(), &told.data["id"]), ("receipt", &json!(receipt)));
        last = Some(told.data);
    }
    let last = last.expect("at least one");
    assert_eq!((&last["settled"], &last["clean"]), (&json!(true), &json!(true)));
}
