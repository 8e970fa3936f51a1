//! Hints between processes: one notification for all that happened since the last one, sent by a
//! connection of its own after the commits, never inside them. Who listens is `listen.rs`.
//!
//! In:    hints of this process; notifications of others; time that passes.
//! Out:   notifications; hints to whoever listens here.
//! Never: needed. Whatever is lost is found by looking, a little later.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bowline_core::{AskId, Epoch, Namespace, Queue, RunId, Time};
use bowline_store::{Broadcast, Hint};
use minicbor::{Decode, Encode};

use crate::{
    connection::db::{Db, Outcome, Value},
    limits,
    queue::member,
    read::ask,
    shared::Shared,
};

/// A hint on its way. A kind that is not known here is a newer one's: everything is looked at.
#[derive(Encode, Decode)]
struct Note {
    #[n(0)]
    kind: u8,
    #[n(1)]
    run: Option<RunId>,
    #[n(2)]
    namespace: Option<u32>,
    #[n(3)]
    queue: Option<String>,
    #[n(4)]
    time: Option<i64>,
    #[n(5)]
    ask: Option<(u64, u64)>,
    #[cbor(n(6), with = "minicbor::bytes")]
    word: Option<Vec<u8>>,
}

impl Note {
    fn new(kind: u8) -> Self {
        let (run, namespace, queue, time) = (None, None, None, None);
        Self { kind, run, namespace, queue, time, ask: None, word: None }
    }

    fn queued(kind: u8, namespace: Namespace, queue: &Queue) -> Self {
        let queue = Some(queue.as_str().to_owned());
        Self { namespace: Some(namespace.0), queue, ..Self::new(kind) }
    }

    fn of(hint: &Hint) -> Self {
        match hint {
            Hint::Inbox(run) => Self { run: Some(*run), ..Self::new(1) },
            Hint::Turn(namespace, queue) => Self::queued(2, *namespace, queue),
            Hint::RemoteTurn(namespace, queue) => Self::queued(3, *namespace, queue),
            Hint::Intake(namespace) => Self { namespace: Some(namespace.0), ..Self::new(4) },
            Hint::Activity(namespace, queue) => Self::queued(5, *namespace, queue),
            Hint::Alarm(time) => Self { time: Some(time.0), ..Self::new(6) },
            Hint::Cancelled => Self::new(7),
            Hint::Sweep => Self::new(8),
            Hint::Asked => Self::new(9),
            Hint::Answered(AskId(id)) => {
                Self { ask: Some(((id >> 64) as u64, *id as u64)), ..Self::new(10) }
            }
            Hint::Changed(run) => Self { run: Some(*run), ..Self::new(11) },
            Hint::Closed(run) => Self { run: Some(*run), ..Self::new(13) },
            Hint::Parked(run) => Self { run: Some(*run), ..Self::new(14) },
            Hint::Broadcast(word) => Self { word: Some(word.bytes().to_vec()), ..Self::new(12) },
            _ => Self::new(0),
        }
    }

    fn hint(self) -> Hint {
        self.known().unwrap_or(Hint::Everything)
    }

    fn known(self) -> Option<Hint> {
        let namespace = self.namespace.map(Namespace);
        let place = namespace.zip(self.queue.map(Queue::from));
        Some(match self.kind {
            1 => Hint::Inbox(self.run?),
            2 => place.map(|(namespace, queue)| Hint::Turn(namespace, queue))?,
            3 => place.map(|(namespace, queue)| Hint::RemoteTurn(namespace, queue))?,
            4 => Hint::Intake(namespace?),
            5 => place.map(|(namespace, queue)| Hint::Activity(namespace, queue))?,
            6 => Hint::Alarm(Time(self.time?)),
            7 => Hint::Cancelled,
            8 => Hint::Sweep,
            9 => Hint::Asked,
            10 => self.ask.map(|(high, low)| {
                Hint::Answered(AskId(u128::from(high) << 64 | u128::from(low)))
            })?,
            11 => Hint::Changed(self.run?),
            12 => Hint::Broadcast(Broadcast::new(self.word?)?),
            13 => Hint::Closed(self.run?),
            14 => Hint::Parked(self.run?),
            _ => return None,
        })
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The texts of notifications: who sends them, and hints as hexadecimal digits.
fn texts(sender: &str, hints: &BTreeSet<Hint>) -> Vec<String> {
    let mut texts = Vec::new();
    let mut text = format!("{sender}:");
    for hint in hints {
        let bytes = minicbor::to_vec(Note::of(hint)).expect("memory takes everything");
        if text.len() + 2 * bytes.len() + 1 > limits::NOTE_BYTES {
            texts.push(std::mem::replace(&mut text, format!("{sender}:")));
        }
        for byte in bytes {
            text.extend([byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)])));
        }
        text.push('.');
    }
    texts.push(text);
    match texts.len() > limits::NOTES_MAX {
        true => texts_of_all(sender),
        false => texts,
    }
}

