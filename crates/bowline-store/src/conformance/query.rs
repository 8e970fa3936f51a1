//! Lists of runs: filters, order, and pages that hold while runs come and go.

use std::{collections::BTreeMap, time::Duration};

use bowline_core::{
    Birth, Namespace, ParentClose, RunId, SearchAttributes, SearchField, SearchValue, Status,
};

use super::{
    Harness,
    world::{
        NAMESPACE, World,
        turn::{birth, started},
        wait::block_on,
    },
};
use bowline_core::Parked;

use crate::{Filter, Order, Page, Posting};

fn find(world: &World<'_>, filter: Filter) -> Page {
    block_on(world.store().find(filter)).expect("lists can be read")
}

fn all() -> Filter {
    Filter { namespace: NAMESPACE, limit: 100, order: Order::Oldest, ..Filter::default() }
}

fn found(world: &World<'_>, filter: Filter) -> Vec<RunId> {
    find(world, filter).runs.into_iter().map(|head| head.run).collect()
}

/// Each filter leaves out what it should, and filters together leave out more.
pub fn filters_leave_out_what_they_should(harness: &dyn Harness) {
    let world = World::new(harness);
    let a = world.start("order-1");
    let later = world.tick(10);
    let b = world.begin_run(named(birth(world.run_id(), "order-2", world.now()), "other", "q2"));
    let child = birth(world.run_id(), "child", world.now());
    let c = child.run;
    world.run_turn(a, |turn| turn.child(child, ParentClose::Cancel));
    world.close(b, Status::Completed);
    let bad = Parked { since: world.now(), failures: 1, reason: "bug".into(), ..Parked::default() };
    world.run_turn(c, |turn| turn.commit.parked = Some(Some(bad)));
    let table: Vec<(&str, Filter, Vec<RunId>)> = vec![
        ("nothing", all(), vec![a, b, c]),
        ("status", Filter { statuses: vec![Status::Completed], ..all() }, vec![b]),
        (
            "statuses",
            Filter { statuses: vec![Status::Completed, Status::Running], ..all() },
            vec![a, b, c],
        ),
        ("name", Filter { name: Some("other".into()), ..all() }, vec![b]),
        ("id", Filter { workflow_id: Some("order-1".into()), ..all() }, vec![a]),
        ("prefix", Filter { workflow_id_prefix: Some("order".into()), ..all() }, vec![a, b]),
        ("queue", Filter { queue: Some("q2".into()), ..all() }, vec![b]),
        ("parent", Filter { parent: Some(a), ..all() }, vec![c]),
        ("from", Filter { started_from: Some(later), ..all() }, vec![b, c]),
        ("before", Filter { started_before: Some(later), ..all() }, vec![a]),
        ("parked", Filter { parked: Some(true), ..all() }, vec![c]),
        ("healthy", Filter { parked: Some(false), ..all() }, vec![a, b]),
        (
            "two at once",
            Filter { name: Some("flow".into()), started_from: Some(later), ..all() },
            vec![c],
        ),
        ("elsewhere", Filter { namespace: Namespace(99), ..all() }, vec![]),
    ];
    for (story, filter, expected) in table {
        assert_eq!(found(&world, filter), expected, "{story}");
    }
}

/// Runs are found by what they say about themselves, at birth and later.
pub fn runs_are_found_by_search_attributes(harness: &dyn Harness) {
    let world = World::new(harness);
    let keyword = |text: &str| SearchValue::Keyword(text.into());
    let mut first = birth(world.run_id(), "a", world.now());
    started(&mut first).expect("it begins").search = attributes([
        ("city", keyword("berlin")),
        ("tags", SearchValue::Keywords(vec!["red".into(), "blue".into()])),
        ("count", SearchValue::Int(3)),
        ("about", SearchValue::Text("A quick brown Fox".into())),
    ]);
    let a = world.begin_run(first);
    let b = world.start("b");
    world.run_turn(b, |turn| {
        turn.commit.search = Some(attributes([("city", keyword("paris"))]));
    });
    let by = |key: &str, value: SearchValue| {
        found(&world, Filter { search: vec![(key.to_owned(), value)], ..all() })
    };
    assert_eq!(by("city", keyword("berlin")), [a]);
    assert_eq!(by("city", keyword("paris")), [b]);
    assert_eq!(by("city", keyword("rome")), []);
    assert_eq!(by("tags", keyword("blue")), [a], "one of several is enough");
    assert_eq!(by("count", SearchValue::Int(3)), [a]);
    assert_eq!(by("count", SearchValue::Int(4)), []);
    assert_eq!(by("about", SearchValue::Text("fox quick".into())), [a], "word by word");
    assert_eq!(by("unknown", keyword("x")), []);
}

