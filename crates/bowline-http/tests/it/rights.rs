//! Every route of the table with every kind of credential that is not enough: refused, nothing
//! changed, audited. And what those get who are let in.

use std::{path::PathBuf, time::Duration};

use bowline_access::{Access, Audit, KeyFile, Need, Radius, Right};
use bowline_http::{HttpOptions, ROUTES, Route};
use serde_json::{Value, json};

use crate::world::{Answered, QUEUE, World};

/// A server that asks who comes, with one open run that `boss` has started.
struct House {
    world: World,
    keys: PathBuf,
    audit: PathBuf,
    boss: String,
    _folder: tempfile::TempDir,
}

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [keys, audit] = ["keys.json", "audit.jsonl"].map(|name| folder.path().join(name));
        std::fs::write(&keys, "{}").expect("it is written");
        let access = Access::builder().keys(&keys).expect("it reads").radius(Radius(1));
        let access = access.audit(Audit::to_file(&audit).expect("it opens")).build();
        let options = HttpOptions { access: Some(access), ..HttpOptions::default() };
        let world = World::with(options).await;
        let mut house = Self { world, keys, audit, boss: String::new(), _folder: folder };
        house.boss = house.key("boss", &["*:admin"], None);
        house.start(&house.boss, "holder", "order-1").await.is(201);
        house.world.held(1).await;
        house.lines();
        house
    }

    fn key(&self, name: &str, permissions: &[&str], lasts: Option<Duration>) -> String {
        let permissions: Vec<String> = permissions.iter().map(|one| (*one).to_owned()).collect();
        let mut file = KeyFile::open(&self.keys).expect("it opens");
        file.make(name, &permissions, lasts).expect("a key").key
    }

    async fn send(&self, key: Option<&str>, method: &str, path: &str, body: Value) -> Answered {
        let bearer = key.map(|key| format!("Bearer {key}"));
        let headers: Vec<(&str, &str)> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        self.world.send(method, path, &headers, Some(body)).await
    }

    async fn post(&self, key: &str, path: &str, body: Value) -> Answered {
        self.send(Some(key), "POST", path, body).await
    }

    async fn start(&self, key: &str, workflow: &str, id: &str) -> Answered {
        self.post(key, "runs", json!({ "type": workflow, "id": id, "queue": QUEUE })).await
    }

    /// Asks for a route as it stands in the table.
    async fn ask(&self, route: &Route, space: &str, key: Option<&str>) -> Answered {
        let path = route.path.replace("{ns}", space).replace("{id}", "order-1");
        let method = route.call.split(' ').next().expect("a method");
        self.send(key, method, &path.replace("{target}", "1"), json!({})).await
    }

    /// What was written down since the last look.
    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.audit).expect("it reads");
        std::fs::write(&self.audit, "").expect("it is emptied");
        text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
    }

    /// The refusals since the last look: nothing else may stand there.
    fn refusals(&self) -> Vec<Value> {
        let lines = self.lines();
        for line in &lines {
            assert_eq!((&line["outcome"], &line["door"]), (&json!("refused"), &json!("http")));
            assert!(line["peer"].as_str().is_some_and(|peer| peer.starts_with("127.0.0.1:")));
            assert_ne!(line["request_id"], Value::Null);
        }
        lines
    }

    /// All there is to see of the store.
    async fn state(&self) -> String {
        let head = self.world.engine.current("order-1").await.expect("it is there");
        let all = self.world.engine.find(Default::default()).await.expect("they are there");
        format!("{head:?} {}", all.runs.len())
    }
}

fn guarded() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.need != Need::Nothing)
}

/// No route is without a line in the table of rights, and those that anybody may ask are few.
#[test]
fn every_route_has_its_right() {
    let open = ROUTES.iter().filter(|route| route.need == Need::Nothing);
    let open: Vec<_> = open.map(|route| route.call).collect();
    let known = ["GET /healthz", "GET /readyz", "POST /api/v1/session", "DELETE /api/v1/session"];
    assert_eq!(open, known);
    for route in ROUTES {
        let row = route.row();
        assert_eq!(row.call, route.call);
        let (method, path) = row.call.split_once(' ').expect("both");
        assert_eq!(path, route.path);
        let looks = method == "GET" || path.ends_with("/query") || path.ends_with("/session");
        assert_eq!(row.is_change(), !looks, "{}", row.call);
    }
}

#[tokio::test]
async fn without_credentials_nothing_is_answered() {
    let house = House::new().await;
    let before = house.state().await;
    for route in guarded() {
        house.ask(route, "default", None).await.refused(401, "credentials_missing");
    }
    house.send(None, "GET", "/nothing", json!({})).await.refused(401, "credentials_missing");
    let refused = house.refusals();
    for route in guarded() {
        assert!(refused.iter().any(|line| line["verb"] == route.call), "{}", route.call);
    }
    assert_eq!(house.state().await, before);
}

