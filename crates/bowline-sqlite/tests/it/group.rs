//! Group commit: what queues while a transaction is made durable shares the next one.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use bowline_sqlite::{Settings, SqliteStore};
use bowline_store::{Answer, Error, Hint, Posted, Posting, Result, Store};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::world::{claiming, commit, head, join, signal, start, turn};

#[tokio::test]
async fn calls_that_come_together_share_transactions() {
    const CALLS: u64 = 200;
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let run = start(&store, 1).await;
    let before = store.stats();
    // Each of these is handed over while the writer is busy with something else.
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let busy = store.transaction(move |_| may_go_on.recv());
    let answers: Vec<_> = (0..CALLS).map(|_| store.post(vec![signal(run, 10)])).collect();
    go_on.send(()).expect("the closure waits");
    busy.await.expect("the store works").expect("the test said so");
    for answer in answers {
        answer.await.remove(0).expect("it is delivered");
    }
    let after = store.stats();
    assert_eq!(after.calls - before.calls, 1 + CALLS);
    let transactions = after.transactions - before.transactions;
    assert!(transactions < CALLS / 4, "{transactions} transactions for {CALLS} calls");
    assert_eq!(head(&store, run).await.inbox.0, CALLS + 1);
}

/// Makes a call on a thread that is lent to the store.
fn lend(store: &SqliteStore, posting: &Posting) -> Answer<Vec<Result<Posted>>> {
    let mut answer = None;
    store.lend(&mut || answer = Some(store.post(vec![posting.clone()])));
    answer.expect("it was asked")
}

/// Where nobody else wants anything, nobody has to be woken: the answer is there already.
#[tokio::test]
async fn a_thread_that_is_lent_carries_out_its_own_call() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let run = start(&store, 1).await;
    let mut delivered = 1;
    // The writer may be about to sit down again for a moment.
    loop {
        delivered += 1;
        let mut answer = lend(&store, &signal(run, 10));
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answers) => {
                assert!(matches!(answers[..], [Ok(Posted::Delivered(..))]), "{answers:?}");
                break;
            }
            Poll::Pending => drop(answer.await),
        }
    }
    assert_eq!(head(&store, run).await.inbox.0, delivered);
    store.close().await;
    let answers = lend(&store, &signal(run, 10)).await;
    assert!(matches!(answers[..], [Err(Error::Shut)]), "{answers:?}");
}

/// A call waits for its turn on whichever thread it is made.
#[tokio::test]
async fn a_thread_that_is_lent_overtakes_nobody() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let run = start(&store, 1).await;
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let busy = store.transaction(move |_| may_go_on.recv());
    let first = store.post(vec![signal(run, 10)]);
    let second = lend(&store, &signal(run, 10));
    go_on.send(()).expect("the closure waits");
    busy.await.expect("the store works").expect("the test said so");
    let (first, second) = (first.await.remove(0), second.await.remove(0));
    let (Ok(Posted::Delivered(_, first)), Ok(Posted::Delivered(_, second))) = (&first, &second)
    else {
        panic!("{first:?}, {second:?}");
    };
    assert_eq!((first.0, second.0), (2, 3));
}

/// Whoever panics before anything is carried out has asked for nothing.
#[tokio::test]
async fn a_panic_of_a_thread_that_is_lent_harms_nobody() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let run = start(&store, 1).await;
    for _ in 0..10 {
        let panics = || panic!("the test asks for this");
        let lent = catch_unwind(AssertUnwindSafe(|| store.lend(&mut { panics })));
        lent.expect_err("it goes on in whoever asked");
    }
    lend(&store, &signal(run, 10)).await.remove(0).expect("it is delivered");
    assert_eq!(head(&store, run).await.inbox.0, 2);
}

/// Somebody who must not be told anything.
struct Touchy;

impl Wake for Touchy {
    fn wake(self: Arc<Self>) {
        panic!("the test asks for this");
    }
}

/// A writer that panicked may remember what is not in the file: it is not asked again.
#[tokio::test]
async fn a_store_whose_writer_panicked_is_shut_and_can_be_closed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let run = start(&store, 1).await;
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let busy = store.transaction(move |_| may_go_on.recv());
    let mut touchy = store.post(vec![signal(run, 10)]);
    let waker = Waker::from(Arc::new(Touchy));
    assert!(touchy.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    go_on.send(()).expect("the closure waits");
    busy.await.expect("the store works").expect("the test said so");
    while !matches!(lend(&store, &signal(run, 10)).await[..], [Err(Error::Shut)]) {}
    store.close().await;
    let store = SqliteStore::open(&path).expect("nobody has it any more");
    assert!(head(&store, run).await.inbox.0 >= 2, "what was committed is there");
}

