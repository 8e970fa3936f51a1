//! Crash and resume: the process is killed in the middle, and a second one goes on.
//!
//! This program starts itself twice on one file. Its first life paints two walls, and is killed
//! with `SIGKILL` while it paints the third: no destructor runs, nothing is flushed. Its second
//! life does nothing but open the file. The walls that were painted stay painted; the attempt that
//! died is made again, and can tell.
//!
//! ```text
//! first life
//!   wall 1 is painted
//!   wall 2 is painted
//!   killed while painting wall 3
//! second life
//!   wall 3 is painted, at attempt 2
//!   wall 4 is painted
//!   all 4 walls are painted
//! ```

use bowline::prelude::*;
use std::{
    env,
    path::Path,
    process::{self, Command},
    time::Duration,
};

async fn paint(ctx: ActivityCtx, wall: u32) -> bowline::Result<()> {
    let attempt = ctx.info().attempt;
    match (wall, attempt) {
        (3, 1) => {
            println!("  killed while painting wall 3");
            Command::new("kill").args(["-9", &process::id().to_string()]).status()?;
            std::future::pending().await
        }
        (_, 1) => println!("  wall {wall} is painted"),
        _ => println!("  wall {wall} is painted, at attempt {attempt}"),
    }
    Ok(())
}

async fn room(ctx: Ctx, walls: u32) -> bowline::Result<u32> {
    for wall in 1..=walls {
        ctx.activity(paint, wall).await?;
    }
    Ok(walls)
}

/// One life of the program. Only the first one starts the run; opening the file is enough for
/// whatever is open in there to go on.
async fn live(file: &Path) -> anyhow::Result<()> {
    let is_first = !file.exists();
    let bowline = Bowline::open(file).workflow(room).activity(paint).start().await?;
    if is_first {
        bowline.start(room, "kitchen", 4).await?;
    }
    let walls = bowline.attach(room, "kitchen").result().await?;
    println!("  all {walls} walls are painted");
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let Some(file) = env::args().nth(1) {
        return live(Path::new(&file)).await;
    }
    let folder = tempfile::tempdir()?;
    for (life, survives) in [("first", false), ("second", true)] {
        println!("{life} life");
        let mut itself = Command::new(env::current_exe()?);
        let end = itself.arg(folder.path().join("walls.db")).status()?;
        assert_eq!(end.success(), survives, "the {life} life ended with {end}");
    }
    Ok(())
}
