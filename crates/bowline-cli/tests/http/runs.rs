//! Runs over HTTP, at a server that waits for workers of SDKs.

use serde_json::{Value, json};

use crate::server::Server;

/// A run is started, listed, cancelled and stopped; its receipts are read.
#[test]
fn a_run_is_started_listed_cancelled_and_its_receipt_is_read() {
    let server = Server::open();
    let body =
        json!({ "type": "Checkout", "id": "order-42", "queue": "shop", "input": { "n": 1 } });
    let started = server.json("POST", "runs", &body, 201);
    let list = server.json("GET", "runs?status=open&type=Checkout", &json!({}), 200);
    assert_eq!(list["runs"][0]["run"], started["run"]);
    assert_eq!(list["runs"][0]["rules"], "remote", "its code is a worker's");
    let run = server.json("GET", "runs/order-42", &json!({}), 200);
    assert_eq!(run["input"]["value"], json!({ "n": 1 }), "{run}");
    assert_eq!(run["input"]["format"], "json/plain");
    let body = json!({ "reason": "out of stock", "by": "alice" });
    let asked = server.json("POST", "runs/order-42/cancel", &body, 202);
    assert_eq!(asked["met"], "asked");
    let receipt = |asked: &Value, wait: &str| {
        let id = asked["receipt"].as_str().expect("an id");
        server.json("GET", &format!("receipts/{id}?wait={wait}"), &json!({}), 200)
    };
    // Nobody works on it: it is told so, and said to be open still.
    let told = receipt(&asked, "decided");
    assert_eq!((&told["clean"], &told["why"]["by"]), (&json!(false), &json!("alice")));
    let body = json!({ "reason": "enough" });
    let ended = server.json("POST", "runs/order-42/terminate", &body, 202);
    let clean = receipt(&ended, "clean");
    assert_eq!((&clean["phase"], &clean["clean"]), (&json!("clean"), &json!(true)));
    server.terminate();
}

/// Health, readiness and metrics stand beside the API, and nothing is in the way of another.
#[test]
fn health_metrics_and_the_console_share_the_port() {
    let (server, key) = Server::guarded("look", &["default:read"]);
    for path in ["/healthz", "/readyz", "/", "/ns/default/runs", "/console/app.js", "/openapi.json"]
    {
        let (status, head, _) = server.ask(None, "GET", path, &json!({}));
        assert_eq!(status, 200, "{path}");
        let has_policy =
            head.to_lowercase().contains("content-security-policy: default-src 'none'");
        assert_eq!(has_policy, !path.ends_with('z') && !path.ends_with("json"), "{path}: {head}");
    }
    assert_eq!(server.ask(None, "GET", "/metrics", &json!({})).0, 401);
    let (status, _, text) = server.ask(Some(&key), "GET", "/metrics", &json!({}));
    assert_eq!(status, 200);
    assert!(text.contains("bowline_turns_total"), "{text}");
    let runs = "/api/v1/namespaces/default/runs";
    assert_eq!(server.ask(None, "GET", runs, &json!({})).0, 401);
    assert_eq!(server.ask(Some(&key), "GET", runs, &json!({})).0, 200);
    let body = json!({ "type": "x", "id": "x", "queue": "x" });
    assert_eq!(server.ask(Some(&key), "POST", runs, &body).0, 403);
    let audit = server.audit();
    assert!(audit.contains("\"who\":\"key:look\"") && audit.contains("forbidden"), "{audit}");
    assert!(!audit.contains(&key), "no secret is written down");
}
