//! Every bound of the API on one screen.

use std::time::Duration;

/// The longest body that is read, in bytes: a payload of the largest size, written as JSON.
pub(crate) const BODY_MAX: usize = 4 * 1024 * 1024;
/// How long a body may take to come.
pub(crate) const BODY_WAIT: Duration = Duration::from_secs(30);
/// How many requests are worked on at once.
pub(crate) const CALLS_MAX: usize = 512;
/// How many requests wait for something at once, streams included.
pub(crate) const WAITS_MAX: usize = 512;
/// How many connections there may be at once.
pub(crate) const CONNECTIONS_MAX: usize = 1_024;
/// How long nobody is let in after the system has had no room.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How many requests one connection may have open at once.
pub(crate) const STREAMS_EACH: u32 = 128;
/// How long the head of a request may take to come.
pub(crate) const HEAD_WAIT: Duration = Duration::from_secs(30);
/// How long what is being answered may go on when the server leaves.
pub(crate) const LEAVE: Duration = Duration::from_secs(2);
/// How long a stream goes on for somebody who has shown who they are; then they show it again.
pub(crate) const STREAM_LIFE: Duration = Duration::from_secs(300);
/// How soon somebody whose stream has ended comes again.
pub(crate) const STREAM_AGAIN: Duration = Duration::from_millis(200);
/// How many runs or events a page has, unless said otherwise.
pub(crate) const PAGE: usize = 50;
/// How many it has at most.
pub(crate) const PAGE_MAX: usize = 500;
/// How many pages of the store are looked at for one answer.
pub(crate) const LOOKS: usize = 8;
/// How many runs are counted.
pub(crate) const COUNT_MAX: u64 = 20_000;
/// Payloads that are longer are left out, unless they are asked for.
pub(crate) const PAYLOAD_SHOWN: usize = 16 * 1024;
/// How many bytes of payloads one answer has, about, where they are asked for.
pub(crate) const PAYLOADS_MAX: u64 = 8 * 1024 * 1024;
/// How long a request waits for something, unless it says otherwise.
pub(crate) const WAIT: Duration = Duration::from_secs(20);
/// How long it waits at most.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
/// How long a remote worker has to answer a query.
pub(crate) const QUERY: Duration = Duration::from_secs(10);
/// The longest id, name or word of a request.
pub(crate) const TEXT_MAX: usize = 1_000;
/// The longest reason.
pub(crate) const REASON_MAX: usize = 4_000;
/// How many changed runs are remembered, for streams that come again.
pub(crate) const CHANGES_MAX: usize = 10_000;
/// How many runs a stream is told of in one breath.
pub(crate) const BREATH: usize = 100;
/// How long a stream rests between two breaths.
pub(crate) const REST: Duration = Duration::from_millis(100);
/// How often a silent stream says that it is there.
pub(crate) const ALIVE: Duration = Duration::from_secs(15);
/// How long changes are listened to after the last stream has gone.
pub(crate) const LINGER: Duration = Duration::from_secs(120);
/// How often somebody who follows a receipt looks, where no change is told.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// How long the store has to show that it answers.
pub(crate) const PROBE: Duration = Duration::from_secs(3);
