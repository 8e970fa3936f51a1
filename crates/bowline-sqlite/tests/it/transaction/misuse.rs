//! What a closure must not do is refused, named, and rolled back with all the rest.

use std::collections::BTreeSet;

use bowline_store::{Error, Store};
use rusqlite::Connection;

use super::{cancelling, insert, orders, shop};
use crate::world::{assert_whole, head, signal, start, starting};

/// Statements, and what the error says of them.
const FORBIDDEN: [(&str, &str); 24] = [
    ("COMMIT", "commit or roll back"),
    ("END", "commit or roll back"),
    ("ROLLBACK", "commit or roll back"),
    ("BEGIN", "commit or roll back"),
    ("SAVEPOINT here", "savepoints"),
    ("ATTACH ':memory:' AS other", "attach"),
    ("PRAGMA synchronous = OFF", "setting synchronous"),
    ("PRAGMA journal_mode = DELETE", "setting journal_mode"),
    ("PRAGMA writable_schema = 1", "setting writable_schema"),
    ("PRAGMA application_id = 1", "setting application_id"),
    ("CREATE TEMP TABLE runs (x)", "temporary"),
    ("CREATE TEMP VIEW inbox AS SELECT 1", "temporary"),
    ("DROP TABLE runs", "table runs"),
    ("ALTER TABLE history RENAME TO past", "table history"),
    ("ALTER TABLE inbox ADD COLUMN x", "table inbox"),
    ("CREATE INDEX mine ON labels (name)", "table labels"),
    ("DROP INDEX labels_uuid", "table labels"),
    ("DELETE FROM Receipts", "table receipts"),
    ("INSERT INTO graves VALUES (1)", "table graves"),
    ("UPDATE runs SET inbox = inbox + 1", "table runs"),
    ("UPDATE main.members SET epoch = 0", "table members"),
    ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END", "table runs"),
    (
        "CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM runs; END;
         INSERT INTO orders VALUES ('x', 1)",
        "table runs",
    ),
    ("WITH x AS (SELECT 1) DELETE FROM alarms", "table alarms"),
];

#[tokio::test]
async fn what_would_break_the_store_is_refused_and_named() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let before = head(&*store, run).await;
    for (sql, says) in FORBIDDEN {
        // Whether the closure passes the error on or hides it, nothing is kept.
        for hide in [false, true] {
            let ended = store.transaction(move |tx| {
                insert(tx, "a")?;
                tx.post(&cancelling(run, 7)).expect("the run is open");
                let refused = tx.connection().execute_batch(sql);
                assert!(refused.is_err(), "{sql}");
                if hide { Ok(()) } else { refused }
            });
            let error = ended.await.expect_err(sql);
            assert!(matches!(error, Error::Invalid(_)), "{sql}: {error:?}");
            assert!(error.to_string().contains(says), "{sql}: {error}");
            assert!(orders(&folder).is_empty(), "{sql}");
            assert_eq!(head(&*store, run).await, before, "{sql}");
        }
    }
    store.post(vec![signal(run, 1)]).await.remove(0).expect("the writer lives");
    assert_whole(&store).await;
}

/// A statement that the store prepared long ago is not asked about when it is used again.
#[tokio::test]
async fn a_prepared_commit_of_the_stores_own_commits_nothing() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let before = head(&*store, run).await;
    let ended = store.transaction(move |tx| {
        insert(tx, "a")?;
        tx.post(&cancelling(run, 7)).expect("the run is open");
        let refused = tx.connection().prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
        assert!(refused.is_err(), "{refused:?}");
        let after = tx.post(&signal(run, 1));
        assert!(matches!(after, Err(Error::Invalid(_))), "{after:?}");
        Ok::<_, rusqlite::Error>(())
    });
    ended.await.expect_err("only the store commits");
    assert!(orders(&folder).is_empty());
    assert_eq!(head(&*store, run).await, before);
    assert_whole(&store).await;
}

