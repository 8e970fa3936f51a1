//! The rows themselves, and how they become values.

pub(crate) mod activity;
pub(crate) mod address;
pub(crate) mod blob;
pub(crate) mod damaged;
pub(crate) mod inbox;
pub(crate) mod missing_rows;
pub(crate) mod run;