/// Pages show every run once, in either order, also where many began at the same moment.
pub fn pages_show_every_run_once(harness: &dyn Harness) {
    let world = World::new(harness);
    for at in 0..10 {
        world.start(&format!("run-{at}"));
        if at % 3 == 0 {
            world.tick(1);
        }
    }
    let ascending = found(&world, all());
    assert_eq!(ascending.len(), 10);
    let mut descending = found(&world, Filter { order: Order::Newest, ..all() });
    descending.reverse();
    assert_eq!(descending, ascending, "one order is the other, turned round");
    for (order, limit) in [(Order::Oldest, 3), (Order::Newest, 3), (Order::Newest, 5)] {
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = find(&world, Filter { order, limit, after, ..all() });
            assert!(page.runs.len() <= limit);
            seen.extend(page.runs.into_iter().map(|head| head.run));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        if order == Order::Newest {
            seen.reverse();
        }
        assert_eq!(seen, ascending, "{order:?}, {limit} at a time");
    }
}

/// Runs that begin or close while somebody turns pages neither repeat nor hide another run.
pub fn pages_hold_while_runs_come_and_go(harness: &dyn Harness) {
    let world = World::new(harness);
    let runs: Vec<RunId> = (0..6)
        .map(|at| {
            world.tick(1);
            world.start(&format!("run-{at}"))
        })
        .collect();
    let newest = Filter { order: Order::Newest, limit: 2, ..all() };
    let first = find(&world, newest.clone());
    world.tick(1);
    world.start("newcomer");
    world.close(runs[5], Status::Completed);
    world.close(runs[2], Status::Completed);
    let second = find(&world, Filter { after: first.next, limit: 100, ..newest });
    let seen: Vec<RunId> = first.runs.iter().chain(&second.runs).map(|head| head.run).collect();
    let expected: Vec<RunId> = runs.into_iter().rev().collect();
    assert_eq!(seen, expected);
    assert_eq!(second.next, None);
}

/// Few of very many runs are meant, and they are the last that a list comes to. However short its
/// pages are, it goes on until it has shown them, each once.
pub fn a_list_goes_on_behind_what_is_not_meant(harness: &dyn Harness) {
    let world = World::new(harness);
    let tag = ("city", SearchValue::Keyword("rome".into()));
    let mut first = named(birth(world.run_id(), "needle-1", world.now()), "other", "q2");
    started(&mut first).expect("it begins").search = attributes([tag.clone()]);
    let needle = world.begin_run(first);
    world.close(needle, Status::Completed);
    let mut births = Vec::new();
    for at in 0..Page::LOOKS_MAX + 20 {
        if at % 100 == 0 {
            world.tick(1);
        }
        births.push(birth(world.run_id(), &format!("hay-{at}"), world.now()));
    }
    let postings = births.into_iter().map(|birth| world.starting(birth));
    let postings = postings.map(|start| Posting::Start(Box::new(start))).collect();
    for posted in block_on(world.store().post(postings)) {
        posted.expect("it starts");
    }
    let city = vec![(tag.0.to_owned(), tag.1)];
    let (name, queue, id) = (Some("other".into()), Some("q2".into()), Some("needle-1".into()));
    let table: Vec<(&str, Filter)> = vec![
        ("name", Filter { name, ..all() }),
        ("queue", Filter { queue, ..all() }),
        ("search", Filter { search: city, ..all() }),
        ("status", Filter { statuses: vec![Status::Completed], ..all() }),
        ("id", Filter { workflow_id: id, ..all() }),
        ("prefix", Filter { workflow_id_prefix: Some("needle".into()), ..all() }),
    ];
    for (story, filter) in table {
        for order in [Order::Newest, Order::Oldest] {
            let seen = turned(&world, Filter { order, limit: 3, ..filter.clone() });
            assert_eq!(seen, [needle], "{story}, {order:?}");
        }
    }
    let hay = Filter { workflow_id_prefix: Some("hay".into()), limit: 400, ..all() };
    let mut seen = turned(&world, hay);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), Page::LOOKS_MAX + 20, "more than one page looks at");
}

