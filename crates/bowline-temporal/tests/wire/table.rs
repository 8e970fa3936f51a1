//! The tables of docs/temporal.md: every call there is stands in them, once, and is answered or not
//! as they say.

use tonic::{Code, Request, Status, client::Grpc};
use tonic_prost::ProstCodec;

use crate::world::World;

/// Every call of the services that are served, by its path.
const CALLS: &[&str] = include!(concat!(env!("OUT_DIR"), "/calls.rs"));

/// Where the services' own names begin.
const SECTIONS: &[(&str, &str)] = &[
    ("## WorkflowService", "temporal.api.workflowservice.v1.WorkflowService/"),
    ("## OperatorService", "temporal.api.operatorservice.v1.OperatorService/"),
    ("## Health", ""),
];

struct Row {
    call: String,
    answered: String,
    why: String,
}

/// The rows of the tables, in their order.
fn rows() -> Vec<Row> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/temporal.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let (mut prefix, mut rows) = (None, Vec::new());
    for line in page.lines() {
        if line.starts_with("## ") {
            prefix = SECTIONS.iter().find(|(title, _)| line == *title).map(|(_, prefix)| *prefix);
        }
        let (Some(prefix), Some(row)) = (prefix, line.strip_prefix("| ")) else { continue };
        let cells: Vec<_> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        let [call, answered, why] = cells[..] else { panic!("not three cells: {line}") };
        if call != "call" {
            let call = format!("{prefix}{call}");
            rows.push(Row { call, answered: answered.to_owned(), why: why.to_owned() });
        }
    }
    rows
}

/// What an empty request is answered.
async fn ask(world: &World, call: &str) -> Result<(), Status> {
    let mut grpc = Grpc::new(world.channel.clone());
    grpc.ready().await.expect("the server is there");
    let path = format!("/{call}").parse().expect("a path");
    let answer = grpc.unary(Request::new(()), path, ProstCodec::<(), ()>::default()).await;
    answer.map(drop)
}

#[test]
fn every_call_stands_in_the_documentation_once() {
    let mut told: Vec<_> = rows().into_iter().map(|row| row.call).collect();
    let mut calls: Vec<_> = CALLS.iter().map(|call| (*call).to_owned()).collect();
    told.sort();
    calls.sort();
    assert!(calls.len() > 130, "{}", calls.len());
    assert_eq!(told, calls);
}

#[tokio::test]
async fn every_call_is_answered_or_not_as_the_documentation_says() {
    let world = World::new().await;
    for row in rows() {
        let answer = ask(&world, &row.call).await;
        let unbuilt = matches!(&answer, Err(status) if status.code() == Code::Unimplemented);
        match row.answered.as_str() {
            "yes" => assert!(!unbuilt, "{} is not built: {answer:?}", row.call),
            "partly" => assert!(!unbuilt && !row.why.is_empty(), "{}: {answer:?}", row.call),
            "no" => assert!(unbuilt && !row.why.is_empty(), "{}: {answer:?}", row.call),
            other => panic!("{} is answered {other:?}", row.call),
        }
    }
}
