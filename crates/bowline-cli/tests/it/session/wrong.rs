//! What is wrong is named, and nothing is changed.

use std::{collections::BTreeSet, time::Duration};

use expect_test::expect_file;

use super::Session;
use crate::{engine, store};

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    store(&folder.path().join("orders.db"));
    std::fs::write(folder.path().join("notes.txt"), "buy rope\n".repeat(100)).expect("written");
    std::fs::create_dir(folder.path().join("folder")).expect("it is made");
    let names = || -> BTreeSet<_> {
        let all = std::fs::read_dir(folder.path()).expect("it lists");
        all.map(|file| file.expect("it reads").file_name()).collect()
    };
    let before = names();
    let mut session = Session::new(folder.path());
    for typed in [
        "",
        "lisst orders.db",
        "list",
        "list nowhere.db",
        "list nowhere.db --json",
        "list folder",
        "list notes.txt",
        "list mysql://db/runs",
        "list postgres://me@127.0.0.1:1/runs?connect_timeout=1",
        "list orders.db --status runing",
        "list orders.db --limit 0",
        "list orders.db --from yesterday",
        "list orders.db --search nonsense",
        "list orders.db --namespace other",
        "show orders.db order-43",
        "show orders.db order-43 --json",
        "show orders.db @order-42",
        "show orders.db order-42 --follow",
        "cancel orders.db",
        "cancel orders.db order-43",
        "cancel orders.db order-42 --within 3",
        "cancel orders.db order-42 --wait tidy",
        "cancel orders.db order-42 --by ''",
        "cancel orders.db order-42 --activity 7 --timer 8",
        "cancel orders.db order-42 --activity seven",
        "terminate orders.db order-43",
        "receipt orders.db r-9",
        "receipt orders.db 0199a0b1-0000-7000-8000-000000000001",
        "start orders.db checkout",
        "start orders.db checkout order-44 --input {rope}",
        "start orders.db checkout order-44 --input-file nowhere.json",
        "signal orders.db order-43 go",
        "update orders.db order-42 raise --within 61",
        "query orders.db order-43 progress",
        "retry orders.db",
        "retry orders.db order-42 --all",
        "retry orders.db order-43",
        "check nowhere.db",
        "backup orders.db notes.txt",
        "completions tcsh",
        "man --to nowhere",
        "member gone orders.db --host h --by alice",
    ] {
        let output = session.types(typed);
        assert_eq!(output.status.code(), Some(2), "{typed}: {}", session.seen);
        assert!(output.stdout.is_empty(), "{typed}: {}", session.seen);
    }
    expect_file!["wrong.txt"].assert_eq(&session.seen);
    assert!(names().is_subset(&before), "something was made: {:?}, {before:?}", names());
    session.seen.clear();
    let listed = session.types("list orders.db --json");
    assert!(crate::out(&listed).contains("\"status\":\"running\""), "{}", session.seen);
    assert!(!crate::out(&listed).contains("cancel"), "nothing was asked: {}", session.seen);
}

/// While a program has the file open, every command refuses and names the program.
#[test]
fn a_file_in_use_is_refused_by_name_of_its_holder() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let engine = engine(&folder.path().join("orders.db")).start().await.expect("starts");
        let mut session = Session::new(folder.path());
        let host = rustix::system::uname();
        let holder =
            format!("pid {} on host {}", std::process::id(), host.nodename().to_string_lossy());
        session.shown_as.push((holder, "<holder>".to_owned()));
        for typed in ["list orders.db", "cancel orders.db order-42", "check orders.db"] {
            assert_eq!(session.types(typed).status.code(), Some(2), "{}", session.seen);
        }
        assert!(session.seen.contains("<holder>"), "{}", session.seen);
        expect_file!["in_use.txt"].assert_eq(&session.seen);
        engine.close(Duration::from_secs(5)).await.expect("closes");
    });
}
