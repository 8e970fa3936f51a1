//! Calls that are begun and never made.

use h2::Reason;

use crate::{
    client::{Client, is_served, read, soon},
    server::Server,
};

/// One connection began a thousand calls and asked nothing: it held every slot there was, for ever.
/// Now one may have half of them, what it asks must come in time, and whoever else there is has a
/// few that nobody can take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_without_a_body_keep_nobody_out() {
    let server = Server::start(&["--calls-max", "200", "--arrival-wait", "3"]);
    let (mut hostile, mut open) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let client = Client::new(&server.address).await;
        for _ in 0..100 {
            open.push(client.open("GetSystemInfo", false).await.expect("it begins"));
        }
        hostile.push(client);
    }
    is_served(&server.address, "beside").await;
    let (mut late, mut refused) = (0, 0);
    for (answer, _sending) in open {
        match read(answer).await.expect_err("it was never made") {
            (4, _) => late += 1,
            (8, _) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(late >= 100 && refused >= 100, "{late} came late, {refused} were too many");
    is_served(&server.address, "after").await;
}

/// Calls are begun and taken back as fast as the wire takes them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_taken_back_at_once_end_their_connection() {
    let server = Server::start(&[]);
    let hostile = Client::new(&server.address).await;
    for _ in 0..50_000 {
        let Ok((_, mut sending)) = hostile.open("GetSystemInfo", false).await else { break };
        sending.send_reset(Reason::CANCEL);
    }
    let ended = soon("the end of the connection", hostile.driver).await.expect("no panic");
    // Who was still writing may not have read why.
    let why = ended.expect_err("it was ended").reason();
    assert!(why.is_none_or(|why| why == Reason::ENHANCE_YOUR_CALM), "{why:?}");
    is_served(&server.address, "beside").await;
}
