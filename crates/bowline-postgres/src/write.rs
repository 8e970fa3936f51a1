//! What is written: calls are gathered into groups, and each group is one statement.

pub(crate) mod ahead;
pub(crate) mod call;
pub(crate) mod commit;
pub(crate) mod post;
pub(crate) mod room;
pub(crate) mod settle;
pub(crate) mod statement;
pub(crate) mod transaction;
pub(crate) mod tx;
pub(crate) mod work;
pub(crate) mod writer;
