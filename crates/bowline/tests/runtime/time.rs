//! Virtual time: it stands still while anything goes on, and jumps when nothing does.

use std::time::Duration;

use bowline::{Status, prelude::*};

use crate::shop::{DAY, YEAR, app, charge, checkout, remind};

#[test]
fn a_year_passes_in_a_moment() {
    bowline::test::run(app(), async |t| {
        let start = t.now();
        let run = t.start(remind, "rent", "alice").await.unwrap();
        t.advance(DAY * 10).await;
        assert_eq!(t.attempts(charge), 10);
        assert_eq!(t.now(), start + DAY * 10);
        assert_eq!(run.result().await.unwrap(), 365);
        assert_eq!(t.now(), start + YEAR);
    });
}

#[test]
fn plain_sleeps_of_activities_are_virtual_too() {
    bowline::test::run(app(), async |t| {
        let start = t.now();
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "a rope arrived");
        assert_eq!(t.now(), start + DAY * 30);
    });
}

#[test]
fn nothing_is_skipped_on_the_way_and_everything_that_is_due_is_done() {
    bowline::test::run(app(), async |t| {
        let runs = ["a", "b", "c"].map(|id| t.start(remind, id, id));
        for run in runs {
            run.await.unwrap();
        }
        for day in 1..=20 {
            t.advance(DAY).await;
            assert_eq!(t.attempts(charge), 3 * day);
        }
        // A moment before the next one is due, nothing more has happened.
        t.advance(DAY - Duration::from_millis(1)).await;
        assert_eq!(t.attempts(charge), 60);
        t.advance(Duration::from_millis(1)).await;
        assert_eq!(t.attempts(charge), 63);
    });
}

#[test]
fn time_does_not_pass_while_work_goes_on() {
    async fn busy(ctx: ActivityCtx) -> bowline::Result<u64> {
        let thread = ctx.spawn_blocking(|_| (0..200_000_u64).fold(0, |sum, n| sum ^ n));
        Ok(thread.await.map_err(|gone| std::io::Error::other(gone.to_string()))?)
    }
    async fn work(ctx: Ctx) -> bowline::Result<u64> {
        Ok(ctx.activity(busy, ()).timeout(Duration::from_millis(1)).await?)
    }
    let app = Bowline::open("x").workflow(work).activity(busy);
    bowline::test::run(app, async |t| {
        let start = t.now();
        let run = t.start(work, "w", ()).await.unwrap();
        assert!(run.result().await.is_ok());
        assert_eq!(t.now(), start);
    });
}

#[test]
fn a_clock_that_is_held_stands_still() {
    bowline::test::run(app(), async |t| {
        let start = t.now();
        let held = t.hold_clock();
        let run = t.start(remind, "rent", "alice").await.unwrap();
        t.settle().await;
        assert_eq!(t.now(), start);
        drop(held);
        t.advance(DAY).await;
        assert_eq!((t.now(), t.attempts(charge)), (start + DAY, 1));
        assert_eq!(run.describe().await.unwrap().summary.status, Status::Running);
    });
}

#[test]
#[should_panic(expected = "stuck-1 (forever): waits for a message")]
fn a_test_that_waits_in_vain_is_told_what_for() {
    const NEVER: Signal<()> = Signal::new("never");
    async fn forever(ctx: Ctx) -> bowline::Result<()> {
        ctx.signal(NEVER).recv().await;
        Ok(())
    }
    bowline::test::run(Bowline::open("x").workflow(forever), async |t| {
        let run = t.start(forever, "stuck-1", ()).await.unwrap();
        let _ = run.result().await;
    });
}

#[tokio::test]
#[should_panic(expected = "call it from a plain `#[test]`")]
async fn inside_another_runtime_it_says_so() {
    bowline::test::run(app(), async |_| ());
}

#[test]
fn what_the_body_returns_comes_back() {
    assert_eq!(bowline::test::run(app(), async |_| 7), 7);
}
