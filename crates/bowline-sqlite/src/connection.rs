//! The file: where it is, who has it, how it is opened, kept, copied and checked.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod copier;
pub(crate) mod db;
pub(crate) mod gauge;
pub(crate) mod guard;
pub(crate) mod hand;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod migrate;
pub(crate) mod place;
pub(crate) mod taken;
