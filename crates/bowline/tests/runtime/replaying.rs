//! Recorded histories against today's code, and the same test twice.

use bowline::{
    Recording,
    prelude::*,
    test::{Drift, Fault, Point, Step},
};

use crate::shop::{DAY, YEAR, app, charge, checkout, remind, ship};

/// An order that was called back after a day, as it was recorded.
fn recorded() -> Recording {
    bowline::test::run(app(), async |t| {
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        t.advance(DAY).await;
        run.cancel("enough").by("alice").await.unwrap();
        let _ = run.outcome().await.unwrap();
        run.record().await.unwrap()
    })
}

#[test]
fn an_unchanged_workflow_is_accepted() {
    let recording = recorded();
    let replayed = bowline::test::replay(app(), &recording).unwrap();
    assert!(replayed.closed && replayed.events > 10, "{replayed:?}");
}

#[test]
fn a_run_that_is_still_open_is_accepted_too() {
    let recording = bowline::test::run(app(), async |t| {
        let run = t.start(remind, "rent", "alice").await.unwrap();
        t.advance(DAY * 3).await;
        run.record().await.unwrap()
    });
    let replayed = bowline::test::replay(app(), &recording).unwrap();
    assert!(!replayed.closed && replayed.events > 10, "{replayed:?}");
}

#[test]
fn a_changed_workflow_is_reported_with_both_sides() {
    /// As it was, but the order is shipped before it is charged.
    async fn changed(ctx: Ctx, order: String) -> bowline::Result<String> {
        ctx.activity(ship, &order).await?;
        Ok(ctx.activity(charge, &order).await?)
    }
    let app = Bowline::open("x").activity(charge).activity(ship);
    let app = app.workflow_with(changed, |o| o.name("checkout"));
    let drift = bowline::test::replay(app, &recorded()).unwrap_err();
    let text = drift.to_string();
    let Drift::Differs { workflow, event, recorded, asked, hint, .. } = drift else {
        panic!("{text}");
    };
    assert_eq!(workflow, "checkout");
    assert!(event > 0 && text.contains(&format!("event {event}")), "{text}");
    assert!(recorded.contains("charge") && asked.contains("ship"), "{text}");
    assert!(hint.contains("patched") && text.contains("hint:"), "{text}");
    assert!(text.starts_with("workflow \"checkout\": the code does not do what"), "{text}");
}

#[test]
fn code_that_panics_and_code_that_is_gone_are_told_apart() {
    async fn broken(_: Ctx, order: String) -> bowline::Result<String> {
        panic!("no {order} any more")
    }
    let app = Bowline::open("x").workflow_with(broken, |o| o.name("checkout"));
    let drift = bowline::test::replay(app, &recorded()).unwrap_err();
    assert!(matches!(drift, Drift::Fails { .. }), "{drift}");
    assert!(drift.to_string().contains("no a rope any more"), "{drift}");
    let drift = bowline::test::replay(Bowline::open("x"), &recorded()).unwrap_err();
    assert!(matches!(drift, Drift::Unregistered { .. }), "{drift}");
    assert!(drift.to_string().contains("o.name(\"checkout\")"), "{drift}");
}

#[test]
fn a_recording_is_kept_in_a_file() {
    let recording = recorded();
    let file = tempfile::NamedTempFile::new().unwrap();
    recording.save(file.path()).unwrap();
    let loaded = Recording::load(file.path()).unwrap();
    assert_eq!((&loaded, loaded.workflow()), (&recording, "checkout"));
    std::fs::write(file.path(), "something else").unwrap();
    let error = Recording::load(file.path()).unwrap_err().to_string();
    assert!(error.contains("not a recording"), "{error}");
}

/// Several runs at once, a cancel, crashes and a failing store.
fn story() -> Vec<Recording> {
    bowline::test::run(app(), async |t| {
        t.once(Point::after(Step::Commit).of(ship).nth(2), Fault::Crash);
        t.once(Point::before(Step::Settle).of(charge).nth(5), Fault::LoseWorker);
        t.once(Point::after(Step::Commit).nth(9), Fault::StoreFails);
        let mut runs = Vec::new();
        for id in ["a", "b", "c", "d"] {
            runs.push(t.start(checkout, id, id).await.unwrap());
        }
        let rent = t.start(remind, "rent", "alice").await.unwrap();
        t.advance(DAY).await;
        runs[1].cancel("enough").by("alice").await.unwrap();
        t.advance(YEAR * 2).await;
        let mut recordings = vec![rent.record().await.unwrap()];
        for run in runs {
            recordings.push(run.record().await.unwrap());
        }
        recordings
    })
}

#[test]
fn two_runs_of_one_test_give_equal_histories() {
    let first = story();
    for _ in 0..3 {
        assert!(story() == first, "{first:#?}");
    }
    for recording in first {
        bowline::test::replay(app(), &recording).unwrap();
    }
}
