//! Names without an end.

use temporalio_protos::temporal::api::{
    worker::v1::WorkerHeartbeat, workflowservice::v1::RecordWorkerHeartbeatRequest,
};

use crate::{
    client::{Client, is_served, poll},
    server::Server,
};

/// Whoever polls says who it is, and that was kept as long as it liked: sixty polls with eight
/// megabytes each made the server keep half a gigabyte, and a thousand would have ended it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_without_an_end_is_refused_and_not_kept() {
    let server = Server::start(&[]);
    let client = Client::new(&server.address).await;
    is_served(&server.address, "before").await;
    let before = server.memory();
    for number in 0..60 {
        let long = format!("{number}{}", "x".repeat(8 << 20));
        let answer = client.call(&poll(long)).await;
        let (code, message) = answer.expect_err("nobody is called that");
        assert_eq!(code, 3, "{message}");
    }
    let after = server.memory();
    assert!(after < before + 100, "{before} MiB before, {after} MiB after");
    is_served(&server.address, "after").await;
}

/// A worker's word about itself is kept, under the key that it says: neither may be long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_of_a_worker_is_not_as_long_as_it_likes() {
    let server = Server::start(&[]);
    let client = Client::new(&server.address).await;
    let before = server.memory();
    for number in 0..30 {
        let key = format!("{number}{}", "k".repeat(8 << 20));
        let beat = WorkerHeartbeat { worker_instance_key: key, ..Default::default() };
        let beats = RecordWorkerHeartbeatRequest {
            namespace: "default".into(),
            worker_heartbeat: vec![beat],
            ..Default::default()
        };
        let (code, message) = client.call(&beats).await.expect_err("no key is that long");
        assert_eq!(code, 3, "{message}");
    }
    let after = server.memory();
    assert!(after < before + 100, "{before} MiB before, {after} MiB after");
    is_served(&server.address, "after").await;
}
