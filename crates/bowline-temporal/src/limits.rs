//! Every bound of this door on one screen.

use std::{collections::BTreeMap, time::Duration};

/// Bounds that whoever runs a server may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message that is read.
    pub message_in: usize,
    /// How long a poll for work waits before it is answered empty.
    pub poll: Duration,
    /// How many calls may be in flight at once, polls that wait among them.
    pub calls: usize,
    /// How many of them may be of one connection: half of all at most.
    pub calls_each: usize,
    /// How many connections there may be. Further ones wait until there is room.
    pub connections: usize,
    /// How many of them may be of one address. Further ones are ended at once.
    pub connections_each: usize,
    /// How many bytes calls in flight may have, with their answers. Half of them at most are one
    /// connection's.
    pub bytes: usize,
    /// How long a connection may be there without having begun a call.
    pub hello: Duration,
    /// How long what a call asks may take to arrive, and how long nothing of any answer may be
    /// taken.
    pub arrival: Duration,
    /// After how long a connection is asked to make room for another one; none for never. Calls in
    /// flight are finished.
    pub age: Option<Duration>,
    /// How large what a client sends for a history may be, unless its namespace says otherwise.
    pub sizes: Sizes,
    /// The same for single namespaces, by name.
    pub sizes_of: BTreeMap<String, Sizes>,
}

/// How large what a client sends for a history may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// What has more bytes is refused. Never more than the rules allow, which is
    /// [`PAYLOAD_MAX`](bowline_core::limits::PAYLOAD_MAX).
    pub refused: usize,
    /// What has more bytes is taken, and told of in the log.
    pub told: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { refused: bowline_core::limits::PAYLOAD_MAX, told: PAYLOAD_TOLD }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_in: MESSAGE_IN,
            poll: POLL,
            calls: CALLS,
            calls_each: CALLS_EACH,
            connections: CONNECTIONS,
            connections_each: CONNECTIONS_EACH,
            bytes: BYTES,
            hello: HELLO,
            arrival: ARRIVAL,
            age: Some(AGE),
            sizes: Sizes::default(),
            sizes_of: BTreeMap::new(),
        }
    }
}

/// How many calls may be in flight at once, unless the settings say otherwise.
pub const CALLS: usize = 100_000;
/// How many calls of one connection may be in flight at once, unless the settings say otherwise.
pub const CALLS_EACH: usize = 10_000;
/// How many calls every connection may have in flight, however many others have.
pub const CALLS_OWN: usize = 16;
/// How many connections there may be, unless the settings say otherwise.
pub const CONNECTIONS: usize = 10_000;
/// How many connections one address may have, unless the settings say otherwise.
pub const CONNECTIONS_EACH: usize = CONNECTIONS / 2;
/// How many bytes calls in flight may have, unless the settings say otherwise.
pub const BYTES: usize = 256 * 1024 * 1024;
/// How many bytes calls of every connection may have, however many those of others have.
pub const BYTES_OWN: usize = 16 * 1024;
/// How long a connection may be there without a call, unless the settings say otherwise.
pub const HELLO: Duration = Duration::from_secs(10);
/// How long what a call asks may take to arrive, unless the settings say otherwise.
pub const ARRIVAL: Duration = Duration::from_secs(30);
/// After how long a connection makes room for another one, unless the settings say otherwise.
pub const AGE: Duration = Duration::from_secs(5 * 60);
/// How long nobody is let in after the system has refused to open another connection.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// How often it is told that nobody is let in.
pub const ACCEPT_TOLD: Duration = Duration::from_secs(60);
/// How many bytes the headers of a call may have.
pub const HEADERS: u32 = 16 * 1024;
/// How many calls may be taken back before they were looked at, on one connection.
pub const RESETS: usize = 20;
/// How many calls may end by an error of their client's, on one connection.
pub const ERRORS: usize = 1_024;

