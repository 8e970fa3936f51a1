//! The locks of an open store hold whatever else its process does with the file.
//!
//! A process that closes a file loses all its locks on it, also those of its other descriptors:
//! POSIX has it so. A second `open` in one process, which was refused, looked at the header of the
//! file by itself and closed it; from then on every program that read the file from outside took
//! itself for the last one that had it open, copied the log into it and removed the log of the
//! living store. What was acknowledged afterwards went with the next kill.

use std::{
    fs,
    io::{BufRead, BufReader, Write, stdin},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use bowline_sqlite::SqliteStore;
use bowline_store::Store;

use crate::world::{assert_whole, head, signal, start};

/// Messages that are acknowledged after somebody else has looked at the file.
const MESSAGES: u64 = 5;

/// The store's process: opens it, is refused a second time, and writes on when it is told to.
pub(crate) async fn hold(path: &Path, again: &Path) {
    let store = SqliteStore::open(path).expect("the file is free");
    let run = start(&store, 1).await;
    if again.ends_with("hard.db") {
        fs::hard_link(path, again).expect("a link can be made");
    }
    match again == path.with_file_name("read") {
        // The process reads the file by itself: its locks are gone.
        true => {
            fs::read(path).expect("it reads");
            say("refused: in use");
        }
        false => {
            let why = SqliteStore::open(again).err().expect("it is open already");
            say(&format!("refused: {why}"));
        }
    }
    for _ in 0..MESSAGES {
        stdin().read_line(&mut String::new()).expect("the parent speaks");
        store.post(vec![signal(run, 100)]).await.remove(0).expect("it is delivered");
        say("acknowledged");
    }
    std::future::pending().await
}

/// Another program reads the file.
pub(crate) fn look(path: &Path) {
    let db = rusqlite::Connection::open(path).expect("it opens");
    let count = "SELECT count(*) FROM labels";
    let runs: i64 = db.query_row(count, [], |row| row.get(0)).expect("it reads");
    say(&runs.to_string());
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("the parent listens");
}

/// Another name of a file.
type Name = fn(&Path) -> PathBuf;

pub(crate) async fn open_twice_and_look() {
    let names: [(&str, Name); 5] = [
        ("the same name", |path| path.to_owned()),
        ("a name with detours", |path| {
            let folder = path.parent().expect("it lies in a folder");
            folder.join("..").join(folder.file_name().expect("it has a name")).join("store.db")
        }),
        ("a link", |path| {
            let link = path.with_file_name("link.db");
            link_to(path, &link);
            link
        }),
        ("a hard link", |path| path.with_file_name("hard.db")),
        ("read by itself", |path| path.with_file_name("read")),
    ];
    for (what, name) in names {
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        let path = folder.path().join("store.db");
        let again = name(&path);
        lost_nothing(what, &path, &again).await;
    }
}

#[cfg(unix)]
fn link_to(path: &Path, link: &Path) {
    std::os::unix::fs::symlink(path, link).expect("a link can be made");
}

#[cfg(not(unix))]
fn link_to(path: &Path, link: &Path) {
    fs::hard_link(path, link).expect("a link can be made");
}

async fn lost_nothing(what: &str, path: &Path, again: &Path) {
    let (mut child, mut lines) = begin_child(&["hold", &name(path), &name(again)]);
    let mut next = || lines.next().and_then(Result::ok).unwrap_or_default();
    let said = next();
    assert!(said.starts_with("refused: ") && said.contains("in use"), "{what}: {said}");
    let mut input = child.stdin.take().expect("it was piped");
    for _ in 0..MESSAGES {
        looked_at(path);
        writeln!(input, "go on").expect("it listens");
        assert_eq!(next(), "acknowledged", "{what}");
    }
    child.kill().expect("it runs");
    child.wait().expect("it is gone");
    if what == "a hard link" {
        fs::remove_file(again).expect("it is there");
    }
    let store = SqliteStore::open(path).expect("a kill leaves a file that opens");
    let inbox = head(&store, crate::world::run_id(1)).await.inbox.0;
    assert_eq!(inbox, MESSAGES + 1, "{what}: everything acknowledged is there, and the wake-up");
    assert_whole(&store).await;
}

/// Others read the file: this program, and older builds of SQLite where the machine has them. Newer
/// ones do not remove a log that somebody uses, even if that one's locks are gone.
fn looked_at(path: &Path) {
    let (mut other, mut read) = begin_child(&["look", &name(path)]);
    assert_eq!(read.next().and_then(Result::ok).as_deref(), Some("1"), "it reads");
    assert!(other.wait().expect("it ends").success());
    let script = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]))";
    let (path, sql) = (name(path), "SELECT count(*) FROM labels");
    for (program, arguments) in
        [("sqlite3", vec![path.as_str(), sql]), ("python3", vec!["-c", script, path.as_str(), sql])]
    {
        match Command::new(program).args(arguments).stdout(Stdio::null()).status() {
            Ok(status) => assert!(status.success(), "{program} reads it"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{program}"),
        }
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn begin_child(arguments: &[&str]) -> (Child, std::io::Lines<BufReader<ChildStdout>>) {
    let own = std::env::current_exe().expect("this program knows its place");
    let mut command = Command::new(own);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let out = child.stdout.take().expect("it was piped");
    (child, BufReader::new(out).lines())
}
