//! The database: how it is reached, in which shape its tables are, and what is known of it.

pub(crate) mod app_transaction;
pub(crate) mod db;
#[cfg(test)]
pub(crate) mod explain;
pub(crate) mod migrate;
pub(crate) mod nonce;
pub(crate) mod past;
pub(crate) mod planner;
pub(crate) mod row;
pub(crate) mod session;
pub(crate) mod tls;
