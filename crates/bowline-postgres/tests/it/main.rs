//! The store on a real Postgres: the contract, opening, several processes, faults.

mod conformance;
mod open;
mod place;
mod takeover;
mod transaction;
