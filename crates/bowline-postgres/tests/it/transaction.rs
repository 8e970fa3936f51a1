//! Postings inside a caller's own transaction.

use std::time::Duration;

use bowline_core::{Namespace, Queue, RunId};
use bowline_postgres::PostgresStore;
use bowline_store::{Error, Hint, Posted, Read, RunKey, Store};

use crate::{
    place::Place,
    takeover::starting,
    wait::{hear, wait},
};

fn exists(store: &PostgresStore, uuid: u128) -> bool {
    let run = RunId { namespace: Namespace(1), uuid };
    wait(store.read(Read::head(RunKey::Run(run)))).expect("reading works").is_some()
}

#[test]
fn a_start_becomes_visible_with_the_callers_rows() {
    let place = Place::new();
    let store = PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    let table = format!("{}.orders", place.schema());
    place.execute(&format!("CREATE TABLE {table} (id int PRIMARY KEY)"));
    let insert = format!("INSERT INTO {table} VALUES (1)");
    place.with(async |mut client| {
        let tx = client.transaction().await.expect("it begins");
        tx.execute(&insert, &[]).await.expect("a row");
        let posted = store.post_in(&tx, &[starting(7)]).await.expect("it is free");
        assert!(matches!(posted[..], [Posted::Started(_)]));
        assert!(!exists(&store, 7), "nobody sees it yet");
        tx.commit().await.expect("it commits");
    });
    assert!(exists(&store, 7));
    assert_eq!(place.count(&table), 1);
}

/// Whoever listens hears of it when it is committed; the process that posted it, too.
#[test]
fn the_hint_follows_the_commit() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.poll = Duration::from_secs(3_600);
    let store = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    let (mut hints, mut uuid) = (store.watch(), 0);
    hear(&mut hints, || {
        uuid += 1;
        place.with(async |mut client| {
            let tx = client.transaction().await.expect("it begins");
            store.post_in(&tx, &[starting(uuid)]).await.expect("it is free");
            tx.commit().await.expect("it commits");
        });
        Hint::Turn(Namespace(1), Queue::from("turns"))
    });
}

#[test]
fn what_is_rolled_back_never_happened() {
    let place = Place::new();
    let store = PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    place.with(async |mut client| {
        let tx = client.transaction().await.expect("it begins");
        store.post_in(&tx, &[starting(7)]).await.expect("it is free");
        tx.rollback().await.expect("it rolls back");
    });
    assert!(!exists(&store, 7));
    wait(store.post(vec![starting(7)])).remove(0).expect("neither the id nor the name is taken");
}

/// A refusal has written nothing: the caller's transaction goes on.
#[test]
fn a_refusal_leaves_the_transaction_whole() {
    let place = Place::new();
    let store = PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    wait(store.post(vec![starting(7)])).remove(0).expect("it starts");
    place.with(async |mut client| {
        let tx = client.transaction().await.expect("it begins");
        let refused = store.post_in(&tx, &[starting(7)]).await;
        assert!(matches!(refused, Err(Error::IdTaken { .. })), "{refused:?}");
        store.post_in(&tx, &[starting(8)]).await.expect("it is free");
        tx.commit().await.expect("it commits");
    });
    assert!(exists(&store, 8));
}

/// The same tables elsewhere are somebody else's: what is asked is not written there.
#[test]
fn a_connection_to_another_store_is_refused() {
    let place = Place::new();
    let store = PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    let counters = format!("{}.counters", place.schema());
    place.execute(&format!("UPDATE {counters} SET value = value - 1 WHERE name = 'store'"));
    place.with(async |mut client| {
        let tx = client.transaction().await.expect("it begins");
        let refused = store.post_in(&tx, &[starting(7)]).await;
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("another database")));
        tx.commit().await.expect("it is whole");
    });
    assert!(!exists(&store, 7));
}
