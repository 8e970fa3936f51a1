//! Opening: many at once, old and new tables, what is refused.

use std::thread;

use bowline_postgres::{PostgresStore, Settings};
use bowline_store::Error;

use crate::place::Place;

fn refused(opened: Result<PostgresStore, Error>) -> String {
    match opened {
        Err(Error::Open(why)) => why,
        Err(other) => panic!("refused in another way: {other:?}"),
        Ok(_) => panic!("it opened"),
    }
}

#[test]
fn ten_processes_may_open_it_at_once() {
    let place = Place::new();
    let open = || PostgresStore::open_with(&place.url(), place.settings()).map(drop);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(open)).collect();
        for thread in threads {
            thread.join().expect("no panic").expect("everybody may open it");
        }
    });
    let versions = place.count(&format!("{}.versions WHERE version > 0", place.schema()));
    assert_eq!(versions, 8, "each step was taken once");
}

#[test]
fn tables_of_a_newer_version_are_left_alone() {
    let place = Place::new();
    drop(PostgresStore::open_with(&place.url(), place.settings()).expect("it opens"));
    place.execute(&format!("INSERT INTO {}.versions VALUES (9, 'later', 9)", place.schema()));
    let why = refused(PostgresStore::open_with(&place.url(), place.settings()));
    assert!(why.contains("version 9") && why.contains("up to 8"), "{why}");
}

#[test]
fn tables_of_another_origin_are_left_alone() {
    let place = Place::new();
    drop(PostgresStore::open_with(&place.url(), place.settings()).expect("it opens"));
    place
        .execute(&format!("UPDATE {}.versions SET checksum = 1 WHERE version = 1", place.schema()));
    let why = refused(PostgresStore::open_with(&place.url(), place.settings()));
    assert!(why.contains("another step 1"), "{why}");
}

#[test]
fn what_cannot_be_opened_is_named() {
    let place = Place::new();
    let why = refused(PostgresStore::open("not a url at all"));
    assert!(why.contains("URL"), "{why}");
    let why = refused(PostgresStore::open("postgres://nobody@127.0.0.1:1/none"));
    assert!(why.contains("cannot be opened"), "{why}");
    for schema in ["", "Big", "a b", "pg_own", "1st", "x; DROP TABLE y", &"x".repeat(51)] {
        let mut settings = Settings::default();
        schema.clone_into(&mut settings.schema);
        let why = refused(PostgresStore::open_with(&place.url(), settings));
        assert!(why.contains("schema"), "{why}");
    }
}

/// Neither opening nor failing to may take a program's own runtime down.
#[test]
fn it_may_be_opened_and_dropped_inside_a_runtime() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        refused(PostgresStore::open("postgres://nobody@127.0.0.1:1/none"));
        drop(PostgresStore::open_with(&place.url(), place.settings()).expect("it opens"));
    });
}
