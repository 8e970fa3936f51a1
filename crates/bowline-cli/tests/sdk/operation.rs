//! What those see who run the server: health, metrics, and an end that nobody notices.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use crate::{fleet::Fleet, python, server::Server};

/// What is answered on the port for health and metrics: status line, and the rest.
pub(crate) fn get(address: &str, path: &str) -> (String, String) {
    let mut connection = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("it answers");
    let (status, rest) = answer.split_once("\r\n").expect("a status line");
    (status.to_owned(), rest.to_owned())
}

/// A server says that it is alive and ready, and what it has counted; a workflow is seen in it.
#[test]
fn health_and_metrics_are_served() {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    python::run(&interpreter, "hello.py", &[&server.address]);
    for (path, says) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let (status, rest) = get(&server.http, path);
        assert_eq!(status, "HTTP/1.1 200 OK", "{path}");
        assert!(rest.contains(&format!("\"state\":\"{says}\"")), "{rest}");
    }
    let (_, page) = get(&server.http, "/metrics");
    assert!(page.contains("text/plain; version=0.0.4"), "{page}");
    let count = |line: &str| {
        let found = page.lines().find_map(|found| found.strip_prefix(line));
        found.unwrap_or_else(|| panic!("{line} is not in {page}")).trim().parse::<u64>()
    };
    assert_eq!(count("bowline_attempts_total"), Ok(1));
    assert!(count("bowline_turns_total").is_ok_and(|turns| turns >= 2), "{page}");
    let started = "bowline_calls_total{method=\"StartWorkflowExecution\",code=\"OK\"}";
    assert_eq!(count(started), Ok(1));
    assert_eq!(get(&server.http, "/nothing").0, "HTTP/1.1 404 Not Found");
}

/// A run that was started over HTTP is worked on by an SDK's worker, which reads its input, and its
/// end is told to whoever looks on.
#[test]
fn a_run_of_the_http_api_is_worked_on_by_an_sdk() {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    let mut worker = python::start(&interpreter, "worker.py", &[&server.address]);
    worker.hears("working");
    let at = "/api/v1/namespaces/default";
    let send = |head: &str, body: &str| {
        let mut connection = TcpStream::connect(&server.http).expect("it listens");
        let kind = "host: localhost\r\nconnection: close\r\ncontent-type: application/json";
        let length = body.len();
        let text = format!("{head} HTTP/1.1\r\n{kind}\r\ncontent-length: {length}\r\n\r\n{body}");
        connection.write_all(text.as_bytes()).expect("it reads");
        BufReader::new(connection)
    };
    let mut news = send(&format!("GET {at}/events"), "").lines().map(|line| line.expect("text"));
    news.by_ref().find(|line| line.contains("event: live")).expect("the stream begins");
    let run = r#"{ "type": "Hello", "id": "over-http", "queue": "sdk", "input": "world" }"#;
    let mut answer = send(&format!("POST {at}/runs"), run).lines();
    assert_eq!(answer.next().expect("a line").expect("text"), "HTTP/1.1 201 Created");
    news.find(|line| line.contains("\"state\":\"completed\"")).expect("it ends");
    let (_, page) = get(&server.http, &format!("{at}/runs/over-http"));
    assert!(page.contains("Hello, world!"), "{page}");
}

/// The server is told to end while runs are under way, and starts again, three times. Its worker
/// finds it again, every run completes, and no turn or attempt had to time out for it.
#[test]
fn a_server_that_is_told_to_end_loses_nothing() {
    let Some(interpreter) = python::interpreter() else { return };
    let mut server = Server::start();
    let mut busy = python::start(&interpreter, "steady.py", &[&server.address]);
    for round in 0..3 {
        busy.hears(&format!("round {round}"));
        server.terminate();
        server.restart();
    }
    busy.hears("steady");
}

/// Three servers are replaced one after the other, as a new version is rolled out.
#[test]
fn servers_are_replaced_one_by_one_and_nobody_notices() {
    let Some(interpreter) = python::interpreter() else { return };
    let mut fleet = Fleet::start();
    let mut busy = python::start(&interpreter, "steady.py", &[&fleet.address]);
    for (round, replica) in fleet.replicas.iter_mut().enumerate() {
        busy.hears(&format!("round {round}"));
        replica.terminate();
        replica.restart();
    }
    busy.hears("steady");
}
