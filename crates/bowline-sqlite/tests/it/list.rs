//! Lists of very many runs: how much is read for one page does not depend on how many there are.

use bowline_core::{EventKind, Status, Time};
use bowline_sqlite::{SqliteStore, Stats};
use bowline_store::{Filter, Order, Page, Posting, Store};
use tempfile::TempDir;

use crate::world::{NAMESPACE, NOW, run_id, starting};

/// Runs that begin one after the other.
async fn begun(store: &SqliteStore, count: u128) {
    let mut postings = Vec::new();
    for uuid in 1..=count {
        let mut posting = starting(run_id(uuid));
        let Posting::Start(start) = &mut posting else { panic!("it is a start") };
        let first = &mut start.birth.events[0];
        let EventKind::WorkflowStarted(started) = &mut first.kind else { panic!("{first:?}") };
        started.name = if uuid == 1 { "needle".into() } else { "hay".into() };
        first.time = Time(NOW.0 + uuid as i64);
        postings.push(posting);
    }
    for posted in store.post(postings).await {
        posted.expect("it starts");
    }
}

async fn cost(store: &SqliteStore, filter: &Filter) -> (Page, u64, u64) {
    let before = store.stats();
    let page = store.find(filter.clone()).await.expect("it is listed");
    let Stats { rows_read, steps, .. } = store.stats();
    (page, rows_read - before.rows_read, steps - before.steps)
}

/// A list without a bound read every run of the file to find none. Now a page of a file with five
/// times as many runs reads as many rows and takes as many steps.
#[tokio::test]
async fn a_page_costs_the_same_however_many_runs_there_are() {
    const FEW: u128 = Page::LOOKS_MAX as u128 + 500;
    let all = Filter { namespace: NAMESPACE, limit: 10, ..Filter::default() };
    let name = || Some("needle".into());
    let prefix = |text: &str| Some(text.to_owned());
    let lists = [
        Filter { name: name(), ..all.clone() },
        Filter { name: name(), workflow_id_prefix: prefix("flow"), ..all.clone() },
        Filter { statuses: vec![Status::Completed], ..all.clone() },
        Filter { name: name(), statuses: vec![Status::Running], ..all.clone() },
        Filter { queue: Some("other".into()), order: Order::Oldest, ..all.clone() },
        Filter { search: vec![("a".into(), bowline_core::SearchValue::Int(1))], ..all.clone() },
        Filter { parked: Some(true), ..all.clone() },
        Filter { workflow_id_prefix: prefix("flow-11"), ..all.clone() },
        all,
    ];
    let mut costs: Vec<Vec<(u64, u64)>> = Vec::new();
    for count in [FEW, 5 * FEW] {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
        begun(&store, count).await;
        let mut own = Vec::new();
        for filter in &lists {
            let (_, rows, steps) = cost(&store, filter).await;
            own.push((rows, steps));
            // Each run that is looked at closely is two rows more: its own, and its label again.
            assert!(rows <= 4 * Page::LOOKS_MAX as u64 + 10, "{filter:?}: {rows} rows");
        }
        costs.push(own);
    }
    for (at, filter) in lists.iter().enumerate() {
        let ((few, fewer_steps), (many, steps)) = (costs[0][at], costs[1][at]);
        // The indexes of more runs are a little deeper.
        assert!(many <= few && steps <= fewer_steps + 20, "{filter:?}: {costs:?}");
    }
}
