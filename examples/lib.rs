//! Small programs that show what Bowline does, each in a file of its own. Run one with
//! `cargo run -p bowline-examples --example hello`. What they print stands in their headers, and
//! is checked by `tests/output.rs`.
//!
//! | example | what it shows |
//! |---|---|
//! | `hello` | a workflow, an activity, and a file that remembers |
//! | `readme` | the program of the README: start, cancel, know that it stopped |
//! | `saga` | what was done is undone, last first, after a failure or a cancel |
//! | `race` | the first answer counts; losers and late-comers are stopped |
//! | `fan_out` | many activities at once, a deadline, and what was done by then |
//! | `child_tree` | cancel the parent, and see when each part of the tree stopped |
//! | `approval` | a person decides, by signal; with a query and an update |
//! | `agent` | tools, sub-agents, continue-as-new, and a stop button |
//! | `process` | an activity that runs a process, killed with its group |
//! | `web` | embedded in an axum application |
//! | `retries` | retries, and heartbeats through which progress survives |
//! | `versioning` | new code meets runs that the old code began |
//! | `crash` | killed with `SIGKILL` in the middle, and resumed |
//! | `transaction` | a cancel in the application's own transaction |
//! | `testing` | virtual time, faults, and a replay of what was recorded |