fn texts_of_all(sender: &str) -> Vec<String> {
    texts(sender, &BTreeSet::from([Hint::Everything]))
}

/// The hints of a notification; none of one's own.
pub(crate) fn read(sender: &str, text: &str) -> Vec<Hint> {
    let Some((from, notes)) = text.split_once(':') else { return vec![Hint::Everything] };
    if from == sender {
        return Vec::new();
    }
    notes.split('.').filter(|digits| !digits.is_empty()).map(one).collect()
}

fn one(digits: &str) -> Hint {
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    let note: Option<Note> = bytes.and_then(|bytes| minicbor::decode(&bytes).ok());
    note.map_or(Hint::Everything, Note::hint)
}

/// What processes of one schema listen on.
pub(crate) fn channel(shared: &Shared) -> String {
    format!("bowline_{}", shared.settings.schema)
}

/// A name that no other store has, in this process or another.
pub(crate) fn sender() -> String {
    static STORES: AtomicU64 = AtomicU64::new(0);
    let own = STORES.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{own:x}-{}", std::process::id(), uuid::Uuid::now_v7().simple())
}

/// Tells other processes, all at once, whatever has gathered while it told them the last time.
pub(crate) async fn notify(shared: Arc<Shared>, sender: String) {
    let mut pause = limits::NOTIFY_AGAIN;
    loop {
        shared.told.notified().await;
        let hints = shared.take_outbox();
        if hints.is_empty() {
            continue;
        }
        if send(&shared, &texts(&sender, &hints)).await.is_ok() {
            pause = limits::NOTIFY_AGAIN;
            // All who notify wait for each other, and all who listen are woken each time.
            tokio::time::sleep(limits::NOTIFY_PAUSE).await;
            continue;
        }
        // Told again, together with whatever comes meanwhile.
        tokio::time::sleep(pause).await;
        shared.tell_others(&hints);
        pause = limits::NOTIFY_AGAIN_MAX.min(pause * 2);
    }
}

async fn send(shared: &Shared, texts: &[String]) -> Outcome<()> {
    let lent = shared.lend_aside().await?;
    // A notification is a commit; nobody needs it to survive anything.
    let sql = "SELECT pg_notify($1, text), set_config('synchronous_commit', 'off', true) \
               FROM unnest($2::text[]) AS n (text)";
    let values: [Value<'_>; 2] = [&channel(shared), &texts];
    Db::own(&lent, shared).rows(sql, &values).await?;
    Ok(())
}

/// Notifies when a transaction of a caller is committed: everybody, this process too.
pub(crate) async fn send_with(
    db: Db<'_>,
    shared: &Shared,
    sender: &str,
    hints: &BTreeSet<Hint>,
) -> Outcome<()> {
    if !shared.settings.hints || hints.is_empty() {
        return Ok(());
    }
    let texts = texts(&format!("in-{sender}"), hints);
    let sql = "SELECT pg_notify($1, text) FROM unnest($2::text[]) AS n (text)";
    db.rows(sql, &[&channel(shared), &texts]).await?;
    Ok(())
}

/// Tells this process of what claims have passed over, a moment later.
pub(crate) async fn look_again(shared: Arc<Shared>) {
    loop {
        shared.passed_over.notified().await;
        tokio::time::sleep(limits::LOOK_AGAIN).await;
        shared.tell_here(shared.take_passed());
    }
}

/// The slow way to find out what hints did not tell.
pub(crate) async fn poll(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(shared.settings.poll).await;
        shared.tell_here(BTreeSet::from([Hint::Everything]));
    }
}

