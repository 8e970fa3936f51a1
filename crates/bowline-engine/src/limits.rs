//! Every bound of the engine on one screen. The bounds of the rules stand in
//! `bowline_core::limits`.

use std::time::Duration;

/// How many workflow runs are kept in memory between turns, unless the options say otherwise.
pub const CACHED_RUNS: usize = 1_500;
/// How many pieces of work may wait for one workflow thread.
pub const THREAD_QUEUE: usize = 4_096;
/// After how many events of a replay it is noted that it goes on.
pub const REPLAY_LOOKS: u64 = 64;
/// How many native runs are claimed at once.
pub const CLAIM_RUNS: usize = 64;
/// How many activities are claimed at once.
pub const CLAIM_ACTIVITIES: usize = 256;
/// How many runs are looked at in one store call.
pub const PAGE: usize = 200;
/// How many alarms ring in one store call.
pub const FIRE: usize = 500;
/// How many namespaces one engine looks after.
pub const NAMESPACES: usize = 10_000;
/// How many rows one sweep touches.
pub const SWEEP: usize = 1_000;
/// How many reports of running attempts may wait.
pub const REPORTS: usize = 4_096;
/// How many notices wait for one worker's control channel; past that it learns by renewal.
pub const NOTICES: usize = 4_096;
/// How many workers' control channels are known at once.
pub const CONTROL_CHANNELS: usize = 10_000;
/// For how long a worker remembers which notices it has seen.
pub const NOTICE_MEMORY: Duration = Duration::from_secs(300);
/// How many activity slots a queue has, unless the options say otherwise.
pub const SLOTS: usize = 256;
/// How long a member may be silent.
pub const LEASE: Duration = Duration::from_secs(30);
/// How many inboxes that have grown are remembered by name; past that, all are looked at.
pub const UNREAD_INBOXES: usize = 10_000;
/// How often a store call that may succeed later is tried again, where somebody waits for it.
pub const STORE_TRIES: u32 = 8;
/// The pause before the first of these tries; it doubles.
pub const STORE_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two tries of what nobody else will do.
pub const STORE_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often all parked runs are looked at for hints that were lost, while anything is written.
pub const PARKED_LOOK: Duration = Duration::from_secs(60);
/// How often a turn may fail before its run is parked.
pub const TURN_FAILURES: u32 = 3;
/// How long a turn of native code may take before its thread is given up.
pub const TURN_STUCK: Duration = Duration::from_secs(30);
/// For how long receipts are kept.
pub const RECEIPT_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a drain waits for claims that are under way before it tells what runs here.
pub const DRAIN_CLAIMS: Duration = Duration::from_secs(1);
/// How long a drain waits beyond its time, for the last rungs and for the store.
pub const DRAIN_LAST: Duration = Duration::from_secs(60);
/// After how many events a snapshot of a run's state is written.
pub const SNAPSHOT_EVENTS: u64 = 1_000;
/// How often a run may be followed by somebody who waits for it to change.
pub const FOLLOWS: usize = 1_000_000;
/// How long a termination waits for its run to be closed.
pub const DECIDED: Duration = Duration::from_secs(30);
/// Over how many runs that went on in each other's place an update is looked for.
pub const UPDATE_HOPS: usize = 8;
/// How many callers may wait for the answers to updates.
pub const UPDATE_WAITERS: usize = 100_000;
/// From which attempt at a turn on questions are refused: the code that would answer them fails.
pub const QUERY_ATTEMPT: u32 = 3;
/// How long a query may take.
pub const QUERY: Duration = Duration::from_secs(10);
/// How long a query of a native run waits for the run's first turn.
pub const FIRST_TURN: Duration = Duration::from_secs(10);
/// How long a remote worker has to acknowledge a notice before it is handed out again.
pub const NOTICE_ACKNOWLEDGED: Duration = Duration::from_secs(10);
/// How long an update that a run's end left without an answer waits for one.
pub const UPDATE_ORPHANED: Duration = Duration::from_secs(10);
/// How long a stop of the engine waits for one workflow thread, which user code may hold.
pub const THREAD_STOPS: Duration = Duration::from_secs(10);
/// How long a query waits for the worker that has its run in its cache.
pub const QUERY_STICKY: Duration = Duration::from_secs(3);
/// How long a query that a turn took along waits for its answer to come from another member.
pub const QUERY_LANDED: Duration = Duration::from_secs(2);
/// How often a member says again that a question waits at it.
pub const QUERY_SAID: Duration = Duration::from_secs(3);
/// How long one member waits for another to do something for it.
pub const PEER_REQUEST: Duration = Duration::from_secs(5);
/// How many remote workers are remembered, and how many that poll.
pub const WORKERS: usize = 10_000;
/// For how long a remote worker that is silent is remembered.
pub const WORKER_SILENT: Duration = Duration::from_secs(5 * 60);
/// How long the last word of a remote worker may be.
pub const WORKER_BEAT: usize = 16 * 1024;
/// How often other members are told that a remote worker polls.
pub const POLLER_SAID: Duration = Duration::from_secs(60);
/// How many refusals of updates are remembered for other members.
pub const REFUSALS: usize = 1_000;
/// How many queries may wait for the answer of a remote worker.
pub const QUERIES: usize = 10_000;
/// How long the end of an attempt waits for a turn to be written with.
pub const OFFER: Duration = Duration::from_millis(20);
/// For how long ends of attempts go through the inbox of a run for which something else had come,
/// while a turn on such an end was being written: it had to be had again, from the beginning.
pub const CONTENDED: Duration = Duration::from_secs(1);
/// Of how many runs that is remembered, for each workflow thread.
pub const CONTENDED_RUNS: usize = 1_000;
/// How long the start of a run waits for its first turn to be written with.
pub const AHEAD: Duration = Duration::from_millis(5);
/// How far a workflow thread may be behind and still be given runs that begin here.
pub const EXPECTED_BEHIND: usize = 64;
/// How long a workflow thread looks for more to do before it sleeps, if it has not had to wait
/// longer the last time.
pub const SHORT_WAIT: Duration = Duration::from_micros(300);
/// How many events a turn may have whose thread is lent to the store for its commit: one with many
/// takes its time to be written, and other runs of the thread would wait.
pub const LENT_EVENTS: usize = 32;
/// How many bytes such a turn may have.
pub const LENT_BYTES: u64 = 64 * 1024;
/// How many remote runs are kept at hand for their next decision, and perhaps as many again.
pub const HAND_RUNS: usize = 1_000;
/// How many new events a run may have that is kept so.
pub const HAND_EVENTS: usize = 64;
/// How many bytes of input and new events a run may have that is kept so.
pub const HAND_BYTES: u64 = 64 * 1024;
/// How many remote runs that began here are followed to their ends for whoever may come to wait for
/// them, and perhaps as many again.
pub const NEW_RUNS: usize = 1_000;
/// How many bytes the end of such a run may have that is kept until somebody comes.
pub const NEW_RUN_BYTES: u64 = 16 * 1024;
/// How many attempts in remote workers' hands are known as they were handed out.
pub const HAND_ATTEMPTS: usize = 4_096;
/// How much further behind than another one a workflow thread may be and still be given runs that
/// begin here: less than that is nothing that a new run would feel.
pub const BEHIND_MORE: Duration = Duration::from_millis(1);
/// How long a piece of work takes a workflow thread, about.
pub const TURN_ABOUT: Duration = Duration::from_micros(100);
/// How often a run's id is drawn for each thread there is until it suits. One in a million is given
/// to a thread that is behind all the same, and waits for it.
pub const DRAWS: usize = 14;
/// How often a store looks for one page of a list, each time at so many runs as it looks at once.
pub const FIND_LOOKS: usize = 100;
