//! On a database that a program has open: what is asked for is carried out while one looks on.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::Arc,
    time::Duration,
};

use bowline_engine::{
    Engine, StartOptions,
    core::{ActivitySpec, Payload, Signal},
    worker::registry::activity_fn,
};
use bowline_postgres::{PostgresStore, Settings};
use bowline_replay::{Context, Ended};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::Session;
use crate::{database::database, err, out};

/// A program with a run whose activity runs, until it is told to stop.
struct Program {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
}

async fn flow(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let go = ctx.signals("go");
    go.recv().await;
    let work = ActivitySpec { name: "work".into(), queue: "q".into(), ..ActivitySpec::default() };
    ctx.activity(work).await;
    Ok(None)
}

impl Program {
    fn new(url: &str, schema: &str) -> (Self, Arc<Semaphore>) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let begun = Arc::new(Semaphore::new(0));
        let (began, url, schema) = (begun.clone(), url.to_owned(), schema.to_owned());
        let engine = runtime.block_on(async move {
            let mut settings = Settings::default();
            settings.schema = schema;
            let open = move || PostgresStore::open_with(&url, settings);
            let store = tokio::task::spawn_blocking(open).await.expect("it ends").expect("opens");
            let work = activity_fn(move |_, _| {
                began.add_permits(1);
                std::future::pending()
            });
            let builder = Engine::builder(Arc::new(store)).identity("program");
            let builder = builder.queue("q", Default::default()).activity("work", work);
            let engine = builder.workflow("flow", Arc::new(flow)).start().await.expect("starts");
            let options = StartOptions::new("flow", "one", "q", None);
            engine.start(options).await.expect("the run starts");
            engine
        });
        (Self { runtime, engine }, begun)
    }

    /// Lets the run's activity begin.
    fn go(&self, begun: &Semaphore) {
        self.runtime.block_on(async {
            let run = self.engine.current("one").await.expect("it is there").run;
            let signal = Signal { name: "go".into(), ..Signal::default() };
            self.engine.signal(run, signal).await.expect("it is sent");
            begun.acquire().await.expect("it is never closed").forget();
        });
    }

    fn close(self) {
        let closing = self.engine.close(Duration::from_secs(30));
        self.runtime.block_on(closing).expect("closes");
    }
}

fn session<'a>(folder: &'a std::path::Path, schema: &str) -> Session<'a> {
    let mut session = Session::new(folder);
    session.hidden = vec!["--schema".to_owned(), schema.to_owned()];
    session
}

/// Whoever follows a run sees what happens to it, until it is over.
#[test]
fn a_run_is_followed_to_its_end() {
    let (url, schema) = database();
    let schema = format!("{schema}_follow");
    let folder = tempfile::tempdir().expect("a folder");
    let (program, begun) = Program::new(&url, &schema);
    let session = session(folder.path(), &schema);
    let mut shown = session.command(&format!("--json show {url} one --follow"));
    let mut shown: Child =
        shown.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it begins");
    let mut lines = BufReader::new(shown.stdout.take().expect("a pipe")).lines();
    let mut kinds = Vec::new();
    let mut until = |kind: &str| loop {
        let line = lines.next().unwrap_or_else(|| panic!("it ended before {kind}: {kinds:?}"));
        let value: Value = serde_json::from_str(&line.expect("text")).expect("an object");
        kinds.push(value["kind"].as_str().unwrap_or("the run").to_owned());
        if kinds.last().is_some_and(|last| last == kind) {
            return;
        }
    };
    until("WorkflowStarted");
    program.go(&begun);
    until("WorkflowSignalled");
    until("ActivityScheduled");
    let cancelled = session.command(&format!("cancel {url} one --by alice")).output();
    assert!(cancelled.expect("it runs").status.success());
    until("WorkflowCancelled");
    let ended = shown.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{}", err(&ended));
    assert!(lines.next().is_none(), "nothing follows");
    program.close();
}

/// A cancel is waited for while the program carries it out; its receipt is the proof.
#[test]
fn a_cancel_is_waited_for_until_it_is_clean() {
    let (url, schema) = database();
    let schema = format!("{schema}_wait");
    let folder = tempfile::tempdir().expect("a folder");
    let (program, begun) = Program::new(&url, &schema);
    program.go(&begun);
    let mut session = session(folder.path(), &schema);
    session.shown_as.push((url.clone(), "<database>".to_owned()));
    let cancelled = session.types("cancel <database> one --reason enough --wait clean --json");
    assert_eq!(cancelled.status.code(), Some(0), "{}", session.seen);
    let last: Value = out(&cancelled)
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
        .expect("a receipt");
    assert_eq!((&last["phase"], &last["clean"]), (&"clean".into(), &true.into()));
    assert_eq!(last["why"]["words"], "requested by tester (enough)");
    let work = &last["tree"][0]["activities"][0];
    assert_eq!((&work["name"], &work["running"]), (&"work".into(), &false.into()));
    let receipt = last["id"].as_str().expect("it has one").to_owned();
    let shown = session.types(&format!("receipt <database> {receipt} --follow"));
    assert_eq!(shown.status.code(), Some(0), "{}", session.seen);
    let text = out(&shown);
    for says in
        ["requested by tester (enough)", "settled > CLEAN", "work #", "clean: nothing is left"]
    {
        assert!(text.contains(says), "{says:?} is missing in\n{text}");
    }
    program.close();
}

/// Whoever stops waiting has not taken the request back.
#[test]
fn a_wait_may_end_before_the_cancel() {
    let (url, schema) = database();
    let schema = format!("{schema}_late");
    let folder = tempfile::tempdir().expect("a folder");
    let (program, _begun) = Program::new(&url, &schema);
    program.close();
    // Nobody is there who has the code.
    let mut session = session(folder.path(), &schema);
    session.shown_as.push((url.clone(), "<database>".to_owned()));
    let cancelled = session.types("cancel <database> one --wait stopped --within 0");
    assert_eq!(cancelled.status.code(), Some(3), "{}", session.seen);
    assert!(err(&cancelled).contains("the request stands; it is not stopped yet"));
    let again = session.types("cancel <database> one");
    assert!(out(&again).contains("was asked before"), "{}", session.seen);
}
