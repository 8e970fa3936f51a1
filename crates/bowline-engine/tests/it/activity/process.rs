//! Child processes end with their activity, and with this program.

use std::{
    io::{self, BufRead, BufReader, Read},
    process::{ChildStdout, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use bowline_core::{Ending, Rung};
use bowline_engine::worker::{
    activity::{OUTPUT_MAX, Orphan, ProcessMark, What, kill_orphan},
    registry::activity_fn,
};
use tokio::sync::{Notify, oneshot};

use crate::support::{bench::*, code::once};

/// Says in a child process of the tests that it is to be the owner that is killed.
const OWNER: &str = "BOWLINE_TEST_OWNER";

/// A shell that starts another process, says so, and waits for it. Both hold its output open, so
/// that its end is the end of both.
const FAMILY: &str = "sleep 1000 & echo begun; wait";

fn family() -> Command {
    let mut command = shell(FAMILY);
    command.stdout(Stdio::piped());
    command
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

/// Runs what blocks on a thread of its own. Should it never end, the test fails all the same.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || sender.send(work()).ok());
    within(receiver).await.expect("the work does not panic")
}

/// Waits for the first line, and hands the rest back.
async fn first_line(stdout: ChildStdout) -> (String, BufReader<ChildStdout>) {
    on_thread(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        reader.read_line(&mut line).expect("a pipe can be read");
        (line, reader)
    })
    .await
}

/// Waits until nobody holds the pipe any more: every process of the family is dead.
async fn all_dead(mut reader: impl Read + Send + 'static) {
    let end = on_thread(move || io::copy(&mut reader, &mut io::sink())).await;
    end.expect("a pipe can be read");
}

#[tokio::test]
async fn a_process_that_ends_by_itself_leaves_nothing() {
    let mut bench = Bench::new(1);
    bench.start(activity_fn(|ctx, _| async move {
        let mut child = ctx.spawn_process(shell("exit 7")).unwrap();
        let status = child.wait().await.unwrap();
        Ok(json(&status.code().unwrap().to_string()))
    }));
    let What::Processes(marks) = bench.next().await else { panic!("a process was started") };
    let ended = bench.ended_at_last().await;
    assert_eq!((ended.ending, ended.leak), (Ending::Completed(json("7")), None));
    for mark in marks {
        assert_eq!(kill_orphan(&mark), Orphan::Gone);
    }
}

#[tokio::test]
async fn the_output_of_a_process_is_read_up_to_a_bound() {
    let mut bench = Bench::new(1);
    bench.start(activity_fn(|ctx, _| async move {
        let mut command = shell("echo out; echo err >&2; exit 3");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = ctx.spawn_process(command).unwrap().output().await.unwrap();
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
        assert_eq!(output.status.code(), Some(3));
        let mut endless = shell("cat /dev/zero");
        endless.stdout(Stdio::piped());
        let refused = ctx.spawn_process(endless).unwrap().output().await.unwrap_err();
        Ok(json(&refused.to_string()))
    }));
    let said = format!("it wrote more than {OUTPUT_MAX} bytes: killed");
    assert_eq!(bench.ended_at_last().await.ending, Ending::Completed(json(&said)));
}

#[tokio::test]
async fn a_process_that_cannot_be_started_is_an_error_and_leaves_no_leash() {
    let mut bench = Bench::new(1);
    bench.start(activity_fn(|ctx, _| async move {
        let error = ctx.spawn_process(Command::new("/no/such/program")).unwrap_err();
        Ok(json(&format!("{:?}", error.kind())))
    }));
    // No process was started, so none is reported.
    assert_eq!(bench.ended().await.ending, Ending::Completed(json("NotFound")));
}

#[tokio::test]
async fn code_that_ends_takes_its_processes_and_their_children_along() {
    let mut bench = Bench::new(1);
    let (sender, receiver) = oneshot::channel();
    let go = Arc::new(Notify::new());
    bench.start(once((sender, Arc::clone(&go)), |ctx, (sender, go)| async move {
        let mut child = ctx.spawn_process(family()).unwrap();
        sender.send(child.stdout.take().unwrap()).ok();
        go.notified().await;
        Ok(None)
    }));
    let (line, reader) = first_line(receiver.await.unwrap()).await;
    assert_eq!(line, "begun\n");
    go.notify_one();
    all_dead(reader).await;
    let ended = bench.ended_at_last().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Completed(None), None));
    assert_eq!((ended.leak, bench.slots.taken()), (None, 0));
}

