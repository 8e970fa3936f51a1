//! What the tests stand on.

pub(crate) mod bench;
pub(crate) mod code;
pub(crate) mod flows;
pub(crate) mod gate;
pub(crate) mod log;
pub(crate) mod probe;
pub(crate) mod remote;
pub(crate) mod stage;
pub(crate) mod stores;
pub(crate) mod witness;
