//! Random workflows.
