//! Answers that are asked for and not taken.

use temporalio_protos::temporal::api::{
    common::v1::{Payload, Payloads, WorkflowExecution},
    workflowservice::v1::*,
};

use crate::{
    client::{Client, framed, is_served, read, soon, start},
    server::Server,
};

/// A run whose history is as large as one event may be, nearly.
async fn large(address: &str) -> GetWorkflowExecutionHistoryRequest {
    let payload = Payload { data: vec![0; 1_500_000], ..Default::default() };
    let input = Some(Payloads { payloads: vec![payload] });
    let client = Client::new(address).await;
    let _: StartWorkflowExecutionResponse =
        client.ask(&StartWorkflowExecutionRequest { input, ..start("large") }).await;
    GetWorkflowExecutionHistoryRequest {
        namespace: "default".into(),
        execution: Some(WorkflowExecution { workflow_id: "large".into(), ..Default::default() }),
        ..Default::default()
    }
}

/// A client asked for large answers, and read none of them: the server kept them all, for ever.
/// Now it keeps so many bytes for one connection, and ends one that takes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_are_not_kept_for_ever() {
    let bounds = ["--bytes-max", "67108864", "--arrival-wait", "2", "--connection-age", "0"];
    let server = Server::start(&bounds);
    let history = large(&server.address).await;
    is_served(&server.address, "before").await;
    let before = server.memory();
    let deaf = Client::with_window(&server.address, 0).await;
    let body = framed(0, &prost::Message::encode_to_vec(&history));
    let mut asked = Vec::new();
    for _ in 0..200 {
        // It may be ended before that.
        let Ok((answer, mut sending)) = deaf.open("GetWorkflowExecutionHistory", false).await
        else {
            break;
        };
        if sending.send_data(body.clone().into(), true).is_err() {
            break;
        }
        asked.push((answer, sending));
    }
    // Nothing is taken, so the connection is ended: it is looked at whenever it says something.
    let ended = async {
        for number in 0.. {
            if deaf.driver.is_finished() {
                break;
            }
            let _ = deaf.open("GetSystemInfo", false).await;
            is_served(&server.address, &format!("beside {number}")).await;
        }
    };
    soon("the end of the connection", ended).await;
    let after = server.memory();
    assert!(after < before + 200, "{before} MiB before, {after} MiB while nobody read");
    is_served(&server.address, "after").await;
    drop(asked);
}

/// A connection is asked to make room for another one, and what is in flight on it is finished.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_makes_room_and_its_poll_is_answered() {
    let server = Server::start(&["--connection-age", "1", "--poll-wait", "3"]);
    let client = Client::new(&server.address).await;
    let poll = crate::client::poll("worker".into());
    let answer = client.call(&poll).await.expect("nothing has cut it off");
    assert_eq!(answer.len(), 5, "it is empty, and came in its own time");
    soon("the end of the connection", client.driver).await.expect("no panic").expect("in order");
    is_served(&server.address, "after").await;
}

/// A body that comes byte by byte holds its call no longer than another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_never_ends_is_given_up() {
    let server = Server::start(&["--arrival-wait", "1"]);
    let client = Client::new(&server.address).await;
    let opened = client.open("StartWorkflowExecution", false).await;
    let (answer, mut sending) = opened.expect("it begins");
    // A megabyte is announced, and one byte of it sent.
    sending.send_data(vec![0, 0, 0x10, 0, 0, 7].into(), false).expect("it is sent");
    let (code, message) = read(answer).await.expect_err("the rest never came");
    assert_eq!(code, 4, "{message}");
    is_served(&server.address, "after").await;
}
