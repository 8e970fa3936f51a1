//! Every bound of this store on one screen.

use std::time::Duration;

/// Calls in a group after which the writer may be lent: the start of a run, and its first turn.
pub(crate) const QUIET_GROUP: usize = 2;
/// Calls that wait for the writer; whoever comes then waits to be let in.
pub(crate) const CALLS_MAX: usize = 4_096;
/// Calls that wait for the call that follows them.
pub(crate) const AHEAD_MAX: usize = 256;
/// Reads that wait for a reader.
pub(crate) const READS_MAX: usize = 1_024;
/// Rows that a group of calls writes, about. A larger call goes alone.
pub(crate) const GROUP_ROWS: usize = 2_000;
/// Bytes that a group of calls writes, about. A larger call goes alone.
pub(crate) const GROUP_BYTES: usize = 1024 * 1024;
/// New activities of one commit whose rows are written with it; those of more follow.
pub(crate) const ROWS_AT_ONCE: usize = 2_000;
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
/// Labels of runs that the writer remembers, in each of two generations.
pub(crate) const LABELS_MAX: usize = 1_000;
/// Questions that wait for an answer.
pub(crate) const ASKS_MAX: usize = 10_000;
/// Prepared statements of a connection.
pub(crate) const STATEMENTS_MAX: usize = 128;
/// How long the log becomes, unless the settings say otherwise, before what is left of it is copied
/// into the file: 8,000 pages. It is used again from its beginning then, and never cut: appending
/// to a growing file costs more than overwriting. Processor time of a turn, 64 turns per commit, at
/// 1,000, 4,000 and 16,000 pages: 78, 69 and 55 µs; but the longer the log, the longer somebody
/// waits for its copying.
pub(crate) const LOG: usize = 8_000 * 4_096;
/// How long the log is before it is kept ahead of what is written, in bytes: most stores of a
/// moment's use stay below.
pub(crate) const LOG_UNFILLED: u64 = 64 * 1024;
/// By how much it is kept ahead at most, in bytes; that is an eighth of a shorter log. Written in
/// one go and synced, this much takes about as long as what is saved for ten commits, and serves
/// for many more.
pub(crate) const LOG_FILL: usize = 1024 * 1024;
/// Into how many pieces a log is cut that is copied into the file beside the writer.
pub(crate) const PIECES: u64 = 4;
/// Rows after which that is done for the first time: how many frames they make is known then.
pub(crate) const PIECE_FIRST: u64 = 100;
/// The least and the most rows that are taken for such a piece.
pub(crate) const PIECE_ROWS: (u64, u64) = (16, 100_000);
/// Pages that a backup copies before it lets others go on.
pub(crate) const BACKUP_PAGES: i32 = 256;
/// Findings that a check lists.
pub(crate) const FINDINGS_MAX: usize = 100;
/// Namespaces have smaller numbers than this: they share an integer with a serial number.
pub(crate) const NAMESPACES_MAX: u32 = 1 << 23;
/// How often the writer waits for [`Settings::busy`](crate::Settings::busy).
pub(crate) const BUSY_TRIES: u32 = 3;
/// How long one of these waits takes unless the settings say otherwise.
pub(crate) const BUSY: Duration = Duration::from_secs(2);
/// How often it is looked whether a file that was removed is let go of.
pub(crate) const TAKEN_LOOKS: usize = 400;
/// The pause before it is looked again.
pub(crate) const TAKEN_PAUSE: Duration = Duration::from_millis(5);
