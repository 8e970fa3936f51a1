//! The console in a real browser, on an engine with real code.

mod browser;
mod world;

use browser::Browser;
use serde_json::json;
use world::{QUEUE, World};

/// A stranger opens the console, starts a run, watches it, cancels it with a preview and sees the
/// tree become clean.
#[tokio::test]
async fn a_run_is_started_watched_and_cancelled_until_it_is_clean() {
    let Some(browser) = Browser::open().await else { return };
    let world = World::new().await;
    browser.goto(&world.at("/")).await;
    browser.sees(".empty .command").await;
    browser.sees(".pulse.live").await;

    browser.click(".head button.primary").await;
    browser.types("dialog [name=type]", "checkout").await;
    browser.run("document.querySelector('dialog [name=queue]').value = ''").await;
    browser.types("dialog [name=queue]", QUEUE).await;
    browser.types("dialog [name=id]", "order-42").await;
    browser.types("dialog [name=input]", "{\"total\": 12}").await;
    browser.click("dialog button[type=submit]").await;
    browser.sees("bw-run[data-state=running] .tl-bar.activity.open").await;
    browser.sees("bw-run .tl-bar.child").await;
    pictures(&browser, "run").await;

    browser.click("bw-run .tabs a:nth-child(2)").await;
    browser.click("bw-run .event[data-event='1'] summary").await;
    browser.sees("bw-run .event[open] .data .n").await;
    pictures(&browser, "history").await;
    browser.click("bw-run .tabs a:nth-child(3)").await;
    browser.sees("bw-run table tbody tr").await;
    pictures(&browser, "pending").await;

    browser.click("bw-run button.cancel").await;
    browser.sees("dialog .preview li:nth-child(4)").await;
    browser.types("dialog [name=reason]", "out of stock").await;
    browser.types("dialog [name=by]", "alice").await;
    pictures(&browser, "cancel").await;
    browser.run(LATE).await;
    browser.click("dialog button[type=submit]").await;
    browser.sees("bw-receipt[data-clean=true] .seal.good").await;
    browser.run("window.comes(); return new Promise((done) => setTimeout(done, 300))").await;
    browser.sees("bw-receipt[data-clean=true] .seal.good").await;
    browser.sees("bw-receipt .ct-line[data-tone=good] .hop:not(.none)").await;
    let text = browser.sees("bw-receipt").await.text().await.expect("a text");
    for said in ["out of stock", "by alice", "order-42", "shipment-42", "pack", "print_label"] {
        assert!(text.contains(said), "{said} is missing:\n{text}");
    }
    pictures(&browser, "receipt").await;
    quiet(&browser).await;
    browser.close().await;
}

/// Runs that are started elsewhere appear by themselves; a filter is in the address, an unknown one
/// is an error, and keys do what they say.
#[tokio::test]
async fn runs_are_filtered_selected_and_seen_live() {
    let Some(browser) = Browser::open().await else { return };
    let world = World::new().await;
    browser.goto(&world.at("/ns/default/runs?status=open")).await;
    browser.sees(".pulse.live").await;
    let start = |workflow: &str, id: &str| {
        format!(
            "await fetch('/api/v1/namespaces/default/runs', {{ method: 'POST', headers: \
             {{ 'content-type': 'application/json' }}, body: JSON.stringify({}) }})",
            json!({ "type": workflow, "id": id, "queue": QUEUE })
        )
    };
    for (workflow, id) in [("shipping", "ship-1"), ("shipping", "ship-2"), ("broken", "odd-1")] {
        browser.run(&format!("return (async () => {{ {} }})()", start(workflow, id))).await;
    }
    browser.sees("bw-run-list .run-row:nth-child(3)").await;
    browser.sees("bw-run-list [data-state=parked]").await;
    pictures(&browser, "runs").await;

    browser.types("main", "jx").await;
    browser.sees(".bar-of-many:not([hidden])").await;
    browser.types("main", "?").await;
    browser.sees("dialog .keys").await;
    browser.click("dialog button").await;

    browser.run("document.querySelector('input[type=search]').value = ''").await;
    browser.types("input[type=search]", "colour:blue\n").await;
    browser.sees(".trouble").await;
    browser.run("document.querySelector('input[type=search]').value = ''").await;
    browser.types("input[type=search]", "ship type:shipping\n").await;
    browser.sees("bw-runs[data-ready='2']").await;
    let address = browser.client.current_url().await.expect("it is somewhere");
    let query = address.query().unwrap_or_default();
    assert!(query.contains("id_prefix=ship") && query.contains("type=shipping"), "{query}");

    for (page, sign) in [("orphans", ".empty .command"), ("namespaces", "table tbody tr")] {
        let path = if page == "orphans" { "/ns/default/orphans" } else { "/namespaces" };
        browser.goto(&world.at(path)).await;
        browser.sees(sign).await;
        pictures(&browser, page).await;
    }
    quiet(&browser).await;
    browser.close().await;
}

/// Whatever is asked about receipts is answered late, with how they stood at first.
const LATE: &str = "
    const [late, real] = [new Promise((comes) => { window.comes = comes; }), window.fetch];
    window.fetch = async (at, about) => {
        const answer = await real(at, about);
        if (!String(at).includes('/receipts/')) return answer;
        const first = { ...await answer.json(), settled: false, clean: false, phase: 'decided' };
        await late;
        return Response.json(first);
    };
";

/// The page in both themes and on a phone's width.
async fn pictures(browser: &Browser, name: &str) {
    for (width, height, size) in [(1280, 800, ""), (390, 844, "-phone")] {
        browser.client.set_window_size(width, height).await.expect("it has a size");
        for theme in ["light", "dark"] {
            browser.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
            browser.picture(&format!("{name}{size}-{theme}")).await;
        }
    }
    browser.client.set_window_size(1280, 800).await.expect("it has a size");
}

/// Nothing was complained of, and nobody else was asked for anything.
async fn quiet(browser: &Browser) {
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    assert_eq!(browser.strangers().await, json!([]));
}
