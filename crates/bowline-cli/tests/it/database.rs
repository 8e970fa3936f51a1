//! The commands on a database, where others have it open too.

use std::{process::Command, sync::Arc, time::Duration};

use bowline_engine::{
    CancelRequest, Engine, StartOptions,
    core::{ActivitySpec, Payload, Sight},
    store::Phase,
    worker::registry::activity_fn,
};
use bowline_postgres::{PostgresStore, Settings};
use bowline_replay::{Context, Ended};

use crate::{bowline, err, out};

/// Where tests find a database, with a schema that nobody else has.
pub(crate) fn database() -> (String, String) {
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
        assert!(
            out(&cancelled).starts_with("order-42 is asked to cancel: run "),
            "{}",
            err(&cancelled)
        );
        assert!(engine.head(run).await.expect("it is there").cancel.is_some());
        let shown = say(&["show", &url, "order-42"]);
        assert!(out(&shown).contains("the run of checkout began"), "{}", err(&shown));
        let orphans = say(&["orphans", &url]);
        assert_eq!(out(&orphans), "nothing is left over\n", "{}", err(&orphans));
        for (command, hint) in
            [(&["check", &url][..], "by itself"), (&["backup", &url, "x"], "pg_dump")]
        {
            let refused = say(command);
            assert_eq!(refused.status.code(), Some(2));
            assert!(err(&refused).contains(hint), "{}", err(&refused));
        }
        engine.close(Duration::from_secs(5)).await.expect("closes");
    });
}

/// A process fell silent on a host that was taken away, so that nobody can look. Its attempt kept a
/// receipt from being clean until somebody said what they knew.
#[test]
fn somebody_says_that_a_silent_process_is_gone() {
    let (url, schema) = database();
    let schema = format!("{schema}_gone");
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let (ghost, here) = (runtime(), runtime());
    let open = async |url: String, schema: String, name: &str| {
        let mut settings = Settings::default();
        settings.schema = schema;
        let store = tokio::task::spawn_blocking(move || PostgresStore::open_with(&url, settings));
        let store = store.await.expect("it ends").expect("opens");
        Engine::builder(Arc::new(store)).identity(name).lease(Duration::from_secs(2))
    };
    let (begun, has_begun) = std::sync::mpsc::channel();
    let engine = ghost.block_on(async {
        let work = activity_fn(move |_, _| {
            begun.send(()).expect("the test waits");
            std::future::pending()
        });
        let builder =
            open(url.clone(), schema.clone(), "ghost").await.queue("q", Default::default());
        let builder = builder.activity("work", work).workflow("flow", Arc::new(flow));
        let engine = builder.start().await.expect("starts");
        let options = StartOptions::new("flow", "one", "q", None);
        engine.start(options).await.expect("the run starts");
        engine
    });
    has_begun.recv().expect("it begins");
    let say =
        |args: &[&str]| bowline(&[&["--schema", &schema, "member", "gone", &url], args].concat());
    let alive = say(&["--identity", "ghost", "--by", "alice"]);
    assert_eq!(alive.status.code(), Some(2));
    assert!(err(&alive).contains("ghost is in touch"), "{}", err(&alive));
    let nobody = say(&["--identity", "nobody", "--by", "alice"]);
    assert!(err(&nobody).contains("no process of nobody has fallen silent"), "{}", err(&nobody));
    assert!(!say(&["--identity", "ghost"]).status.success(), "who says so is named");
    ghost.shutdown_background();
    drop(engine);
    here.block_on(async {
        let engine = open(url.clone(), schema.clone(), "witness").await;
        let engine = engine.workflow("flow", Arc::new(flow)).queue("q", Default::default());
        let engine = engine.start().await.expect("starts");
        let request = CancelRequest::new("enough", "test");
        let run = engine.current("one").await.expect("it is there").run;
        let receipt = engine.cancel(run, request).await.expect("it is asked");
        let left = engine.wait(receipt, Phase::Settled).await.expect("it settles");
        assert_eq!(left.remainder().lost.len(), 1, "{left:#?}");
        let said =
            say(&["--identity", "ghost", "--by", "alice", "--reason", "its host is no more"]);
        assert_eq!(out(&said), "ghost counts as gone, and what it ran as over\n", "{}", err(&said));
        let left = engine.wait(receipt, Phase::Clean).await.expect("it is clean");
        let sights: Vec<_> = left.attempts.iter().flat_map(|line| &line.unseen).collect();
        let [own] = sights[..] else { panic!("{left:#?}") };
        let Sight::SaidGone(by, _) = &own.sight else { panic!("{left:#?}") };
        assert_eq!(by.as_str(), "alice (its host is no more)");
        engine.close(Duration::from_secs(5)).await.expect("closes");
    });
}

async fn flow(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let work = ActivitySpec { name: "work".into(), queue: "q".into(), ..ActivitySpec::default() };
    ctx.activity(work).await;
    Ok(None)
}

#[test]
fn nobody_is_gone_from_a_file() {
    let refused = bowline(&["member", "gone", "runs.db", "--host", "h", "--by", "alice"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("only one process has it open"), "{}", err(&refused));
}

#[test]
fn a_bad_address_is_refused_and_its_password_is_not_shown() {
    let serve = |store: &str| {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_bowline"));
        serve.args(["serve", "--listen", "127.0.0.1:0"]).env("BOWLINE_STORE", store);
        serve.output().expect("the command runs")
    };
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
    // Everybody on the machine can read a command line.
    let spoken = bowline(&["list", closed]);
    assert_eq!(spoken.status.code(), Some(2));
    assert!(err(&spoken).contains("PGPASSWORD"), "{}", err(&spoken));
    assert!(!err(&spoken).contains("secret"));
}
