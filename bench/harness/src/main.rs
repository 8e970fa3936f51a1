//! The harness as a program; what it does is in the library.

fn main() -> anyhow::Result<()> {
    harness::command(&std::env::args().skip(1).collect::<Vec<_>>())
}
