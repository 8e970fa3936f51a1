//! The OpenAPI document, made from the table of routes and the types of the model.

use std::{collections::BTreeMap, sync::LazyLock};

use axum::{http::header, response::IntoResponse};
use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};

use crate::{
    model::Problem,
    table::{Param, ROUTES, Route, Shape, Verb},
};

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// `GET /openapi.json`
pub(crate) async fn serve() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

/// The document.
pub(crate) fn document() -> Value {
    let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    add(&mut schemas, &PROBLEM);
    for route in ROUTES {
        route.body.iter().for_each(|shape| add(&mut schemas, shape));
        add(&mut schemas, &route.answer.1);
        paths.entry(route.path).or_default().insert(verb(route.verb).to_owned(), operation(route));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bowline",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs, receipts, workers and queues. Moments are RFC 3339 in UTC, \
                spans are milliseconds. A run is named by its workflow id, or by @ and its run id.",
        },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

const PROBLEM: Shape = Shape {
    name: <Problem as utoipa::ToSchema>::name,
    schema: <Problem as utoipa::PartialSchema>::schema,
    inner: <Problem as utoipa::ToSchema>::schemas,
    streams: false,
};

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::Post => "post",
        Verb::Delete => "delete",
    }
}

/// A type with everything that it is made of.
fn add(schemas: &mut BTreeMap<String, Value>, shape: &Shape) {
    let value = |schema: &RefOr<Schema>| serde_json::to_value(schema).unwrap_or(Value::Null);
    let mut inner = Vec::new();
    (shape.inner)(&mut inner);
    for (name, schema) in inner {
        schemas.insert(name, value(&schema));
    }
    schemas.insert((shape.name)().into_owned(), value(&(shape.schema)()));
}

fn reference(shape: &Shape) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", (shape.name)()) })
}

fn operation(route: &Route) -> Value {
    let (status, answer) = &route.answer;
    let kind = if answer.streams { "text/event-stream" } else { "application/json" };
    let schema = match answer.streams {
        true => json!({ "type": "string" }),
        false => reference(answer),
    };
    let mut responses = Map::new();
    let content = json!({ kind: { "schema": schema } });
    responses.insert(status.to_string(), json!({ "description": "Done.", "content": content }));
    if route.path.ends_with("/runs") && route.verb == Verb::Post {
        let content = json!({ kind: { "schema": reference(answer) } });
        let there = json!({ "description": "It was there already.", "content": content });
        responses.insert("200".to_owned(), there);
    }
    let problem = json!({
        "description": "Nothing has changed; the answer says why, and what to do.",
        "content": { "application/problem+json": { "schema": reference(&PROBLEM) } },
    });
    for range in ["4XX", "5XX"] {
        responses.insert(range.to_owned(), problem.clone());
    }
    let named = named(route.path).map(|name| {
        let schema = json!({ "type": "string", "minLength": 1 });
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    });
    let options = route.query.iter().map(option);
    let mut parameters: Vec<Value> = named.chain(options).collect();
    if route.verb != Verb::Get {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "Names the request: its repetition counts once.",
            "schema": { "type": "string", "maxLength": 1000 },
        }));
    }
    let mut operation = json!({
        "operationId": name(route),
        "summary": route.about,
        "parameters": parameters,
        "responses": responses,
        "x-right": route.right(),
    });
    if let Some(body) = &route.body {
        let content = json!({ "application/json": { "schema": reference(body) } });
        operation["requestBody"] = json!({ "content": content, "required": false });
    }
    operation
}

fn option(param: &Param) -> Value {
    let schema = match param.many {
        true => json!({ "type": "array", "items": { "type": "string" } }),
        false => json!({ "type": "string" }),
    };
    json!({
        "name": param.name,
        "in": "query",
        "description": param.about,
        "required": false,
        "schema": schema,
    })
}

/// The parts of a path that have names.
fn named(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// What programs call it: the method and the words of its path.
fn name(route: &Route) -> String {
    let words = route.path.trim_start_matches("/api/v1/namespaces/{ns}");
    let words =
        words.split('/').filter(|word| !word.is_empty()).map(|word| match word.strip_prefix('{') {
            Some(name) => format!("by_{}", name.trim_end_matches('}')),
            None => word.replace(['.', '-'], "_"),
        });
    let words: Vec<String> = words.filter(|word| word != "api" && word != "v1").collect();
    format!("{}_{}", verb(route.verb), words.join("_"))
}
