//! What is sent to a run: signals, queries and updates, each a typed constant for both sides.

mod query;
mod signal;
mod update;

pub use query::{Exposed, Query};
pub use signal::{Signal, Signals};
pub use update::{Asked, Offered, Update, Updates};
