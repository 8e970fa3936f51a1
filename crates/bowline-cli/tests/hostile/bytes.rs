//! A little on the wire that is much in memory.

use std::io::Write;

use crate::{
    client::{Client, framed, is_served},
    server::Server,
};

/// Two bytes on the wire are an empty command, and an empty command is hundreds of bytes in memory:
/// a message of a few kilobytes, packed, became gigabytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_empty_parts_is_refused_before_it_is_unfolded() {
    let server = Server::start(&[]);
    let client = Client::new(&server.address).await;
    is_served(&server.address, "before").await;
    let before = server.memory();
    // Field 2 of an answer to a turn is a command; this one has none of its own.
    let empty = [0x12, 0x00].repeat(2 << 20);
    for _ in 0..4 {
        let body = framed(1, &gzip(&empty));
        let answer = client.send("RespondWorkflowTaskCompleted", body, true).await;
        let (code, message) = answer.expect_err("nobody asks for so much");
        assert_eq!(code, 3, "{message}");
    }
    let after = server.memory();
    assert!(after < before + 100, "{before} MiB before, {after} MiB after");
    is_served(&server.address, "after").await;
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packing.write_all(bytes).expect("memory takes everything");
    packing.finish().expect("memory takes everything")
}