/// Whoever gives up waiting has still sent what they sent.
#[tokio::test]
async fn a_call_that_nobody_waits_for_is_carried_out() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let run = start(&store, 1).await;
    drop(store.post(vec![signal(run, 10)]));
    store.close().await;
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    assert_eq!(head(&store, run).await.inbox.0, 2);
}

/// The second commit of a group is decided on what the first has changed; it loses, alone.
#[tokio::test]
async fn a_loser_leaves_the_others_of_its_group_alone() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let (a, b) = (start(&store, 1).await, start(&store, 2).await);
    let (on_a, on_b) = (head(&store, a).await, head(&store, b).await);
    let commits = vec![turn(&on_a, 1), turn(&on_a, 2), turn(&on_b, 3)];
    let answers = store.commit(commits).await;
    assert!(matches!(answers[..], [Ok(_), Err(Error::Conflict), Ok(_)]), "{answers:?}");
    assert_eq!(store.stats().rollbacks, 0, "a lost race costs nobody their transaction");
}

/// Two claims in one group must not find the same run, and the second must not go away empty
/// while another run waits: nobody would tell it again.
#[tokio::test]
async fn claims_of_one_group_take_different_runs() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let epoch = join(&store).await;
    for uuid in 1..=9 {
        start(&store, uuid).await;
    }
    let before = store.stats().transactions;
    // The first call occupies the writer; the claims queue behind it.
    let busy = store.post(vec![signal(crate::world::run_id(1), 200_000)]);
    let claims: Vec<_> = (0..3).map(|_| store.claim_runs(claiming(epoch, 3))).collect();
    let mut taken = Vec::new();
    busy.await.remove(0).unwrap();
    for claim in claims {
        let claimed = claim.await.expect("the member is alive");
        assert_eq!(claimed.len(), 3, "three runs wait for each claim");
        taken.extend(claimed.into_iter().map(|claimed| claimed.read.head.run.uuid));
    }
    assert_eq!(taken, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(store.stats().transactions - before <= 4);
}

/// H12: ordinary contention is waited out, and then told as what it is. It never fails a run.
#[tokio::test]
async fn a_file_that_somebody_else_writes_to_is_busy_and_nothing_is_lost() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let mut settings = Settings::default();
    settings.busy = Duration::from_millis(20);
    let store = SqliteStore::open_with(&path, settings).unwrap();
    let run = start(&store, 1).await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = head(&store, run).await;
    let refused = commit(&store, turn(&before, 1)).await.expect_err("another writer has the file");
    assert!(matches!(refused, Error::Busy(_)) && refused.passes(), "{refused:?}");
    assert_eq!(head(&store, run).await, before, "reading goes on, and nothing has changed");
    other.execute_batch("COMMIT").unwrap();
    commit(&store, turn(&before, 1)).await.expect("the file is free");
}

/// The same, with a writer that goes away when it has been waited for once: nobody hears of it.
#[tokio::test]
async fn a_short_wait_is_not_told() {
    // A machine that has much else to do may not let the other one go away in time. What comes of
    // that is told, and rightly so: it is tried again with more patience.
    for busy in [100, 1_000, 10_000].map(Duration::from_millis) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("store.db");
        let mut settings = Settings::default();
        settings.busy = busy;
        let store = SqliteStore::open_with(&path, settings).unwrap();
        let run = start(&store, 1).await;
        assert_eq!(store.stats().busy, 0, "nobody else has had the file");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut delivered = store.post(vec![signal(run, 10)]);
        let early = poll_fn(|cx| match delivered.as_mut().poll(cx) {
            Poll::Ready(answers) => Poll::Ready(Some(answers)),
            Poll::Pending if store.stats().busy > 0 => Poll::Ready(None),
            Poll::Pending => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        });
        let early = early.await;
        other.execute_batch("COMMIT").unwrap();
        let mut answers = match early {
            Some(answers) => answers,
            None => delivered.await,
        };
        match answers.remove(0) {
            Ok(Posted::Delivered(..)) => {
                assert!(store.stats().busy > 0, "it did not have to wait");
                return;
            }
            Err(Error::Busy(_)) => {}
            answer => panic!("{answer:?}"),
        }
    }
    panic!("whoever waits for another writer is told so each time");
}

/// A hint is followed by a look at the index: whoever hears it must find what it is about.
#[tokio::test]
async fn hints_come_after_the_index_knows() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("store.db")).unwrap());
    let epoch = join(&*store).await;
    let mut hints = store.watch();
    for uuid in 1..=50 {
        let posting = store.post(vec![crate::world::starting(crate::world::run_id(uuid))]);
        let turn = Hint::Turn(crate::world::NAMESPACE, "turns".into());
        while !hints.next().await.contains(&turn) {}
        let claimed = store.claim_runs(claiming(epoch, 9)).await.expect("the member is alive");
        assert_eq!(claimed.len(), 1, "the hint told of run {uuid}");
        posting.await.remove(0).expect("it was started");
    }
}
