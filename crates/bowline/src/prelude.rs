//! What a program with workflows needs: `use bowline::prelude::*;`
//!
//! `Result`, `Error` and `Ok` are not among it: write `bowline::Result`.

pub use crate::{
    ActivityCtx, Bowline, Ctx, Ended, Phase, Query, Retry, Signal, Update, join, select,
};
