//! What is read: a run, lists of runs, what is left of a tree; and questions outside history.

pub(crate) mod ask;
pub(crate) mod catalog;
pub(crate) mod find;
pub(crate) mod leftovers;
pub(crate) mod one;
pub(crate) mod reader;