/// Thousands of runs are not what somebody looks for. A page says so after so many of them,
/// whatever is asked for that no index knows, and does not look at the others before it answers.
pub fn a_page_looks_at_so_many_runs_and_no_more(harness: &dyn Harness) {
    let world = World::new(harness);
    let tag = ("city", SearchValue::Keyword("rome".into()));
    let mut first = named(birth(world.run_id(), "needle-1", world.now()), "other", "q2");
    started(&mut first).expect("it begins").search = attributes([tag.clone()]);
    let needle = world.begin_run(first);
    world.close(needle, Status::Completed);
    world.tick(1);
    let now = world.now();
    let births = (0..2 * Page::LOOKS_MAX + 50).map(|at| {
        let birth = birth(world.run_id(), &format!("hay-{at}"), now);
        Posting::Start(Box::new(world.starting(birth)))
    });
    for posted in block_on(world.store().post(births.collect())) {
        posted.expect("it starts");
    }
    let city = vec![(tag.0.to_owned(), tag.1)];
    let (name, queue) = (Some("other".into()), Some("q2".into()));
    let needles = [
        Filter { name: name.clone(), ..all() },
        Filter { queue, ..all() },
        Filter { search: city, ..all() },
        Filter { statuses: vec![Status::Completed], ..all() },
        Filter { name, parked: Some(false), ..all() },
    ];
    let newest = needles.map(|filter| Filter { order: Order::Newest, ..filter });
    for filter in newest {
        let mut after = None;
        for _ in 0..2 {
            let page = find(&world, Filter { after, ..filter.clone() });
            assert!(page.runs.is_empty() && page.next.is_some(), "{filter:?}: {page:?}");
            after = page.next;
        }
        let last = find(&world, Filter { after, ..filter.clone() });
        let seen: Vec<RunId> = last.runs.iter().map(|head| head.run).collect();
        assert_eq!((seen, last.next), (vec![needle], None), "{filter:?}");
    }
}

/// Every page of a list.
fn turned(world: &World<'_>, filter: Filter) -> Vec<RunId> {
    let (mut seen, mut after, mut pages) = (Vec::new(), filter.after, 0);
    loop {
        let page = find(world, Filter { after, ..filter.clone() });
        assert!(page.runs.len() <= filter.limit);
        seen.extend(page.runs.into_iter().map(|head| head.run));
        pages += 1;
        assert!(pages < 2_000, "it never ends");
        match page.next {
            Some(next) => after = Some(next),
            None => return seen,
        }
    }
}

/// Lists tell the same about a run as reading it does.
pub fn a_list_shows_heads(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.tick(1);
    world.post(run, super::world::turn::cancel("ops", "")).expect("delivered");
    let page = find(&world, all());
    assert_eq!(page.runs, [world.head(run)]);
    assert_eq!(page.runs[0].started_at.after(Duration::from_secs(1)), world.now());
}

fn named(mut birth: Birth, name: &str, queue: &str) -> Birth {
    let first = started(&mut birth).expect("it begins");
    (first.name, first.queue) = (name.into(), queue.into());
    birth
}

fn attributes<const N: usize>(values: [(&str, SearchValue); N]) -> SearchAttributes {
    let field = |value| SearchField { value, wire: None };
    BTreeMap::from(values.map(|(key, value)| (key.to_owned(), field(value))))
}
