//! Durable workflows that really stop when told to.
