//! This program under `strace`: calls that are made to fail, and calls that are written down.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

/// The calls that change files, or make them durable, and the one that says what is acknowledged.
const CALLS: &str = "trace=openat,pwrite64,write,ftruncate,fdatasync,fsync,unlink,unlinkat";

pub(crate) fn is_there() -> bool {
    let run = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    run.is_ok_and(|done| done.status.success())
}

/// What a process did to files, in the order in which it was done.
#[derive(Debug)]
pub(crate) enum Did {
    /// A file was made.
    Create(String),
    Write {
        file: String,
        at: usize,
        bytes: Vec<u8>,
    },
    Cut {
        file: String,
        length: usize,
    },
    /// A file, or a folder, is durable as it was at the place of the call's begin. It was the nth
    /// `fdatasync` of its thread.
    Sync {
        file: String,
        begun: usize,
        ok: bool,
        nth: usize,
    },
    Remove(String),
    /// Somebody was told something.
    Say(String),
}

/// Works at a path, under faults; answers with how it went.
pub(crate) fn faulty(path: &Path, inject: &str) -> Output {
    let mut command = traced(path);
    // A process that hangs is ended, and fails the test.
    command.args(["-o", "/dev/null", "-e", &format!("inject={inject}")]);
    own(&mut command, path);
    command.output().expect("strace starts")
}

/// Works at a path; answers how often the thread that did so most made each of these calls.
pub(crate) fn counted(path: &Path, calls: &[&str]) -> Vec<usize> {
    let log = path.with_extension("trace");
    let mut command = traced(path);
    command.args(["-e", &format!("trace={}", calls.join(",")), "-o"]).arg(&log);
    own(&mut command, path);
    let done = command.output().expect("strace starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = fs::read_to_string(&log).expect("strace writes");
    let of = |call: &str| {
        let mut threads: HashMap<&str, usize> = HashMap::new();
        for (thread, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
            let begins = rest.trim_start().split_once('(').is_some_and(|(name, _)| name == call);
            *threads.entry(thread).or_default() += usize::from(begins);
        }
        threads.into_values().max().unwrap_or_default()
    };
    calls.iter().map(|call| of(call)).collect()
}

/// Works at a path; answers with what was done below its folder, and how it went.
pub(crate) fn recorded(path: &Path, inject: Option<&str>) -> (Vec<Did>, Output) {
    let log = path.with_extension("trace");
    let mut command = traced(path);
    command.args(["-y", "-xx", "-s", "1000000", "-e", CALLS, "-o"]).arg(&log);
    if let Some(inject) = inject {
        command.args(["-e", &format!("inject={inject}")]);
    }
    own(&mut command, path);
    let done = command.output().expect("strace starts");
    let text = fs::read_to_string(&log).expect("strace writes");
    fs::remove_file(&log).expect("it is there");
    (read(&text, path.parent().expect("it lies in a folder")), done)
}

fn traced(_: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "60", "strace", "-f", "-qq"]);
    command.stdin(Stdio::null());
    command
}

fn own(command: &mut Command, path: &Path) {
    command.arg(std::env::current_exe().expect("this program knows its place"));
    command.arg("work").arg(path).env("RUST_BACKTRACE", "0");
}

/// Reads what strace wrote. A call that another one interrupted stands in two lines.
fn read(text: &str, folder: &Path) -> Vec<Did> {
    let folder = folder.canonicalize().expect("it is there").display().to_string();
    let (mut done, mut begun) = (Vec::new(), HashMap::new());
    let mut known: Vec<String> = Vec::new();
    let mut syncs: HashMap<String, usize> = HashMap::new();
    for line in text.lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(call) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(process.to_owned(), (call.to_owned(), done.len()));
            continue;
        }
        let (call, at) = match rest.strip_prefix("<... ") {
            Some(end) => {
                let (first, at) = begun.remove(process).unwrap_or_default();
                let end = end.split_once(" resumed>").map_or("", |(_, end)| end);
                (format!("{first}{end}"), at)
            }
            None => (rest.to_owned(), done.len()),
        };
        let nth = syncs.entry(process.to_owned()).or_default();
        *nth += usize::from(call.starts_with("fdatasync("));
        done.extend(call_of(&call, (at, *nth), &folder, &mut known));
    }
    done
}

fn call_of(
    call: &str,
    (begun, nth): (usize, usize),
    folder: &str,
    known: &mut Vec<String>,
) -> Option<Did> {
    let (call, result) = call.rsplit_once(" = ")?;
    let ok = !result.trim_start().starts_with('-');
    let (name, arguments) = call.trim_end().strip_suffix(')')?.split_once('(')?;
    let within =
        |path: &str| path.strip_prefix(folder).map(|name| name.trim_start_matches('/').to_owned());
    // Of a descriptor strace tells the name.
    let first = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    let of = |name: Option<(&str, &str)>| within(&text(&unhex(name?.0)));
    let quoted: Vec<&str> = arguments.split('"').skip(1).step_by(2).collect();
    let last = || arguments.rsplit(", ").next()?.trim().parse().ok();
    match name {
        "openat" if ok && arguments.contains("O_CREAT") => {
            let file = within(&text(&unhex(quoted.first()?)))?;
            let is_new = !known.contains(&file);
            known.push(file.clone());
            is_new.then_some(Did::Create(file))
        }
        "unlink" | "unlinkat" if ok => {
            let file = within(&text(&unhex(quoted.first()?)))?;
            known.retain(|name| *name != file);
            Some(Did::Remove(file))
        }
        "pwrite64" if ok => {
            Some(Did::Write { file: of(first)?, at: last()?, bytes: unhex(quoted.first()?) })
        }
        "ftruncate" if ok => Some(Did::Cut { file: of(first)?, length: last()? }),
        "fdatasync" | "fsync" => Some(Did::Sync { file: of(first)?, begun, ok, nth }),
        "write" if arguments.starts_with("1<") => {
            Some(Did::Say(text(&unhex(quoted.first()?)).trim().to_owned()))
        }
        // Zeros that are put behind the log.
        "write" if ok => {
            let file = of(first)?;
            Some(Did::Write { file, at: usize::MAX, bytes: unhex(quoted.first()?) })
        }
        _ => None,
    }
}

/// Bytes that are written as `\x00\x01`.
fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(4);
    digits
        .map(|four| {
            let two = std::str::from_utf8(&four[2..]).expect("it is hexadecimal");
            u8::from_str_radix(two, 16).expect("it is hexadecimal")
        })
        .collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
