//! Time, random numbers and what a run knows of itself are the same at every replay.

use bowline_core::{RecordMarker, SearchField, SearchValue, Time};
use expect_test::expect;

use crate::support::*;

#[test]
fn time_is_the_time_of_the_message() {
    let (mut world, first) = World::start(async |ctx| {
        let mut times = vec![ctx.now()];
        for _ in 0..2 {
            ctx.signals("tick").recv().await;
            times.push(ctx.now());
        }
        Ok(json(format!("{times:?}")))
    });
    assert_eq!(first, "");
    // Two messages in one turn have each its own time.
    expect![[r#"
        10: complete [1000000µs, 3000000µs, 4000000µs]
    "#]]
    .assert_eq(&world.send_all([signals("tick", ""), signals("tick", "")]));
    assert!(world.now > Time(3_000_000));
    world.check_prefixes();
}

#[test]
fn random_numbers_are_drawn_again() {
    let draws = async |ctx: bowline_replay::Context| {
        let (a, uuid) = (ctx.random(), ctx.uuid());
        ctx.activity(activity(&format!("{a:x} {uuid:x}"))).await;
        let b = ctx.random();
        ctx.activity(activity(&format!("{b:x}"))).await;
        assert_ne!(a, b);
        Ok(None)
    };
    let (mut world, first) = World::start(draws);
    expect![[r#"
        5: activity cdeb3ae8cea35a9d 164c4a27774f4beba77e891c11e19085
    "#]]
    .assert_eq(&first);
    world.evict();
    world.send(completes(5, ""));
    world.check_prefixes();
}

#[test]
fn a_run_knows_what_it_was_started_as() {
    let (mut world, first) = World::start(async |ctx| {
        let info = ctx.info();
        let text = format!("{} {} {} {}", info.name, info.workflow_id, info.run, info.attempt);
        ctx.signals("tick").recv().await;
        Ok(json(format!("{text} at {}", ctx.history())))
    });
    assert_eq!(first, "");
    expect![[r#"
        9: complete flow flow-1 00000000-0000-0000-0000-00000000004d 1 at 5
    "#]]
    .assert_eq(&world.send(signals("tick", "")));
}

#[test]
fn a_run_writes_down_things_about_itself() {
    let (world, first) = World::start(async |ctx| {
        let field = SearchField { value: SearchValue::Int(3), wire: None };
        ctx.upsert_search([("size".to_owned(), Some(field))].into());
        ctx.modify_memo([("note".to_owned(), json("hi"))].into());
        ctx.marker(RecordMarker { name: "seen".into(), ..RecordMarker::default() });
        Ok(None)
    });
    expect![[r#"
        5: UpsertSearch({"size": Some(SearchField { value: Int(3), wire: None })})
        6: ModifyMemo({"note": Some(Json:b"hi")})
        7: marker seen {}
        8: complete 
    "#]]
    .assert_eq(&first);
    world.check_prefixes();
}
