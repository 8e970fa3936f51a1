//! What the command line says, without what differs from run to run: times, ids, numbers of turns.

/// Names of numbers that depend on how quick everybody was.
const COUNTS: &[&str] =
    &["HistorySize", "HistoryLength", "StateTransitionCount", "historySizeBytes"];

/// Text that is the same each time; sorted where it comes in the order of a map.
pub(super) fn plain(said: &str, is_map: bool) -> String {
    let mut lines: Vec<_> = said.lines().filter_map(line).collect();
    lines.retain(|line| !line.is_empty());
    if is_map {
        lines.sort();
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn line(line: &str) -> Option<String> {
    // Where the code stands is said with addresses and paths; in which order names are said is up
    // to a map.
    let line = line.split("\\nmain.").next()?.split(" KnownQueryTypes").next()?;
    let words: Vec<_> = line.split_whitespace().collect();
    match words[..] {
        // How many turns a run had depends on how quick its worker was.
        [id, at, event] if id.parse::<u32>().is_ok() && is_time(at) => {
            return (!event.starts_with("WorkflowTask")).then(|| format!("TIME {event}"));
        }
        [name, _] if COUNTS.contains(&name.trim_matches(['"', ':'])) => {
            return Some(format!("{name} NUMBER"));
        }
        // How much waits in a queue, at just that moment.
        ["UNVERSIONED", kind, count, ..] if is_count(count) => {
            return Some(format!("UNVERSIONED {kind} NUMBER"));
        }
        // Workers have names of their own machine.
        [key, "Running", ..] if is_uuid(key) => return Some("UUID Running".to_owned()),
        _ => {}
    }
    let text = words.iter().map(|word| self::word(word)).collect::<Vec<_>>().join(" ");
    Some(ago(&text))
}

/// One word, with what is in it.
fn word(word: &str) -> String {
    let is_worker = word.split('@').next().is_some_and(|pid| pid.parse::<u32>().is_ok());
    if word.contains('@') && is_worker {
        return "WORKER".to_owned();
    }
    let ends = |c: char| !c.is_ascii_alphanumeric() && !"-:.µ".contains(c);
    let (mut told, mut rest) = (String::new(), word);
    while !rest.is_empty() {
        let end = rest.find(ends).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        told.push_str(match part.trim_end_matches('.') {
            part if is_uuid(part) => "UUID",
            part if is_time(part) => "TIME",
            part if is_span(part) => "SPAN",
            _ => part,
        });
        let next = after.chars().next();
        told.extend(next);
        rest = &after[next.map_or(0, char::len_utf8)..];
    }
    told
}

/// The same without how long ago something was, or how long it takes until it comes.
fn ago(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let (mut told, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let (word, taken) = match words[at..] {
            [number, unit, "ago", ..] if is_count(number) && is_unit(unit) => ("SOON", 3),
            [number, unit, "from", "now", ..] if is_count(number) && is_unit(unit) => ("LATER", 4),
            ["now"] => ("SOON", 1),
            ["now", next, ..] if is_count(next) => ("SOON", 1),
            [word, ..] => (word, 1),
            [] => break,
        };
        told.push(word);
        at += taken;
    }
    told.join(" ")
}

fn is_unit(word: &str) -> bool {
    let units = ["second", "minute", "hour", "day", "week", "month", "year"];
    units.contains(&word.trim_end_matches('s'))
}

fn is_count(word: &str) -> bool {
    word.parse::<u32>().is_ok()
}

fn is_uuid(word: &str) -> bool {
    let lengths: Vec<_> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// RFC 3339, and what the log begins with.
fn is_time(word: &str) -> bool {
    let is_digit = |at: usize| word.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    word.len() >= 19
        && word.as_bytes()[10] == b'T'
        && [0, 3, 5, 8, 11, 14, 17].map(is_digit) == [true; 7]
}

/// A time that something took, such as `44ms`, `1.2s` or `1m2s`; what was asked for has hours.
fn is_span(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || "msµ.".contains(c);
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.ends_with('s')
        && word.chars().all(is_part)
}