#[tokio::test]
async fn an_aborted_activity_has_its_whole_process_group_killed() {
    let mut bench = Bench::new(1);
    let (sender, receiver) = oneshot::channel();
    let attempt = bench.start(once(sender, |ctx, sender| async move {
        let mut child = ctx.spawn_process(family()).unwrap();
        sender.send(child.stdout.take().unwrap()).ok();
        child.wait().await.unwrap();
        Ok(None)
    }));
    let (line, reader) = first_line(receiver.await.unwrap()).await;
    assert_eq!(line, "begun\n");
    assert!(matches!(bench.next().await, What::Processes(marks) if marks.len() == 1));
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.clock.until_next_due(at(10)).await;
    bench.advance(10);
    all_dead(reader).await;
    assert_eq!(bench.next().await, What::Processes(Vec::new()));
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(None), Some(Rung::Kill)));
    assert_eq!((ended.leak, ended.stopped_at), (None, Some(at(10))));
}

/// A thread that waits for a process cannot be aborted; killing the process is what frees it.
/// Code that looks, returns and leaves its process to the engine has done what it was told: it was
/// called code that had ignored its cancel and was killed.
#[tokio::test]
async fn code_that_leaves_its_process_to_the_engine_has_stopped_by_itself() {
    let mut bench = Bench::new(1);
    let begun = Arc::new(Notify::new());
    let attempt = bench.start(once(Arc::clone(&begun), |ctx, begun| async move {
        let mut child = ctx.spawn_process(family()).unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut String::new()).unwrap();
        begun.notify_one();
        ctx.cancelled().await;
        Err(failure("stopped"))
    }));
    begun.notified().await;
    attempt.tell(cancel("alice"));
    let ended = bench.ended_at_last().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(json("stopped")), Some(Rung::Reap)));
    assert_eq!((ended.leak, ended.stopped_at.is_some()), (None, true));
}

#[tokio::test]
async fn where_aborting_does_not_help_killing_the_process_does() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let mut bench = Bench::with(1, Arc::new(runtime.handle().clone()), 8);
    let begun = Arc::new(Notify::new());
    let attempt = bench.start(once(Arc::clone(&begun), |ctx, begun| async move {
        let mut child = ctx.spawn_process(family()).unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut String::new()).unwrap();
        begun.notify_one();
        // It blocks its thread until the processes are dead, and so no abort can reach it.
        io::copy(&mut reader, &mut io::sink()).unwrap();
        Err(failure("killed"))
    }));
    begun.notified().await;
    attempt.tell(cancel("alice"));
    bench.clock.until_next_due(at(10)).await;
    bench.advance(10);
    bench.clock.until_next_due(at(15)).await;
    bench.advance(5);
    let ended = bench.ended_at_last().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(json("killed")), Some(Rung::Kill)));
    assert_eq!((ended.leak, ended.stopped_at), (None, Some(at(15))));
    runtime.shutdown_background();
}

#[tokio::test]
async fn what_a_process_leaves_behind_lives_until_its_activity_ends() {
    let mut bench = Bench::new(1);
    let (sender, receiver) = oneshot::channel();
    let go = Arc::new(Notify::new());
    bench.start(once((sender, Arc::clone(&go)), |ctx, (sender, go)| async move {
        let mut command = shell("sleep 1000 & echo begun");
        command.stdout(Stdio::piped());
        let mut child = ctx.spawn_process(command).unwrap();
        let stdout = child.stdout.take().unwrap();
        assert!(child.wait().await.unwrap().success());
        sender.send((stdout, child.mark().clone())).ok();
        go.notified().await;
        Ok(None)
    }));
    let (stdout, mark) = receiver.await.unwrap();
    let (_, reader) = first_line(stdout).await;
    assert_eq!(bench.next().await, What::Processes(vec![mark]));
    bench.assert_silent().await;
    go.notify_one();
    all_dead(reader).await;
    assert_eq!(bench.ended_at_last().await.leak, None);
}

