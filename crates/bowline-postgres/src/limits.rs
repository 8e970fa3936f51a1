//! Every bound of this store on one screen.

use std::time::Duration;

/// Calls that wait for a lane; whoever comes then waits to be let in.
pub(crate) const CALLS_MAX: usize = 4_096;
/// Starts that wait for the first turns of their runs; those of more do not wait.
pub(crate) const AHEAD_MAX: usize = 4_096;
/// Rows that a group of calls writes, about. A larger call goes alone.
pub(crate) const GROUP_ROWS: usize = 2_000;
/// Bytes that a group of calls writes, about. A larger call goes alone.
pub(crate) const GROUP_BYTES: usize = 1024 * 1024;
/// Runs that a group goes on with, beside some that begin, from which on its statement is the same
/// for every such group.
pub(crate) const WHOLE_FROM: usize = 8;
/// Inboxes that one statement reads at most.
pub(crate) const READS_AT_ONCE: usize = 500;
/// Tasks that read inboxes.
pub(crate) const READERS: usize = 2;
/// New activities of one commit whose rows are written with it; those of more follow.
pub(crate) const ROWS_AT_ONCE: usize = 2_000;
/// Runs whose rows are kept in memory while this process holds them; of others they are read.
pub(crate) const HELD_MAX: usize = 2_000;
/// About how many bytes these rows take, all together.
pub(crate) const HELD_BYTES: usize = 8 * 1024 * 1024;
/// About how many bytes the rows of one run may take.
pub(crate) const HELD_RUN_BYTES: usize = 32 * 1024;
/// Activities of one run that are kept with it; of a run with more, none are.
pub(crate) const HELD_ACTIVITIES: usize = 16;
/// Unread messages that a commit answers with.
pub(crate) const UNREAD_MAX: usize = 1_000;
/// Runs and attempts that a look at a subtree lists.
pub(crate) const LINES_MAX: usize = 1_000;
/// Runs that a look at a subtree visits from the top down. What is not over of a larger one is
/// found from below.
pub(crate) const WALK: usize = 1_000;
/// Runs of a tree that are not over, and that one look follows up. Of more, nothing is known.
pub(crate) const KIN_MAX: usize = 100_000;
/// Runs of one page of a list.
pub(crate) const PAGE_MAX: usize = 1_000;
/// Questions of this process that wait for an answer.
pub(crate) const ASKS_MAX: usize = 10_000;
/// How often a group is tried again after somebody else was faster. From the second time on it
/// locks what it reads, so that nobody can be.
pub(crate) const RACES_MAX: u32 = 20;
/// Waiting activities that one look at a queue reads at most; marks may cover all of them.
pub(crate) const LOOK_MAX: usize = 4_000;
/// How often a claim looks again, where others have taken what it found.
pub(crate) const LOOKS_MAX: usize = 100;
/// How long a claim that has passed over what others had locked waits before it looks again.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long a run that somebody else has locked is left alone by those who have other things to do,
/// and the longest pause before it is looked at again.
pub(crate) const LOCKED_FOR: Duration = Duration::from_millis(250);
/// Sessions that were given up in the middle of something and may live on in the server: of more
/// than it takes connections, most have ended.
pub(crate) const SESSIONS_LEFT: usize = 1_000;
/// How long a session that was told to end is left alone before it is looked for again.
pub(crate) const SESSION_ENDS: Duration = Duration::from_millis(2);
/// Bytes of one notification; the server takes fewer than 8,000.
pub(crate) const NOTE_BYTES: usize = 7_000;
/// Notifications that are sent at once; where more would be needed, detail is given up.
pub(crate) const NOTES_MAX: usize = 8;
/// How long a process that has notified the others gathers what it will tell them next.
pub(crate) const NOTIFY_PAUSE: Duration = Duration::from_millis(2);
/// Attempts of dead members, and of one that leaves, that one transaction gives back.
pub(crate) const LOSE_MAX: usize = 500;
/// How often one sweep looks whether everybody knows that a member was given up.
pub(crate) const GRACE_LOOKS: usize = 20;
/// How long it waits before it looks again.
pub(crate) const GRACE_PAUSE: Duration = Duration::from_millis(5);
/// Members of which nobody has seen the end that one sweep names.
pub(crate) const SILENT_MAX: usize = 100;
/// The pause before hints that could not be sent are sent again; it doubles.
pub(crate) const NOTIFY_AGAIN: Duration = Duration::from_millis(20);
/// The longest of these pauses.
pub(crate) const NOTIFY_AGAIN_MAX: Duration = Duration::from_secs(1);
/// After how many new runs and activities the database is told to look at its tables.
pub(crate) const ANALYZE_FROM: u64 = 500;
/// How many times as many there are when it is told again.
pub(crate) const ANALYZE_TIMES: u64 = 20;
/// The pause before a process tries again to listen; it doubles.
pub(crate) const LISTEN_AGAIN: Duration = Duration::from_millis(20);
/// The longest of these pauses.
pub(crate) const LISTEN_AGAIN_MAX: Duration = Duration::from_secs(1);
/// How often a process looks whether the sessions of others are there.
pub(crate) const WATCH: Duration = Duration::from_millis(250);
/// How often it looks whether there are others, while there are none.
pub(crate) const WATCH_ALONE: Duration = Duration::from_secs(1);
/// How many others each process watches, so that several may die at once.
pub(crate) const WATCHED: i64 = 3;
/// How long the session that listens may take for an answer before it is taken for lost.
pub(crate) const WATCH_PATIENCE: Duration = Duration::from_secs(5);
/// How often a question that waits is looked at, should word of its answer be lost.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long processes that start at once wait for each other to bring the tables up to date.
pub(crate) const MIGRATE: Duration = Duration::from_secs(60);
