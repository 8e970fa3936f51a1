//! Connections that say nothing, and more of them than there is room for.

use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::{
    client::{is_served, soon},
    server::Server,
};

/// At the limit of open files the server asked the system again and again for what it could not
/// have, with all of a processor; and whoever had come and said nothing stayed for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_are_ended_and_the_rest_waits() {
    let server = Server::with_files(64, &["--hello-wait", "1"]);
    let before = server.effort();
    let mut silent = Vec::new();
    for _ in 0..150 {
        silent.push(soon("a place", TcpStream::connect(&server.address)).await.expect("listens"));
    }
    // Each is let in when there is room, hears the server's greeting, and is ended.
    for connection in &mut silent {
        let heard = soon("its end", connection.read_to_end(&mut Vec::new())).await;
        heard.expect("it is ended in order");
    }
    assert!(server.files() <= 64);
    let effort = server.effort() - before;
    assert!(effort < 300, "{effort} hundredths of a second for doing nothing");
    is_served(&server.address, "after").await;
}
