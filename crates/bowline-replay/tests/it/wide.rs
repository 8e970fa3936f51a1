//! Very many activities, cancelled together: decided whole, in the turn that the cancel belongs to;
//! where they are too many, the code lets go of them in the turn after it.

use bowline_replay::{Context, either, join_all};
use expect_test::expect;

use crate::support::*;

/// More than a cancel of the run lets go of in its own turn.
const MANY: u64 = 2_500;

/// Waits for so many activities of one name.
async fn all(ctx: &Context, count: u64) -> Body {
    join_all((0..count).map(|_| ctx.activity(activity("a")))).await;
    Ok(None)
}

/// The numbers of that many, the newest last.
fn numbers(world: &World, count: u64) -> Vec<u64> {
    let last = world.number("a");
    (last + 1 - count..=last).collect()
}

/// What the code's drops bring about comes with the turn that drops it: a shield goes on, a scope
/// is cleaned up. What is cancelled was decided before, and no turn decides it again.
#[test]
fn the_code_lets_go_in_the_turn_after_a_wide_cancel() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        let saving = ctx.shield(async move {
            inner.signals("saved").recv().await;
            inner.activity(activity("confirm")).await;
        });
        let part = ctx.scope(async { Ok(ctx.signals("never").recv().await) });
        let part = part.cleanup(async |ctx, _| {
            ctx.activity(activity("tidy")).await;
            Ok(())
        });
        let _ = either(either(saving, part), all(&ctx, MANY)).await;
        Ok(None)
    });
    let numbers = numbers(&world, MANY);
    expect![[r#"
        drop Activities 5-2504 in 0: run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    world.evict();
    expect![[r#"
        2512: activity tidy
    "#]]
    .assert_eq(&world.send(skips(&numbers[1..])));
    assert_eq!(world.send(stops(numbers[0])), "");
    expect![[r#"
        left 2: run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.number("tidy"), "")));
    expect![[r#"
        2527: activity confirm
    "#]]
    .assert_eq(&world.send(signals("saved", "")));
    expect![[r#"
        left 1
        2533: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.number("confirm"), "")));
    assert!(world.closed());
    world.check_prefixes();
}

/// A turn after it may never come if everything has ended by then.
#[test]
fn a_wide_cancel_of_what_ends_in_the_same_turn_closes_the_run() {
    let (mut world, _) = World::start(async |ctx| all(&ctx, MANY).await);
    let ends = numbers(&world, MANY).into_iter().map(|number| completes(number, ""));
    let shown = world.send_all([cancels("alice")].into_iter().chain(ends));
    assert!(shown.ends_with(": cancelled: requested by alice (enough)\n"), "{shown}");
    assert!(world.closed());
    world.check_prefixes();
}

/// A shield may hold some of what the run's cancel has hit: it hears the end, or lets go of it.
#[test]
fn whoever_still_holds_one_of_very_many_hears_its_end() {
    let (mut world, _) = World::start(async |ctx| {
        let awaited = ctx.activity(activity("awaited")).start();
        let given_up = ctx.activity(activity("given up")).start();
        let inner = ctx.clone();
        let shield = ctx.shield(async move {
            inner.signals("go").recv().await;
            given_up.detach();
            let outcome = awaited.await;
            inner.activity(activity(&told(&outcome))).await;
        });
        let _ = either(shield, all(&ctx, MANY)).await;
        Ok(None)
    });
    expect![[r#"
        drop Activities 5-2506 in 0: run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    assert_eq!(world.send(signals("go", "")), "");
    let (awaited, given_up) = (world.number("awaited"), world.number("given up"));
    let many = numbers(&world, MANY);
    let over: Vec<u64> = [awaited, given_up].into_iter().chain(many).collect();
    expect![[r#"
        2518: activity cancelled NeverStarted run_cancelled, because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(skips(&over)));
    world.send(completes(world.newest(), ""));
    assert!(world.closed());
    world.check_prefixes();
}

/// The end of each is remembered where a clean-up wants to know it, however many there are.
#[test]
fn a_clean_up_hears_of_very_many_one_by_one() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { all(&ctx, 300).await }).cleanup(async |ctx, stopped| {
            let first = stopped.cancelled.first().map(|item| item.number);
            let text = format!("{} from {:?}", stopped.cancelled.len(), first);
            ctx.activity(activity(&text)).await;
            Ok(())
        });
        let _ = either(ctx.signals("enough").recv(), scope).await;
        Ok(None)
    });
    let numbers = numbers(&world, 300);
    expect![[r#"
        drop Activities 5-304 in 1: scope_exit
            because select_lost
    "#]]
    .assert_eq(&world.send(signals("enough", "")));
    assert_eq!(world.send(stops(numbers[7])), "");
    world.evict();
    let rest: Vec<u64> = numbers.iter().copied().filter(|number| *number != numbers[7]).collect();
    expect![[r#"
        317: activity 300 from Some(5)
    "#]]
    .assert_eq(&world.send(skips(&rest)));
    world.check_prefixes();
}
