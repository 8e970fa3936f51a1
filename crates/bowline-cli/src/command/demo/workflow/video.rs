//! Work that is done by a program of its own, which starts another one.

use std::{process::Command, time::Duration};

use bowline::prelude::*;

use crate::command::demo::line::{self, Said};

const GRACE: Duration = Duration::from_millis(400);
/// An abort is seen at once; a machine that is busy with other things needs longer.
const STEP: Duration = Duration::from_secs(10);

pub(super) async fn video(ctx: Ctx, file: String) -> bowline::Result<i32> {
    Ok(ctx.activity(encode, file).grace(GRACE).grace_step(STEP).await?)
}

/// Waits for its process, and for nothing else.
pub(super) async fn encode(ctx: ActivityCtx, _file: String) -> bowline::Result<i32> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "sleep 600 & sleep 600"]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let mut child = ctx.spawn_process(command)?;
    let (info, group) = (ctx.info(), child.mark().group);
    let (id, attempt) = (info.workflow_id, info.attempt);
    line::say(&Said::Process { id, attempt, pid: child.id(), group })?;
    Ok(child.wait().await?.code().unwrap_or(-1))
}
