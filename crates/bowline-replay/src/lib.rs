//! Deterministic execution of Bowline workflows, without a runtime.