/// How long an id or a name from the wire may be, in bytes.
pub const TEXT: usize = 1_000;
/// How long a text for people may be: a reason, a description.
pub const NOTE: usize = 16 * 1024;
/// How long the query of a list may be.
pub const QUERY_TEXT: usize = 64 * 1024;
/// How many entries a map from the wire may have.
pub const MAP: usize = 1_000;
/// How many links a request may have.
pub const LINKS: usize = 10;
/// How large the summary of a run may be: 400 bytes, and what travels around them.
pub const SUMMARY: usize = 400 + PAYLOAD_AROUND;
/// How large the details of a run may be.
pub const DETAILS: usize = 20_000 + PAYLOAD_AROUND;
/// How many bytes may travel around the data of such a payload.
const PAYLOAD_AROUND: usize = 1_024;
/// How many parts a request may have: texts, messages, and whatever else has a length.
pub const PARTS: usize = 200_000;
/// About how many bytes a part has in memory, beside its own.
pub const PART_BYTES: usize = 256;
/// How deep parts of a request may stand in each other.
pub const DEPTH: u32 = 100;
/// From how many bytes on what is sent for a history is told of, unless the settings say otherwise.
pub const PAYLOAD_TOLD: usize = 512 * 1024;
/// How much of a client's own text stands in a line of the log.
pub const LOGGED: usize = 200;

/// How long a poll for work waits before it is answered empty, unless the settings say otherwise.
pub const POLL: Duration = Duration::from_secs(60);
/// How long a wait for an event, or for an update's outcome, may take.
pub const WAIT: Duration = Duration::from_secs(20);
/// How long a query waits for its answer, unless its caller gives it less.
pub const QUERY: Duration = Duration::from_secs(30);
/// How many events stand on one page of history.
pub const HISTORY_PAGE: usize = 256;
/// About how many bytes one page of history has.
pub const HISTORY_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// The longest message that is read, unless the settings say otherwise.
pub const MESSAGE_IN: usize = 16 * 1024 * 1024;
/// The largest message that is sent.
pub const MESSAGE_OUT: usize = 64 * 1024 * 1024;
/// How many bytes a refusal has, about: it travels in headers.
pub const STATUS: usize = 4 * 1024;
/// From how many bytes on an answer is packed.
pub const PACKED_FROM: usize = 16 * 1024;
/// How many runs stand on one page of a list.
pub const LIST_PAGE: usize = 1_000;
/// How many namespaces stand on one page of a list.
pub const NAMESPACE_PAGE: usize = 1_000;
/// How many workers are known by when they were first heard of.
pub const WORKERS: usize = 10_000;
/// For how long after it was first heard of a worker may not know yet where it listens.
pub const WORKER_YOUNG: Duration = Duration::from_secs(2);
/// How many open runs are looked at to tell how much waits in a queue.
pub const BACKLOG_RUNS: usize = 1_000;
/// How many runs a list in another order than that of their beginning may have.
pub const LIST_SORTED: usize = 10_000;
/// How many activities, of all these runs, are looked at to tell how much waits in a queue.
pub const BACKLOG_ACTIVITIES: usize = 2_000;
/// How many commands to a worker are handed out at once.
pub const NOTICES: usize = bowline_engine::limits::NOTICES;
/// How many lists, counts and statistics are read at once.
pub const READS: usize = 8;
/// How long one waits for its turn.
pub const READ_WAIT: Duration = Duration::from_secs(10);
/// How many runs are looked at for one page of a list. One that is not full by then goes on with
/// the next page.
pub const LIST_LOOKS: usize = 100_000;
/// How many runs are looked at for one count, or for a list in an order of its own.
pub const COUNT_LOOKS: usize = 1_000_000;
/// About how many bytes one page of a list has, and how many are read at once for one.
pub const LIST_BYTES: usize = 2 * 1024 * 1024;
/// How many runs are read first, when nobody knows yet how large they are.
pub const LIST_FIRST: usize = 64;
