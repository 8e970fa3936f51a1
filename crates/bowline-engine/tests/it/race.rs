//! Two things at once: each order is forced, and each has its one outcome.

mod child;
mod claim;
mod close;
mod order;
mod outcome;
mod stop;
mod takeover;
mod unknown;
