//! Every bound of this crate.

use std::time::Duration;

/// How many bytes the credentials of a request may have.
pub const CREDENTIAL: usize = 16 * 1024;
/// How many bytes the name of a caller may have.
pub const WHO: usize = 200;
/// How much of what a request says of itself is kept beside the caller's name.
pub const SAID: usize = 400;
/// How many permissions a key, token or certificate may have.
pub const GRANTS: usize = 1_000;
/// How many live keys a name may have: the one in use, and the one that takes its place.
pub const KEYS_LIVE: usize = 2;
/// How many bytes a file with keys, certificates or a key set may have.
pub const FILE: u64 = 4 * 1024 * 1024;
/// How many keys a key set may have.
pub const KEY_SET: usize = 100;
/// How many verified tokens are remembered, so that the next call need not verify them again.
pub const TOKENS: usize = 10_000;
/// How far clocks may differ when a token is looked at.
pub const SKEW: Duration = Duration::from_secs(60);
/// After this time a key set is read again from its URL.
pub const KEY_SET_AGE: Duration = Duration::from_secs(300);
/// An unknown key is looked for at the URL this often at most.
pub const KEY_SET_PAUSE: Duration = Duration::from_secs(60);
/// How long reading a key set from its URL may take.
pub const KEY_SET_WAIT: Duration = Duration::from_secs(10);
/// How long a TLS handshake may take.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// How many runs one request may touch before somebody else must confirm it.
pub const RADIUS: u64 = 1_000;
