//! What each route does: one file for each family.

pub(crate) mod ask;
pub(crate) mod cancel;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod list;
pub(crate) mod place;
pub(crate) mod receipt;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod start;
