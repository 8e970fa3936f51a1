//! Durable workflows that really stop when told to.
//!
//! This crate opens a store and gives the engine on it. What workflows, activities and clients
//! look like is, for now, the engine's own untyped interface, re-exported as [`engine`].
//!
//! ```no_run
//! # async fn example() -> Result<(), bowline::engine::Error> {
//! let engine = bowline::open("orders.db")?.start().await?;
//! println!("{} runs", engine.find(Default::default()).await?.runs.len());
//! # Ok(())
//! # }
//! ```

mod open;

pub use bowline_engine as engine;
pub use bowline_replay as replay;
pub use open::open;
