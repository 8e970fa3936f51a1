//! What waits, rings or is left for later: claimed, fired, swept; and who is there to do it.

pub(crate) mod claim;
pub(crate) mod fate;
pub(crate) mod fire;
pub(crate) mod grace;
pub(crate) mod hint;
pub(crate) mod listen;
pub(crate) mod member;
pub(crate) mod sweep;
pub(crate) mod watch;
