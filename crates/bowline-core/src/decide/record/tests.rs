//! Markers, search attributes and memo.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

fn keyword(text: &str) -> SearchField {
    SearchField { value: SearchValue::Keyword(text.to_owned()), wire: None }
}

fn search(changes: &[(&str, Option<&str>)]) -> Command {
    let changes = changes.iter().map(|(key, value)| ((*key).to_owned(), value.map(keyword)));
    Command::UpsertSearch(changes.collect())
}

fn memo(changes: &[(&str, Option<Payload>)]) -> Command {
    let changes = changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    Command::ModifyMemo(changes.collect())
}

#[test]
fn each_has_its_event() {
    let commands = [marker("m"), search(&[("k", Some("v"))]), memo(&[("n", text("1"))])];
    check(
        World::remote(),
        |w| w.turn(commands.clone()),
        expect![[r#"
            3 TurnStarted of 2
            > arm Run(Turn(2, 1)) at 10s
            4 TurnCompleted of 2,3
            5 MarkerRecorded m
            6 SearchUpserted ["k"]
            7 MemoModified ["n"]
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
    check(
        World::native(),
        |w| w.turn(commands),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 MarkerRecorded m
            6 SearchUpserted ["k"]
            7 MemoModified ["n"]
        "#]],
    );
}

#[test]
fn an_unset_value_removes_the_key() {
    let mut world = World::native();
    world.turn([
        search(&[("a", Some("1")), ("b", Some("2"))]),
        search(&[("a", None), ("b", Some("3"))]),
        memo(&[("a", text("1")), ("b", text("2"))]),
        memo(&[("b", None), ("none", None)]),
    ]);
    let kept: Vec<_> = world.state.search.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
    assert_eq!(kept, [("b", keyword("3"))]);
    assert_eq!(world.state.memo.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn bad_ones_fail_the_turn() {
    let world = given(World::remote(), |w| w.start());
    let many: Vec<_> = (0..=limits::SEARCH_MAX).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(|key| (key.as_str(), Some("v"))).collect();
    let long = "x".repeat(limits::SEARCH_BYTES_MAX + 1);
    let each = "x".repeat(limits::SEARCH_BYTES_MAX);
    let all: Vec<_> = (0..21).map(|n| n.to_string()).collect();
    let all: Vec<_> = all.iter().map(|key| (key.as_str(), Some(each.as_str()))).collect();
    let details = [("d".to_owned(), huge().unwrap())].into();
    let large = RecordMarker { name: "m".into(), details, ..RecordMarker::default() };
    let half = || Some(Payload::json("x".repeat(limits::PAYLOAD_MAX / 2 + 1)));
    let bad = [
        vec![marker("")],
        vec![Command::RecordMarker(Box::new(large))],
        vec![search(&[])],
        vec![search(&many)],
        vec![search(&[("k", Some(&long))])],
        vec![search(&all)],
        vec![memo(&[])],
        vec![memo(&[("a", huge())])],
        vec![memo(&[("a", half())]), memo(&[("b", half())])],
    ];
    expect![[r#"
        ! failed: BadMarker: the marker has no name, or one that is too long
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
        ! failed: BadSearch: there is no search attribute to change
        ! failed: BadSearch: bad search attributes: there are more than 100 of them
        ! failed: SearchTooLarge: bad search attributes: one of them is larger than 2 KiB
        ! failed: SearchTooLarge: bad search attributes: together they are larger than 40 KiB
        ! failed: BadMemo: there is no memo field to change
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
        ! failed: TooLarge: a command carries 2097154 bytes, more than 2 MiB
    "#]]
    .assert_eq(&refusals(&world, bad));
    // A value that replaces another one does not add to it.
    let mut world = world;
    world.answer([memo(&[("a", half())]), memo(&[("a", half())])]);
    assert!(world.state.status.is_open(), "{}", world.told);
}