#[tokio::test]
async fn only_the_very_same_process_is_killed_as_an_orphan() {
    let mut bench = Bench::new(1);
    let (sender, receiver) = oneshot::channel();
    bench.start(once(sender, |ctx, sender| async move {
        let mut child = ctx.spawn_process(family()).unwrap();
        sender.send((child.stdout.take().unwrap(), child.mark().clone())).ok();
        let status = child.wait().await.unwrap();
        assert!(!status.success());
        Ok(None)
    }));
    let (stdout, mark) = receiver.await.unwrap();
    let (_, reader) = first_line(stdout).await;
    let bytes = bowline_core::codec::encode(&mark);
    assert_eq!(bowline_core::codec::decode::<ProcessMark>(&bytes).unwrap(), mark);

    // The same number, used again: its process began at another moment.
    let again = ProcessMark {
        started: mark.started + 1,
        child_started: mark.child_started + 1,
        ..mark.clone()
    };
    assert_eq!(kill_orphan(&again), Orphan::Gone);
    // The number of somebody who is in no group of ours.
    let own = i32::try_from(std::process::id()).unwrap();
    let other = ProcessMark { group: own, child: own, ..mark.clone() };
    assert_eq!(kill_orphan(&other), Orphan::Gone);
    let rebooted = ProcessMark { boot: "another".to_owned(), ..mark.clone() };
    assert_eq!(kill_orphan(&rebooted), Orphan::Gone);
    let elsewhere = ProcessMark { host: "another".to_owned(), ..mark.clone() };
    assert_eq!(kill_orphan(&elsewhere), Orphan::Elsewhere);
    let unknown = ProcessMark { boot: String::new(), ..mark.clone() };
    assert_eq!(kill_orphan(&unknown), Orphan::Elsewhere);
    assert!(std::fs::exists(format!("/proc/{}", mark.child)).unwrap(), "nobody was killed");

    assert_eq!(kill_orphan(&mark), Orphan::Killed);
    all_dead(reader).await;
    assert_eq!(bench.ended_at_last().await.ending, Ending::Completed(None));
    assert_eq!(kill_orphan(&mark), Orphan::Gone);
}

/// The owner is a copy of this test program that is killed without a warning, as a machine that
/// runs out of memory would do it. Nobody is left to clean up, and yet nobody is left.
#[tokio::test]
async fn when_the_owner_is_killed_its_processes_die_with_it() {
    let name = "activity::process::when_the_owner_is_killed_its_processes_die_with_it";
    kill_the_owner_of(FAMILY, name).await;
}

/// Scripts that end by telling their whole group to end are common. They do not take the leash
/// off: whoever survives that still dies with the owner.
#[tokio::test]
async fn the_leash_shrugs_off_what_a_process_sends_to_its_group() {
    let script = "trap '' TERM HUP INT; kill -s TERM 0; kill -s HUP 0; kill -s INT 0; \
                  echo begun; exec sleep 1000";
    let name = "activity::process::the_leash_shrugs_off_what_a_process_sends_to_its_group";
    kill_the_owner_of(script, name).await;
}

/// Runs the test `name` in a process of its own, as the owner of a script, and kills that process.
async fn kill_the_owner_of(script: &str, name: &str) {
    if std::env::var_os(OWNER).is_some() {
        return own(script).await;
    }
    let mut owner = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(OWNER, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be started again");
    let stdout = owner.stdout.take().expect("it was asked for");
    // The processes write into the owner's own output, and so hold it open.
    let reader = on_thread(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        // The test harness begins the line with the name of the test.
        while !line.ends_with("begun\n") {
            line.clear();
            let count = reader.read_line(&mut line).expect("a pipe can be read");
            assert_ne!(count, 0, "the owner started its processes");
        }
        reader
    })
    .await;
    owner.kill().expect("it runs");
    assert!(!owner.wait().expect("it ends").success());
    all_dead(reader).await;
}

async fn own(script: &str) {
    let bench = Bench::new(1);
    bench.start(once(shell(script), |ctx, command| async move {
        let mut child = ctx.spawn_process(command).expect("a shell can be started");
        child.wait().await.expect("its end is told");
        Ok(None)
    }));
    // Should nobody kill this program, it ends by itself and the test fails.
    tokio::time::timeout(Duration::from_secs(120), std::future::pending::<()>()).await.ok();
}