#[tokio::test]
async fn wrong_and_expired_credentials_are_refused_everywhere() {
    let house = House::new().await;
    let before = house.state().await;
    let expired = house.key("old", &["*:admin"], Some(Duration::ZERO));
    let wrong = format!("{}x", house.boss);
    for key in ["nonsense", "bwl_", "a.b.c", &expired, &wrong] {
        for route in ROUTES {
            let answer = house.ask(route, "default", Some(key)).await;
            answer.refused(401, "credentials_bad");
        }
        assert_eq!(house.refusals().len(), ROUTES.len(), "{key}");
    }
    assert_eq!(house.state().await, before);
}

#[tokio::test]
async fn a_right_elsewhere_is_none_here() {
    let house = House::new().await;
    let before = house.state().await;
    let foreign = house.key("foreign", &["other:admin"], None);
    for route in guarded().filter(|route| route.path.contains("{ns}")) {
        house.ask(route, "default", Some(&foreign)).await.refused(403, "forbidden");
        let [line] = &house.refusals()[..] else { panic!("one line for {}", route.call) };
        assert_eq!((&line["who"], &line["ns"]), (&json!("key:foreign"), &json!("default")));
        // Written otherwise, it is the same name.
        house.ask(route, "%64efault", Some(&foreign)).await.refused(403, "forbidden");
        house.refusals();
    }
    assert_eq!(house.state().await, before);
    let seen = house.send(Some(&foreign), "GET", "/api/v1/namespaces", json!({})).await.is(200);
    assert_eq!(seen["namespaces"], json!([]), "what one may not see is not named");
}

