//! The store on a real Postgres: the contract, opening, several processes, faults.

mod chain;
mod conformance;
mod crowd;
mod failover;
mod fault;
mod held;
mod late;
mod list;
mod locked;
mod messages;
mod open;
mod place;
mod proxy;
mod rejoin;
mod session;
mod spoilt;
mod takeover;
mod transaction;
mod wait;
