//! N12 under kill -9: the application's row and the workflow's start and cancel are both there, or
//! neither is.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{ChildStdout, Command, Stdio},
    sync::mpsc,
};

use bowline_core::{Address, Cancel, Cause, Message, ReceiptId, RunId, Time};
use bowline_sqlite::SqliteStore;
use bowline_store::{NewReceipt, Posting, Store, Subtree};
use rusqlite::Connection;

use crate::world::{NOW, assert_whole, head, run_id, start, starting};

const ROUNDS: u128 = 5;

/// What the process that is killed does, by the word that it was given.
pub(crate) async fn act(path: &Path, word: &str, round: u128) {
    let store = SqliteStore::open(path).expect("the file is free");
    let made = store.transaction(|tx| {
        tx.connection().execute_batch("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)")
    });
    made.await.expect("the store works").expect("the name is free");
    match word {
        "before" => stop_before_commit(&store).await,
        "after" => stop_after_commit(&store).await,
        _ => write(&store, round).await,
    }
}

/// All is done but the commit.
async fn stop_before_commit(store: &SqliteStore) {
    let run = start(store, 1).await;
    let ended = store.transaction(move |tx| {
        let done = both(tx, run);
        say("ready");
        // Nobody ever sends: it waits to be killed.
        let (_sender, never) = mpsc::channel::<()>();
        never.recv().expect_err("nobody sends");
        done
    });
    ended.await.expect("the store works").expect("it ends well");
}

async fn stop_after_commit(store: &SqliteStore) {
    let run = start(store, 1).await;
    let done = store.transaction(move |tx| both(tx, run));
    done.await.expect("the store works").expect("it ends well");
    say("ready");
    std::future::pending().await
}

fn both(tx: &mut bowline_sqlite::Transaction<'_>, run: RunId) -> Result<(), String> {
    tx.connection().execute("INSERT INTO orders VALUES (1)", []).expect("the id is new");
    tx.post(&cancelling(run)).expect("the run is open");
    tx.post(&starting(run_id(2))).expect("the id is new");
    Ok(())
}

/// Writes for ever; every third transaction is rolled back.
async fn write(store: &SqliteStore, round: u128) {
    for turn in 0.. {
        let id = round << 32 | turn;
        let ended = store.transaction(move |tx| {
            let row = [i64::try_from(id).expect("it is small")];
            tx.connection().execute("INSERT INTO orders VALUES (?)", row).expect("the id is new");
            tx.post(&starting(run_id(id))).expect("the id is new");
            if turn % 3 == 2 { Err(()) } else { Ok(()) }
        });
        if ended.await.expect("the store works").is_ok() {
            say(&id.to_string());
        }
    }
}

fn say(what: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{what}").expect("the parent listens");
    out.flush().expect("the parent listens");
}

fn cancelling(run: RunId) -> Posting {
    let cause = Cause::requested("the order was deleted", "shop");
    let receipt = NewReceipt { id: ReceiptId(7), cause: cause.clone(), keep_until: Time(1) };
    let cancel = Cancel { cause, request_id: Default::default(), external: None, wire: None };
    let message = Message::Cancel(Box::new(cancel));
    Posting::Message { to: Address::Run(run), message, now: NOW, receipt: Some(receipt) }
}

/// Kills processes before, after and amid commits, and looks at what they left.
pub(crate) async fn kill_and_look() {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    for (word, expected) in [("before", false), ("after", true)] {
        let path = folder.path().join(word);
        killed(&path, word, 0, |lines| {
            let line = lines.next().expect("it says something").expect("it can be read");
            assert_eq!(line, "ready");
        });
        let (rows, runs) = seen(&path);
        assert_eq!(rows.contains(&1), expected, "{word}: the row");
        assert_eq!(runs.contains(&2), expected, "{word}: the start");
        let store = SqliteStore::open(&path).expect("a crash leaves a file that opens");
        assert_eq!(head(&store, run_id(1)).await.cancel.is_some(), expected, "{word}: the cancel");
        let receipt = store.leftovers(Subtree::Receipt(ReceiptId(7))).await;
        assert_eq!(receipt.is_ok(), expected, "{word}: the receipt");
        assert_whole(&store).await;
    }
    amid(&folder.path().join("amid")).await;
}

/// Kills while transactions come and go: each is whole or not there, and what was acknowledged is.
async fn amid(path: &Path) {
    let mut acknowledged = BTreeSet::new();
    for round in 1..=ROUNDS {
        let enough = 20 + 17 * usize::try_from(round).expect("rounds are few");
        killed(path, "write", round, |lines| {
            let told = lines.take(enough).map(|line| line.expect("it can be read"));
            acknowledged.extend(told.map(|line| line.parse::<u128>().expect("it is a number")));
        });
        let (rows, runs) = seen(path);
        assert_eq!(rows, runs, "a row is there exactly if its run is");
        assert!(acknowledged.is_subset(&rows), "what was acknowledged is there");
        let store = SqliteStore::open(path).expect("a crash leaves a file that opens");
        assert_whole(&store).await;
    }
}

/// Starts a process, listens until enough was said, and kills it.
fn killed(
    path: &Path,
    word: &str,
    round: u128,
    listen: impl FnOnce(&mut std::io::Lines<BufReader<ChildStdout>>),
) {
    let own = std::env::current_exe().expect("this program knows its place");
    let mut child = Command::new(own)
        .args(["transaction", &path.display().to_string(), word, &round.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let out = child.stdout.take().expect("it was piped");
    listen(&mut BufReader::new(out).lines());
    child.kill().expect("it runs");
    child.wait().expect("it is gone");
}

/// The application's rows, and the runs, at one moment.
fn seen(path: &Path) -> (BTreeSet<u128>, BTreeSet<u128>) {
    let mut db = Connection::open(path).expect("the file is there");
    let tx = db.transaction().expect("it can be read");
    let mut rows = tx.prepare("SELECT id FROM orders").expect("the table is there");
    let rows = rows.query_map([], |row| row.get::<_, i64>(0)).expect("it can be read");
    let rows = rows.map(|id| u128::try_from(id.expect("a row")).expect("it is positive")).collect();
    let mut runs = tx.prepare("SELECT uuid FROM labels").expect("the table is there");
    let runs = runs.query_map([], |row| row.get::<_, [u8; 16]>(0)).expect("it can be read");
    let runs = runs.map(|id| u128::from_be_bytes(id.expect("a run"))).collect();
    (rows, runs)
}
