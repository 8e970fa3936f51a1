//! Queries: looked up, answered, and harmless.

use std::{cell::RefCell, rc::Rc};

use bowline_core::Failure;
use expect_test::expect;

use crate::support::*;

fn counting() -> World {
    let (world, _) = World::start(async |ctx| {
        let seen = Rc::new(RefCell::new(0));
        let shown = seen.clone();
        ctx.expose("seen", move |input| Ok(json(format!("{} {}", shown.borrow(), text(&input)))));
        ctx.expose("broken", |_| Err(Failure::new("cannot say")));
        ctx.expose("panics", |_| panic!("oh no"));
        let asking = ctx.clone();
        ctx.expose("asks", move |_| {
            drop(asking.activity(activity("sneaky")).start());
            Ok(None)
        });
        for _ in 0..3 {
            ctx.signals("more").recv().await;
            *seen.borrow_mut() += 1;
        }
        Ok(None)
    });
    world
}

#[test]
fn a_query_sees_the_state_after_the_last_whole_turn() {
    let mut world = counting();
    assert_eq!(world.replay.query("seen", json("x")).unwrap(), json("0 x"));
    world.send_all([signals("more", ""), signals("more", "")]);
    assert_eq!(world.replay.query("seen", None).unwrap(), json("2 "));
    world.evict();
    assert_eq!(world.replay.query("seen", None).unwrap(), json("2 "));
    world.send(signals("more", ""));
    assert!(world.closed());
    assert_eq!(world.replay.query("seen", None).unwrap(), json("3 "), "also when closed");
}

#[test]
fn what_cannot_be_answered_is_a_failure_and_changes_nothing() {
    let mut world = counting();
    let failure = world.replay.query("sene", None).unwrap_err();
    expect![[r#"the workflow has no query "sene": it answers "asks", "broken", "panics", "seen""#]]
        .assert_eq(&failure.message);
    assert_eq!(failure.kind, "UnknownQuery");
    assert_eq!(world.replay.query("broken", None).unwrap_err().message, "cannot say");
    let panic = world.replay.query("panics", None).unwrap_err();
    expect!["panic: oh no"].assert_eq(&panic.to_string());
    let sneaky = world.replay.query("asks", None).unwrap_err();
    expect![
        "panic: workflow code may start, ask and draw things only inside a turn, not in a query"
    ]
    .assert_eq(&sneaky.to_string());
    assert_eq!(world.send(signals("more", "")), "", "the run goes on as if nothing was asked");
    world.check_prefixes();
}
