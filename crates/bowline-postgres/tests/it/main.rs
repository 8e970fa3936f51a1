//! The store on a real Postgres: the contract, opening, several processes, faults.

mod conformance;
mod fault;
mod messages;
mod open;
mod place;
mod proxy;
mod takeover;
mod transaction;
