//! The OpenAPI document says what is true.

use std::collections::BTreeSet;

use bowline_http::{ROUTES, Verb, openapi};
use serde_json::Value;

use crate::world::World;

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::Post => "post",
        Verb::Delete => "delete",
    }
}

/// Every reference in it, wherever it stands.
fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if let ("$ref", Some(name)) = (key.as_str(), value.as_str()) {
                    found.insert(name.strip_prefix("#/components/schemas/").expect("one of ours"));
                }
                references(value, found);
            }
        }
        Value::Array(all) => all.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_document_has_every_route_and_no_other() {
    let world = World::new().await;
    let served = world.get("/openapi.json").await.is(200);
    assert_eq!(served, openapi());
    let mut operations = BTreeSet::new();
    for (path, methods) in served["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            operations.insert((path.as_str(), method.as_str()));
            assert!(operation["responses"].as_object().expect("answers").len() >= 3);
        }
    }
    let routes: BTreeSet<_> = ROUTES.iter().map(|route| (route.path, verb(route.verb))).collect();
    assert_eq!(operations, routes);
    let mut names = BTreeSet::new();
    for route in ROUTES {
        let operation = &served["paths"][route.path][verb(route.verb)];
        assert!(names.insert(operation["operationId"].as_str().expect("a name")), "{operation}");
        assert_eq!(operation["x-right"], route.right());
        let parameters = operation["parameters"].as_array().expect("parameters");
        let options: Vec<&str> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().expect("a name"))
            .collect();
        let known: Vec<&str> = route.query.iter().map(|param| param.name).collect();
        assert_eq!(options, known, "{}", route.path);
    }
    let mut found = BTreeSet::new();
    references(&served, &mut found);
    let schemas = served["components"]["schemas"].as_object().expect("schemas");
    for name in found {
        assert!(schemas.contains_key(name), "{name} is nowhere");
    }
}

/// Every route exists, and refuses an option that nobody knows, whoever asks.
#[tokio::test]
async fn every_route_of_the_table_is_there() {
    let world = World::new().await;
    for route in ROUTES.iter().filter(|route| route.path.contains("{ns}")) {
        let path = route.path.replace("{ns}", "default");
        let path = path.replace("{id}", "x").replace("{target}", "x");
        let method = verb(route.verb).to_uppercase();
        let answer = world.send(&method, &format!("{path}?colour=red"), &[], None).await;
        let problem = answer.refused(400, "invalid");
        assert!(problem["detail"].as_str().expect("text").contains("colour"), "{problem}");
    }
}

#[tokio::test]
async fn it_is_alive_and_ready_and_names_its_namespaces() {
    let world = World::new().await;
    assert_eq!(world.get("/healthz").await.is(200)["state"], "ok");
    assert_eq!(world.get("/readyz").await.is(200)["state"], "ready");
    let spaces = world.get("/api/v1/namespaces").await.is(200);
    assert_eq!(spaces["namespaces"][0]["name"], "default");
    assert_eq!(spaces["namespaces"][0]["own"], true);
}
