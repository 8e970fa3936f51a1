//! The reference store: everything in memory, nothing durable.
