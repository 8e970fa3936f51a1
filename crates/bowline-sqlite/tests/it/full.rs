//! No room left: every call is told so, nothing is half done, and it goes on when there is room.

use bowline_sqlite::{Settings, SqliteStore};
use bowline_store::{Error, Store};
use tempfile::TempDir;

use crate::world::{assert_whole, commit, head, signal, start, turn};

#[tokio::test]
async fn a_full_disk_is_told_apart_and_passes() {
    let folder = TempDir::new().unwrap();
    let mut settings = Settings::default();
    settings.size_max = Some(400 * 1024);
    let store = SqliteStore::open_with(folder.path().join("store.db"), settings).unwrap();
    let run = start(&store, 1).await;
    let mut delivered = 0;
    let full = loop {
        match store.post(vec![signal(run, 10_000)]).await.remove(0) {
            Ok(_) => delivered += 1,
            Err(error) => break error,
        }
        assert!(delivered < 1_000, "there is a limit");
    };
    assert!(matches!(&full, Error::ReadOnly(why) if why.contains("no room")), "{full:?}");
    assert!(delivered > 5, "{delivered}");
    let now = head(&store, run).await;
    assert_eq!(now.inbox.0, delivered + 1, "only what was acknowledged is there, and the wake-up");
    assert_whole(&store).await;
    // A turn that consumes frees pages: that is the way out without an operator.
    commit(&store, turn(&now, 1)).await.expect("deleting needs no room");
    store.post(vec![signal(run, 10_000)]).await.remove(0).expect("there is room again");
    store.limit(None).await.unwrap();
    for _ in 0..100 {
        store.post(vec![signal(run, 10_000)]).await.remove(0).expect("there is room");
    }
    assert_whole(&store).await;
}

/// One call is too large for the room there is; the others of its group are not held up by it.
#[tokio::test]
async fn what_fits_goes_on_beside_what_does_not() {
    let folder = TempDir::new().unwrap();
    let mut settings = Settings::default();
    settings.size_max = Some(400 * 1024);
    let store = SqliteStore::open_with(folder.path().join("store.db"), settings).unwrap();
    let run = start(&store, 1).await;
    let answers = store.post(vec![signal(run, 10), signal(run, 600_000), signal(run, 10)]).await;
    assert!(matches!(answers[..], [Ok(_), Err(Error::ReadOnly(_)), Ok(_)]), "{answers:?}");
    assert_eq!(head(&store, run).await.inbox.0, 3);
}
