//! Which files are opened, and which are refused and left as they are.

use std::{fs, path::Path};

use bowline_sqlite::{Settings, SqliteStore};
use bowline_store::Error;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::world::{assert_whole, head, run_id, start};

fn refused(path: &Path) -> String {
    match SqliteStore::open(path) {
        Err(Error::Open(why)) => why,
        Err(other) => panic!("refused in another way: {other}"),
        Ok(_) => panic!("{} was opened", path.display()),
    }
}

fn beside(path: &Path) -> Vec<String> {
    let folder = path.parent().expect("it lies in a folder");
    let names = fs::read_dir(folder).expect("the folder reads");
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_store_can_be_opened_again_and_knows_what_it_knew() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let run = start(&store, 1).await;
    store.close().await;
    // Whoever copies a closed file copies all of it.
    let log = fs::metadata(folder.path().join("store.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(head(&store, run).await.run, run_id(1));
    assert_whole(&store).await;
}

/// The holder is named, so that people know whom to stop.
#[tokio::test]
async fn a_second_opener_is_told_who_holds_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let first = SqliteStore::open(&path).unwrap();
    let why = refused(&path);
    let pid = format!("pid {}", std::process::id());
    assert!(why.contains(&pid) && why.contains("on host") && why.contains("since"), "{why}");
    assert!(why.contains("store.db"), "{why}");
    // Another way to the same file is the same file.
    let around = folder.path().join("..").join(folder.path().file_name().unwrap());
    assert!(refused(&around.join("store.db")).contains(&pid));
    first.close().await;
    SqliteStore::open(&path).expect("the lock is free once the store is closed");
}

/// Log and lock stand beside a name: two names would be two logs.
#[test]
fn a_file_with_two_names_is_refused() {
    let folder = TempDir::new().unwrap();
    let (path, other) = (folder.path().join("store.db"), folder.path().join("other.db"));
    drop(SqliteStore::open(&path).unwrap());
    fs::hard_link(&path, &other).unwrap();
    for name in [&path, &other] {
        assert!(refused(name).contains("more than one name"));
    }
    fs::remove_file(&other).unwrap();
    SqliteStore::open(&path).expect("it has one name again");
}

/// The name of a link is not where SQLite puts the file, so it is not where the lock may stand.
#[cfg(unix)]
#[test]
fn a_link_to_what_is_not_there_yet_is_followed() {
    let folder = TempDir::new().unwrap();
    let (path, link) = (folder.path().join("store.db"), folder.path().join("link.db"));
    std::os::unix::fs::symlink("store.db", &link).unwrap();
    let store = SqliteStore::open(&link).unwrap();
    assert!(refused(&path).contains("this very process"));
    assert!(beside(&path).contains(&"store.db.lock".to_owned()), "{:?}", beside(&path));
    drop(store);
    let around = folder.path().join("around.db");
    std::os::unix::fs::symlink(&around, &around).unwrap();
    assert!(refused(&around).contains("around.db"));
}

#[tokio::test]
async fn whoever_calls_a_closed_store_is_told_so() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    store.close().await;
    use bowline_store::Store as _;
    let posted = store.post(vec![crate::world::starting(run_id(1))]).await;
    assert!(matches!(posted[..], [Err(Error::Shut)]), "{posted:?}");
    let found = store.find(Default::default()).await;
    assert!(matches!(found, Err(Error::Shut)), "{found:?}");
    assert!(matches!(store.check().await, Err(Error::Shut)));
    store.close().await;
}

#[test]
fn a_newer_schema_is_refused_by_its_version() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    let db = Connection::open(&path).unwrap();
    db.execute("INSERT INTO versions VALUES (700, 'future', 0)", []).unwrap();
    drop(db);
    let why = refused(&path);
    assert!(why.contains("version 700") && why.contains("versions up to"), "{why}");
}

#[test]
fn another_first_step_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    let db = Connection::open(&path).unwrap();
    db.execute("UPDATE versions SET checksum = checksum + 1", []).unwrap();
    drop(db);
    let why = refused(&path);
    assert!(why.contains("step 1 (tables)"), "{why}");
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    for application in [0, 0x1234] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("theirs.db");
        let db = Connection::open(&path).unwrap();
        db.pragma_update(None, "application_id", application).unwrap();
        db.execute_batch("CREATE TABLE runs (theirs TEXT); INSERT INTO runs VALUES ('x')").unwrap();
        drop(db);
        let before = fs::read(&path).unwrap();
        let why = refused(&path);
        assert!(why.contains("not one of Bowline's"), "{why}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(beside(&path), ["theirs.db"], "nothing was put beside it");
    }
}

#[test]
fn what_is_no_database_is_left_as_it_is() {
    let page = [b"SQLite format 2\0".to_vec(), vec![0; 4080]].concat();
    let kinds: [&[u8]; 4] = [b"hello", &[0xA5; 8192], &page, &[0; 4096]];
    for bytes in kinds {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("notes.txt");
        fs::write(&path, bytes).unwrap();
        let why = refused(&path);
        assert!(why.contains("is not a database"), "{why}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(beside(&path), ["notes.txt"]);
    }
}

#[test]
fn our_header_with_garbage_behind_it_is_refused_with_advice() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..].fill(0xA5);
    fs::write(&path, &bytes).unwrap();
    let why = refused(&path);
    assert!(why.contains("damaged") && why.contains("backup"), "{why}");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, b"").unwrap();
    SqliteStore::open(&path).expect("nothing is in the way");
}

#[test]
fn a_folder_a_missing_folder_and_no_name_are_told_apart() {
    let folder = TempDir::new().unwrap();
    assert!(refused(folder.path()).contains("is a folder"));
    assert!(refused(&folder.path().join("not/there.db")).contains("its folder"));
    assert!(refused(Path::new("")).contains("not the name of a file"));
    assert!(refused(Path::new(":memory:")).contains("not the name of a file"));
}

/// H13: what durability rests on is what SQLite says, not what it was told.
#[test]
fn settings_are_in_force_while_the_store_is_open() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let _store = SqliteStore::open_with(&path, Settings::default()).unwrap();
    let db = Connection::open(&path).unwrap();
    let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    let application: i64 = db.query_row("PRAGMA application_id", [], |row| row.get(0)).unwrap();
    assert_eq!((mode.as_str(), application), ("wal", 0x4257_4C4E));
}

/// A file that cannot be written to is refused when it is opened, not at the first commit.
#[cfg(unix)]
#[test]
fn a_file_or_folder_that_is_read_only_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    // Whoever may do everything is not kept out by permissions.
    if fs::OpenOptions::new().write(true).open(&path).is_err() {
        assert!(refused(&path).contains("store.db"));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(folder.path().join("store.db.lock")).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.path().join("probe"), b"").is_err() {
        assert!(refused(&path).contains("lock file"));
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    SqliteStore::open(&path).expect("everything is as it was");
}