/// Looks for answers to questions that are open here.
pub(crate) async fn collect(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(limits::ASK_AGAIN).await;
        let _ = ask::collect(&shared, None).await;
    }
}

/// Says that the process is alive, whether or not anybody else has something to report, and
/// whether somebody else has stopped to.
pub(crate) async fn keep_alive(shared: Arc<Shared>) {
    let mut pause = Duration::from_secs(1);
    loop {
        tokio::time::sleep(pause).await;
        let Some((epoch, lease)) = shared.member() else {
            pause = Duration::from_secs(1);
            continue;
        };
        // A call that hangs must not cost the lease.
        let said = still_there(&shared, epoch, lease);
        let said = tokio::time::timeout(lease / 3, said).await;
        pause = match said {
            Ok(Ok(())) => (lease / 3).min(Duration::from_secs(10)),
            _ => (lease / 10).min(Duration::from_secs(1)),
        };
    }
}

/// Says so once.
pub(crate) async fn still_there(shared: &Shared, epoch: Epoch, lease: Duration) -> Outcome<()> {
    let lent = shared.lend_aside().await?;
    let db = Db::own(&lent, shared);
    let since = Instant::now();
    let alive = member::extend(shared, &lent, epoch, lease).await?;
    if alive {
        shared.in_contact(epoch, since);
    }
    if !alive || member::is_one_late(db).await? {
        // Whoever was given up learns it by renewing; whoever was not has somebody to give up.
        shared.tell_here(BTreeSet::from([Hint::Cancelled, Hint::Sweep]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every() -> BTreeSet<Hint> {
        let run = RunId { namespace: Namespace(3), uuid: u128::MAX - 5 };
        let queue = || Queue::from("a queue: with, a.name");
        BTreeSet::from([
            Hint::Inbox(run),
            Hint::Turn(Namespace(1), queue()),
            Hint::RemoteTurn(Namespace(1), queue()),
            Hint::Intake(Namespace(2)),
            Hint::Activity(Namespace(1), queue()),
            Hint::Alarm(Time(-5)),
            Hint::Cancelled,
            Hint::Sweep,
            Hint::Asked,
            Hint::Answered(AskId(u128::MAX / 3)),
            Hint::Changed(run),
            Hint::Closed(run),
            Hint::Broadcast(
                Broadcast::new(vec![0xa5; Broadcast::MAX]).expect("it is short enough"),
            ),
        ])
    }

    #[test]
    fn hints_arrive_as_they_were_told() {
        let texts = texts("me", &every());
        let heard: BTreeSet<Hint> = texts.iter().flat_map(|text| read("you", text)).collect();
        assert_eq!(heard, every());
    }

    #[test]
    fn nobody_hears_the_own_hints() {
        assert!(texts("me", &every()).iter().all(|text| read("me", text).is_empty()));
    }

    #[test]
    fn what_does_not_read_means_everything() {
        for text in ["", "you:", "you:zz.", "you:8", "you:82187f"] {
            let heard = read("me", text);
            assert!(heard.iter().all(|hint| *hint == Hint::Everything), "{text}: {heard:?}");
        }
    }

    #[test]
    fn too_many_hints_become_one() {
        let run = |uuid| Hint::Changed(RunId { namespace: Namespace(1), uuid });
        let some: BTreeSet<Hint> = (0..1_000).map(|at| run(u128::MAX - at)).collect();
        let told = texts("me", &some);
        assert!(told.len() > 1 && told.iter().all(|text| text.len() <= limits::NOTE_BYTES));
        let heard: BTreeSet<Hint> = told.iter().flat_map(|text| read("you", text)).collect();
        assert_eq!(heard, some);
        let many: BTreeSet<Hint> = (0..10_000).map(|at| run(u128::MAX - at)).collect();
        let told = texts("me", &many);
        assert_eq!(read("you", &told[0]), [Hint::Everything]);
    }
}
