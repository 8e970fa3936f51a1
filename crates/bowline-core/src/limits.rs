//! Every bound of the rules on one screen. The engine's own bounds stand in its `limits.rs`.

use std::time::Duration;

/// No span given by a user is longer: a hundred years.
pub const SPAN_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 3600);
/// The largest single payload, in bytes.
pub const PAYLOAD_MAX: usize = 2 * 1024 * 1024;
/// The longest id, name or queue, in bytes.
pub const TEXT_MAX: usize = 1_000;
/// Open activities, children, external requests of each kind that a remote run may have.
pub const PENDING_MAX: usize = 2_000;
/// Open activities, timers and children of each kind that a native run may have.
pub const PENDING_NATIVE_MAX: usize = 200_000;
/// Updates of a run that are not yet completed.
pub const UPDATES_OPEN_MAX: usize = 10;
/// Updates of a run in all.
pub const UPDATES_MAX: usize = 2_000;
/// Signals that a remote run may have had, those that wait included. Asked before one is taken, for
/// a signal by itself or with a start. What other runs send, or an application's own transaction,
/// is taken with the commit that sends it: only the bound of history holds for these. A remote run
/// hands nothing on: its worker has what it was shown.
pub const SIGNALS_MAX: u64 = 10_000;
/// Signals that a native run may have whose code has not received them, those that wait included.
/// They go on with its chain. Asked in the transaction that takes one, whoever sends it.
pub const UNREAD_MAX: u64 = 10_000;
/// How many bytes these may take, about.
pub const UNREAD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many small messages come before those that wait are weighed again.
pub const UNREAD_WEIGHED: u64 = 64;
/// How large a signal is that is weighed at once.
pub const UNREAD_LARGE: u64 = 64 * 1024;
/// How many search attributes a run may have.
pub const SEARCH_MAX: usize = 100;
/// How many bytes one search attribute may have.
pub const SEARCH_BYTES_MAX: usize = 2 * 1024;
/// How many bytes all search attributes of a run may have together, with their names and what
/// travels around their values.
pub const SEARCH_ALL_MAX: usize = 40 * 1024;
/// How many carried-out requests a run remembers, so that a repeated one counts once.
pub const REQUESTS_MAX: usize = 10_000;
/// How many events a history may have before the run is terminated.
pub const EVENTS_MAX: u64 = 51_200;
/// How many events a native history may have: long loops are cheap here, but not endless.
pub const EVENTS_NATIVE_MAX: u64 = 2_000_000;
/// How many bytes a history may have before the run is terminated.
pub const HISTORY_BYTES_MAX: u64 = 50 * 1024 * 1024;
/// How many bytes a native history may have.
pub const HISTORY_BYTES_NATIVE_MAX: u64 = 1024 * 1024 * 1024;
/// How far apart the beginnings of runs are at least that continue each other, for remote workers.
pub const CONTINUED_APART: Duration = Duration::from_secs(1);
/// From how many events on continuing as new is suggested.
pub const EVENTS_SUGGEST: u64 = 4_096;
/// From how many bytes on continuing as new is suggested.
pub const HISTORY_BYTES_SUGGEST: u64 = 4 * 1024 * 1024;
/// How many messages may wait while a remote turn is out, before it is failed.
pub const WAITING_MAX: usize = 100;
/// How often an activity whose worker was lost is tried, if it has no retry policy.
pub const LOST_ATTEMPTS_MAX: u32 = 10;
/// For how long an attempt that was lost is not tried again where a run above its own is asked to
/// cancel: word of that may be on its way down.
pub const HELD_BACK: Duration = Duration::from_secs(10);
/// How far up such runs are looked for.
pub const ABOVE_MAX: usize = 100;
/// Attempts of one activity whose end nobody has seen. None is ever forgotten: where there are so
/// many, no further attempt begins, and the activity ends as if its attempts were used up.
pub const UNSEEN_MAX: usize = 100;
/// How long a remote turn may take, unless the run says otherwise.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// For how long turns may be kept alive for a local activity.
pub const TURN_HEARTBEAT_MAX: Duration = Duration::from_secs(30 * 60);
/// How long a running activity has to stop after it was told.
pub const GRACE: Duration = Duration::from_secs(10);
/// A cancel of more activities than this is a mark on the run instead of a record on each row.
pub const MARK_FROM: u64 = 64;
/// How deep a chain of causes is kept.
pub const CAUSES_MAX: usize = 16;
/// How long a parked run waits for the third process that tries it with code that may be the same;
/// the second one tries at once. It doubles with every try.
pub const PARKED_PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause.
pub const PARKED_MAX: Duration = Duration::from_secs(300);
/// How many of those who have tried a parked run are remembered.
pub const TRIED_MAX: usize = 16;
/// How long other processes have to take up a run that one of them could not go on with, before
/// anybody is told that it is parked.
pub const PASSED_ON: Duration = Duration::from_secs(10);
