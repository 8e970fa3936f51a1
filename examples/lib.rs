//! Small programs that show what Bowline does, each in a file of its own; run one with
//! `cargo run -p bowline-examples --example readme`. What they print is checked by
//! `tests/output.rs`.
