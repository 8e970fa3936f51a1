//! Every workload, defined once, for whatever system is put under it.
//!
//! A *peer* is a program that adapts one system: it implements [`System`] and hands itself to
//! [`serve`]. The harness starts it as a process of its own, sends it one workload per line and
//! reads one result per line, so that no peer's dependencies meet another's, its process can be
//! killed, and its memory and processor time are read from outside.
//!
//! The workloads themselves run *inside* the peer, against the trait: what is measured is the
//! system, not a pipe.

mod line;
pub mod probe;
mod process;
mod side;
mod spread;
mod system;
pub mod workload;

pub use line::{Command, Hello, Reply, serve, start_line};
pub use side::{command, workloads};
pub use spread::Spread;
pub use system::{System, Trouble, Work};

/// What one measurement found: a number under a name that ends in its unit.
pub type Metrics = std::collections::BTreeMap<String, f64>;
