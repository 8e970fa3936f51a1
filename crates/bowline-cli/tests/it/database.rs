//! The commands on a database, where others have it open too.

use std::sync::Arc;

use bowline_engine::{Engine, StartOptions};
use bowline_postgres::{PostgresStore, Settings};

use crate::{bowline, err, out};

/// Where tests find a database, with a schema that nobody else has.
fn database() -> (String, String) {
    let url = std::env::var("BOWLINE_TEST_POSTGRES")
        .expect("BOWLINE_TEST_POSTGRES names a database: run `cargo xtask test`");
    (url, format!("cli_{}", std::process::id()))
}

#[test]
fn a_run_in_a_database_is_listed_shown_and_cancelled_while_others_have_it_open() {
    let (url, schema) = database();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut settings = Settings::default();
        settings.schema.clone_from(&schema);
        let at = url.clone();
        let store = tokio::task::spawn_blocking(move || PostgresStore::open_with(&at, settings));
        let store = store.await.expect("it ends").expect("opens");
        let engine = Engine::builder(Arc::new(store)).start().await.expect("starts");
        let options = StartOptions::new("checkout", "order-42", "default", None);
        let run = engine.start(options).await.expect("the run starts");
        let say = |args: &[&str]| bowline(&[&["--schema", &schema], args].concat());
        let listed = say(&["list", &url]);
        assert!(out(&listed).contains("order-42"), "{}{}", out(&listed), err(&listed));
        let cancelled = say(&["cancel", &url, "order-42", "--by", "alice"]);
        assert!(out(&cancelled).starts_with("cancel requested of run "), "{}", err(&cancelled));
        assert!(engine.head(run).await.expect("it is there").cancel.is_some());
        let shown = say(&["show", &url, "order-42"]);
        assert!(out(&shown).contains("WorkflowStarted"), "{}", err(&shown));
        let orphans = say(&["orphans", &url]);
        assert_eq!(out(&orphans), "nothing is left over\n", "{}", err(&orphans));
        for (command, hint) in
            [(&["check", &url][..], "by itself"), (&["backup", &url, "x"], "pg_dump")]
        {
            let refused = say(command);
            assert_eq!(refused.status.code(), Some(2));
            assert!(err(&refused).contains(hint), "{}", err(&refused));
        }
        engine.close(std::time::Duration::from_secs(5)).await.expect("closes");
    });
}

#[test]
fn a_bad_address_is_refused_and_its_password_is_not_shown() {
    let listen = ["--listen", "127.0.0.1:0"];
    let serve = |store: &str| bowline(&[&["serve", "--store", store], &listen[..]].concat());
    // Nobody listens on this port.
    let closed = "postgres://me:secret@127.0.0.1:1/runs?connect_timeout=1";
    for (store, says) in [
        (closed, "postgres://me@127.0.0.1:1/runs cannot be opened"),
        ("postgres://me:secret@127.0.0.1:none/runs", "the URL does not read"),
        ("mysql://me:secret@host/runs", "there is no store behind mysql://"),
    ] {
        let refused = serve(store);
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains(says), "{}", err(&refused));
        assert!(out(&refused).is_empty());
    }
    assert!(!err(&serve(closed)).contains("secret"));
}
