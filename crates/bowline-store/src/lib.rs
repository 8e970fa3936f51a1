//! The contract between Bowline and its stores, a memory store, and a conformance suite.
