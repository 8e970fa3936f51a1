//! Lists of very many runs: they look at so many for a page, and keep nobody who writes waiting.

use std::time::Duration;

use bowline_core::{EventKind, Namespace, Time};
use bowline_postgres::PostgresStore;
use bowline_store::{Filter, Join, Page, Posting, Renewal, Store};

use crate::{
    crowd::{holding, until_waiting, waiting},
    place::Place,
    takeover::starting,
    wait::wait,
};

const NOW: Time = Time(1_000_000);

fn all() -> Filter {
    Filter { namespace: Namespace(1), limit: 10, ..Filter::default() }
}

/// Thousands of runs are not what somebody looks for. A page says so after a thousand of them,
/// whatever is asked for, and does not look at the others before it answers.
#[test]
fn a_page_looks_at_so_many_runs_and_no_more() {
    let place = Place::new();
    let store = PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    let postings = (1..=2 * Page::LOOKS_MAX as u128 + 50).map(|uuid| {
        let mut posting = starting(uuid);
        let Posting::Start(start) = &mut posting else { panic!("it is a start") };
        let first = &mut start.birth.events[0];
        let EventKind::WorkflowStarted(started) = &mut first.kind else { panic!("{first:?}") };
        started.name = if uuid == 1 { "needle".into() } else { "hay".into() };
        first.time = Time(NOW.0 + uuid as i64);
        posting
    });
    for posted in wait(store.post(postings.collect())) {
        posted.expect("it starts");
    }
    let find = |filter| wait(store.find(filter)).expect("it is listed");
    let needles = [
        Filter { name: Some("needle".into()), ..all() },
        Filter { name: Some("needle".into()), workflow_id_prefix: Some("flow".into()), ..all() },
        Filter { statuses: vec![bowline_core::Status::Completed], ..all() },
    ];
    for filter in needles {
        let first = find(filter.clone());
        assert!(first.runs.is_empty() && first.next.is_some(), "{filter:?}: {first:?}");
        let second = find(Filter { after: first.next, ..filter.clone() });
        assert!(second.runs.is_empty() && second.next.is_some(), "{filter:?}: {second:?}");
        let third = find(Filter { after: second.next, ..filter.clone() });
        let found = usize::from(filter.name.is_some());
        assert_eq!((third.runs.len(), third.next), (found, None), "{filter:?}");
    }
    let one = Filter { workflow_id: Some("flow-1".into()), ..all() };
    assert_eq!(find(one).runs.len(), 1, "an index leads to it at once");
    let parked = find(Filter { parked: Some(true), ..all() });
    assert_eq!((parked.runs.len(), parked.next), (0, None), "and to those that are parked");
}

/// Lists wait for something, as many as there are. Whoever writes does not wait with them.
#[test]
fn lists_take_no_connection_from_those_that_write() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.connections = 2;
    let store = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    let lease = Duration::from_secs(60);
    let join = Join::new("test", lease, NOW);
    let epoch = wait(store.join(join)).expect("it joins").epoch;
    let renewal = Renewal::new(epoch, lease, NOW);
    let lock = format!("LOCK TABLE {}.labels IN ACCESS EXCLUSIVE MODE", place.schema());
    let lists = holding(&place, &lock, || {
        let lists: Vec<_> = (0..8).map(|_| store.find(all())).collect();
        until_waiting(&place, 3);
        wait(store.renew(renewal)).expect("it is alive");
        assert_eq!(waiting(&place), 3, "it was not the lists that made room");
        lists
    });
    lists.into_iter().for_each(|list| drop(wait(list).expect("they are answered")));
}
