//! The peer as a program; what it does is in the library.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    bowline_peer::peer(&std::env::args().skip(1).collect::<Vec<_>>()).await
}