/// Some statements roll everything back: what comes after them must not be kept alone.
#[tokio::test]
async fn going_on_after_a_rollback_keeps_nothing() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let before = head(&*store, run).await;
    for go_on in [false, true] {
        let ended = store.transaction(move |tx| {
            insert(tx, "a")?;
            tx.post(&cancelling(run, 7)).expect("the run is open");
            let sql = "INSERT OR ROLLBACK INTO orders VALUES ('a', 1)";
            tx.connection().execute(sql, []).expect_err("the id is taken, so all is rolled back");
            if go_on {
                insert(tx, "b").expect_err("it would be a transaction of its own");
            }
            Ok::<_, rusqlite::Error>(())
        });
        let error = ended.await.expect_err("nothing is left to be committed");
        assert!(matches!(error, Error::Invalid(_)), "{error:?}");
        assert!(orders(&folder).is_empty());
        assert_eq!(head(&*store, run).await, before);
    }
    assert_whole(&store).await;
}

/// A closure that waited for its own store would wait for ever; it is refused instead.
#[tokio::test]
async fn a_closure_cannot_wait_for_its_own_writer() {
    let (_folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let asking = store.clone();
    let ended = store.transaction(move |_| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it is small");
        runtime.block_on(async {
            let posted = asking.post(vec![signal(run, 1), starting(run)]).await;
            assert!(posted.iter().all(|one| matches!(one, Err(Error::Invalid(_)))), "{posted:?}");
            let nested = asking.transaction(move |tx| tx.post(&signal(run, 1))).await;
            assert!(matches!(nested, Err(Error::Invalid(_))), "{nested:?}");
            head(&*asking, run).await
        });
        Ok::<_, ()>(())
    });
    ended.await.expect("the store works").expect("reading is fine");
    assert_eq!(head(&*store, run).await.inbox.0, 1, "only its wake");
}

/// What an application needs is left to it.
#[tokio::test]
async fn ordinary_statements_are_allowed() {
    let (folder, store) = shop().await;
    let done = store.transaction(|tx| {
        let db = tx.connection();
        db.execute_batch(
            "CREATE TABLE stock (item TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID;
             CREATE INDEX stock_count ON stock (count);
             CREATE VIEW empty AS SELECT item FROM stock WHERE count = 0;
             CREATE TRIGGER sold AFTER INSERT ON orders BEGIN UPDATE stock SET count = 0; END;
             INSERT INTO stock VALUES ('rope', 3) ON CONFLICT DO UPDATE SET count = 4;
             ALTER TABLE stock ADD COLUMN place TEXT;
             CREATE TABLE short (x); DROP TABLE short;
             PRAGMA foreign_keys; PRAGMA table_info(stock); ANALYZE stock;",
        )?;
        insert(tx, "a")?;
        db.query_row("SELECT count(*) FROM empty JOIN labels", [], |row| row.get::<_, i64>(0))
    });
    assert_eq!(done.await.expect("the store works").expect("all of it is allowed"), 0);
    assert_eq!(orders(&folder), ["a"]);
    assert_whole(&store).await;
}

/// A table that the guard does not know could be changed.
#[tokio::test]
async fn the_guard_knows_every_table() {
    let (folder, store) = shop().await;
    let other = Connection::open(folder.path().join("store.db")).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut rows = other.prepare(sql).unwrap();
    let all: BTreeSet<String> = rows.query_map([], |row| row.get(0)).unwrap().flatten().collect();
    for table in all {
        let ours = !matches!(table.as_str(), "orders" | "lines");
        let sql = format!("DELETE FROM {table}");
        let ended = store.transaction(move |tx| tx.connection().execute(&sql, []));
        assert_eq!(ended.await.is_err(), ours, "{table}");
    }
    assert_whole(&store).await;
}

/// A posting that fails half-way has counted a message that is not there: hiding its error must
/// not keep that.
#[tokio::test]
async fn a_posting_that_fails_half_way_cannot_be_hidden() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let before = head(&*store, run).await;
    store.limit(Some(400 * 1024)).await.expect("a limit can be set");
    let ended = store.transaction(move |tx| {
        insert(tx, "a")?;
        let full = tx.post(&signal(run, 600_000));
        assert!(matches!(full, Err(Error::ReadOnly(_))), "{full:?}");
        let after = tx.post(&signal(run, 1));
        assert!(matches!(after, Err(Error::ReadOnly(_))), "{after:?}");
        Ok::<_, rusqlite::Error>(())
    });
    let error = ended.await.expect_err("there was no room");
    assert!(matches!(error, Error::ReadOnly(_)), "{error:?}");
    assert!(orders(&folder).is_empty());
    assert_eq!(head(&*store, run).await, before);
    store.post(vec![signal(run, 1)]).await.remove(0).expect("small things fit");
    assert_whole(&store).await;
}
