//! Connections that say nothing, and more of them than there is room for.

use tokio::{
    io::AsyncReadExt,
    net::{TcpSocket, TcpStream},
};

use crate::{
    client::{is_served, soon},
    server::Server,
};

/// At the limit of open files the server asked the system again and again for what it could not
/// have, with all of a processor; and whoever had come and said nothing stayed for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_are_ended_and_the_rest_waits() {
    let server = Server::with_files(64, &["--hello-wait", "1", "--clients-each", "1000"]);
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

/// One machine took every place that there was, and stayed: whoever came from elsewhere waited for
/// ever. Now an address has its share, and the others have theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_cannot_take_every_place() {
    let bounds = ["--clients-max", "20", "--clients-each", "10", "--hello-wait", "600"];
    let server = Server::start(&bounds);
    let mut hostile = Vec::new();
    for _ in 0..40 {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.2:0".parse().expect("an address")).expect("loopback is wide");
        let to = server.address.parse().expect("an address");
        hostile.push(soon("a place", socket.connect(to)).await.expect("it listens"));
    }
    // Those that came too many are ended, and the rest stays.
    for connection in &mut hostile[10..] {
        let heard = soon("its end", connection.read_to_end(&mut Vec::new())).await;
        heard.expect("it is ended in order");
    }
    is_served(&server.address, "beside").await;
    drop(hostile);
}