/// All rights but those that a route needs are not enough for it.
#[tokio::test]
async fn weaker_rights_are_not_enough() {
    let house = House::new().await;
    let before = house.state().await;
    for route in guarded().filter(|route| route.path.contains("{ns}")) {
        let lacking = match route.need {
            Need::Cancel => vec![Right::Cancel, Right::CancelOthers],
            Need::All(rights) | Need::Any(rights) => rights.to_vec(),
            Need::Nothing => unreachable!("it is guarded"),
        };
        let others = Right::ALL.iter().filter(|right| !lacking.contains(right));
        let others: Vec<String> = others.map(|right| format!("default:{right}")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let name = format!("weak-{}", route.call.len());
        let weak = house.key(&name.replace(' ', "-"), &others, None);
        let refused = house.ask(route, "default", Some(&weak)).await.refused(403, "forbidden");
        let detail = refused["detail"].as_str().expect("text");
        assert!(detail.contains(&format!("`{}`", lacking[0])), "{detail}");
        assert_eq!(house.refusals().len(), 1, "{}", route.call);
        let id = weak.split('_').nth(1).expect("an id").to_owned();
        KeyFile::open(&house.keys).and_then(|mut file| file.revoke(&id)).expect("it is revoked");
    }
    assert_eq!(house.state().await, before);
}

/// What a body says more needs more.
#[tokio::test]
async fn what_a_body_asks_for_has_rights_too() {
    let house = House::new().await;
    let before = house.state().await;
    let rights = ["default:cancel_others", "default:start", "default:bulk"];
    let clerk = house.key("clerk", &rights, None);
    let body = json!({ "reason": "x", "terminate_after_ms": 1 });
    house.post(&clerk, "runs/order-1/cancel", body).await.refused(403, "forbidden");
    let body = json!({ "type": "holder", "id": "order-1", "queue": QUEUE,
        "on_conflict": "terminate_existing" });
    house.post(&clerk, "runs", body).await.refused(403, "forbidden");
    let refused: Vec<_> =
        house.lines().into_iter().filter(|line| line["outcome"] == "refused").collect();
    assert_eq!(refused.len(), 2);
    assert!(
        refused
            .iter()
            .all(|line| line["why"].as_str().is_some_and(|why| { why.contains("terminate") }))
    );
    assert_eq!(house.state().await, before);
    // One may be tried again on one's own word here, and no more.
    for id in ["b-1", "b-2"] {
        house.start(&house.boss, "broken", id).await.is(201);
        let mut hints = house.world.engine.changes();
        while !house.world.engine.current(id).await.expect("it is there").is_parked() {
            crate::world::within("it to be parked", hints.next()).await;
        }
    }
    house.post(&clerk, "retry", json!({})).await.refused(403, "unconfirmed");
    let one = json!({ "filter": { "id": "b-1" } });
    assert_eq!(house.post(&clerk, "retry", one).await.is(200)["retried"], 1);
}

/// Who asked stands in the cause, whatever the request says of itself; and who may cancel only what
/// is theirs does not cancel what is not.
#[tokio::test]
async fn the_name_in_the_cause_cannot_be_forged() {
    let house = House::new().await;
    let alice = house.key("alice", &["default:start", "default:cancel", "default:read"], None);
    let path = "runs/order-1/cancel";
    house.post(&alice, path, json!({ "by": "key:boss" })).await.refused(403, "not_yours");
    let one = "runs/order-1/activities/5/cancel";
    house.post(&alice, one, json!({ "by": "key:boss" })).await.refused(403, "not_yours");
    let refused: Vec<_> =
        house.lines().into_iter().filter(|line| line["outcome"] == "refused").collect();
    assert_eq!(refused.len(), 2);
    assert!(refused.iter().all(|line| line["who"] == "key:alice" && line["target"] == "order-1"));
    house.start(&alice, "sleeper", "own").await.is(201);
    let body = json!({ "reason": "mine", "by": "key:boss" });
    let asked = house.post(&alice, "runs/own/cancel", body).await.is(202);
    let receipt = format!("receipts/{}?wait=clean", asked["receipt"].as_str().expect("an id"));
    let receipt = house.send(Some(&alice), "GET", &receipt, json!({})).await.is(200);
    assert_eq!(receipt["why"]["by"], "key:alice (said key:boss)");
    assert_eq!(receipt["clean"], true);
    let run = house.send(Some(&alice), "GET", "runs/own", json!({})).await.is(200);
    assert_eq!(run["started_by"], "key:alice");
    let allowed: Vec<_> = house.lines();
    let verbs: Vec<_> = allowed.iter().map(|line| line["verb"].as_str().expect("text")).collect();
    let ns = "/api/v1/namespaces/{ns}";
    let wanted = [format!("POST {ns}/runs"), format!("POST {ns}/runs/{{id}}/cancel")];
    assert_eq!(verbs, wanted, "changes are written down, and nothing else");
}

/// A browser logs in: the credential comes back as a cookie that only this site's own requests
/// bring, and a page of another site changes nothing with it.
#[tokio::test]
async fn a_browser_logs_in_and_out() {
    let house = House::new().await;
    let (session, me) = ("/api/v1/session", "/api/v1/me");
    let wrong = json!({ "credential": "bwl_no_no" });
    house.send(None, "POST", session, wrong).await.refused(401, "credentials_bad");
    assert_eq!(house.refusals()[0]["verb"], "POST /api/v1/session");
    let split = json!({ "credential": "a; Domain=evil.example" });
    house.send(None, "POST", session, split).await.refused(400, "invalid");
    let answer = house.send(None, "POST", session, json!({ "credential": house.boss })).await;
    let cookie = answer.headers["set-cookie"].to_str().expect("text").to_owned();
    for word in ["__Host-bowline=", "HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert_eq!(answer.is(200)["who"], "key:boss");
    assert_eq!(house.lines()[0]["who"], "key:boss");
    let cookie = cookie.split(';').next().expect("a pair");
    let send = |method, path, headers: Vec<(&'static str, &'static str)>| {
        let mut all = vec![("cookie", cookie)];
        all.extend(headers);
        let world = &house.world;
        async move { world.send(method, path, &all, Some(json!({}))).await }
    };
    let known = send("GET", me, Vec::new()).await.is(200);
    assert_eq!((&known["who"], &known["how"]), (&json!("key:boss"), &json!("key")));
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let answer = send("POST", "runs/order-1/cancel", vec![foreign]).await;
        answer.refused(403, "foreign_origin");
    }
    let left = send("DELETE", session, Vec::new()).await;
    assert!(left.headers["set-cookie"].to_str().is_ok_and(|cookie| cookie.contains("Max-Age=0")));
    // A cookie that is not good any more does not keep its owner from logging in again.
    let stale = [("cookie", "__Host-bowline=bwl_old_old")];
    house.world.send("GET", me, &stale, None).await.refused(401, "credentials_bad");
    let body = json!({ "credential": house.boss });
    house.world.send("POST", session, &stale, Some(body)).await.is(200);
    house.world.send("GET", "/healthz", &stale, None).await.is(200);
    assert_eq!(house.world.engine.current("order-1").await.expect("there").cancel, None);
}

/// Where nobody is asked, nobody needs to log in.
#[tokio::test]
async fn an_open_door_knows_nobody() {
    let world = World::new().await;
    assert_eq!(world.get("/api/v1/me").await.is(200), json!({}));
    let body = json!({ "credential": "x" });
    world.post("/api/v1/session", body).await.refused(409, "not_needed");
    let foreign = [("origin", "https://evil.example")];
    let body = json!({ "type": "echo", "id": "e-1", "queue": QUEUE });
    let refused = world.send("POST", "runs", &foreign, Some(body)).await;
    refused.refused(403, "foreign_origin");
}
