//! The life of a run: how it begins, what it is told and asked, what it begins, and how it ends.

mod chain;
mod child;
mod ending;
mod external;
mod flow;
mod fork;
mod fork_child;
mod keeping;
mod query;
mod scope;
mod slice;
mod starting;
mod transaction;
mod update;
