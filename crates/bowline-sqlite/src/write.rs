//! What is written: calls are gathered into groups, and each group is one transaction.

pub(crate) mod ahead;
pub(crate) mod call;
pub(crate) mod commit;
pub(crate) mod loan;
pub(crate) mod pending;
pub(crate) mod post;
pub(crate) mod settle;
pub(crate) mod transaction;
pub(crate) mod tx;
pub(crate) mod writer;
