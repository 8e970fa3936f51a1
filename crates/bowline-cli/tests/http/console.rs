//! The console of the served binary, in a real browser.

use serde_json::json;

use crate::{browser::Browser, server::Server};

/// Somebody without a key sees nothing; with a wrong one they are told so; with one that may only
/// look they see runs, and are refused when they start one; and they leave again.
#[tokio::test]
async fn somebody_logs_in_and_is_refused_what_they_may_not() {
    let Some(browser) = Browser::open().await else { return };
    let (server, key) = Server::guarded("alice", &["default:read"]);
    browser.goto(&format!("http://{}/", server.http)).await;
    browser.sees(".log-in form").await;
    browser.picture("log-in-light").await;
    browser.types(".log-in input", "bwl_wrong_wrong\n").await;
    browser.sees(".log-in .trouble").await;
    browser.picture("log-in-refused-light").await;
    browser.run("document.querySelector('.log-in input').value = ''").await;
    browser.types(".log-in input", &format!("{key}\n")).await;
    browser.sees(".pulse.live").await;
    let who = browser.sees(".who").await.text().await.expect("a text");
    assert!(who.contains("key:alice"), "{who}");
    let kept = browser.run("return document.cookie").await;
    assert_eq!(kept, json!(""), "no script sees the cookie");
    // Nobody was refused anything since the page came: what was said before is about the log-in.
    browser.complaints().await;
    browser.sees(".empty .command").await;
    browser.picture("log-in-done-light").await;

    browser.click(".head button.primary").await;
    browser.types("dialog [name=type]", "checkout").await;
    browser.types("dialog [name=id]", "order-42").await;
    browser.click("dialog button[type=submit]").await;
    let refused = browser.sees("dialog .trouble").await.text().await.expect("a text");
    assert!(refused.contains("`start` is needed"), "{refused}");
    browser.click("dialog footer button[type=button]").await;
    browser.click(".who button").await;
    browser.sees(".log-in form").await;
    let audit = server.audit();
    assert!(audit.contains("\"who\":\"key:alice\""), "{audit}");
    assert_eq!(browser.strangers().await, json!([]));
    browser.close().await;
}
