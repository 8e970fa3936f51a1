//! The one handler that does what it is told, and those that it calls.

use std::time::Duration;

use harness::{Work, probe};
use restate_sdk::{context::RequestTarget, prelude::*};

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) struct Bench;

#[restate_sdk::service]
impl Bench {
    /// Does what it is told.
    #[handler]
    async fn perform(&self, ctx: Context<'_>, work: Json<Work>) -> HandlerResult<u32> {
        match work.into_inner() {
            Work::Hello => step(&ctx).await?,
            Work::Nothing => {}
            Work::Chain { steps } => chain(&ctx, steps).await?,
            Work::Fanout { width } => calls(&ctx, "touch", width).await?,
            Work::Children { width } => performs(&ctx, width, &Work::Nothing).await?,
            Work::Signals { count } => signals(&ctx, count).await?,
            Work::Hold => calls(&ctx, "hold", 1).await?,
            Work::Sleep => ctx.sleep(HOUR).await?,
            Work::Race => race(&ctx).await?,
            Work::Crowd { width } => crowd(&ctx, width).await?,
            Work::Tree { children, activities } => {
                performs(&ctx, children, &Work::Branch { activities }).await?;
            }
            Work::Branch { activities } => calls(&ctx, "hold", activities).await?,
            Work::Long { steps } => {
                chain(&ctx, steps).await?;
                signals(&ctx, 1).await?;
            }
        }
        Ok(0)
    }

    /// Ends by itself, at once.
    #[handler]
    async fn touch(&self, _ctx: Context<'_>, number: u32) -> HandlerResult<u32> {
        probe::step();
        Ok(number)
    }

    /// Runs until it is told.
    #[handler]
    async fn hold(&self, ctx: Context<'_>, number: u32) -> HandlerResult<u32> {
        probe::held();
        let told = ctx.sleep(HOUR).await;
        probe::told();
        told?;
        Ok(number)
    }

    /// Wins against `hold`.
    #[handler]
    async fn win(&self, _ctx: Context<'_>, number: u32) -> HandlerResult<u32> {
        probe::win().await;
        Ok(number)
    }

    /// Sends a signal on behalf of the harness.
    #[handler]
    async fn poke(&self, ctx: Context<'_>, to: Json<(String, u32)>) -> HandlerResult<()> {
        let (invocation, number) = to.into_inner();
        ctx.invocation_handle(invocation).signal(format!("poke-{number}")).resolve(number);
        Ok(())
    }
}

/// A queue with one slot: the handlers of one object run one at a time.
pub(crate) struct Crowd;

#[restate_sdk::object]
impl Crowd {
    /// Runs until it is told.
    #[handler]
    async fn hold(&self, ctx: ObjectContext<'_>, number: u32) -> HandlerResult<u32> {
        probe::held();
        let told = ctx.sleep(HOUR).await;
        probe::told();
        told?;
        Ok(number)
    }
}

async fn crowd(ctx: &Context<'_>, width: u32) -> Result<(), TerminalError> {
    let target = || RequestTarget::object("Crowd", "one", "hold");
    let all: Vec<_> =
        (0..width).map(|number| ctx.request::<u32, u32>(target(), number).call()).collect();
    for one in all {
        one.await?;
    }
    Ok(())
}

async fn step(ctx: &Context<'_>) -> Result<(), TerminalError> {
    ctx.run(|| async {
        probe::step();
        Ok(1_u32)
    })
    .await?;
    Ok(())
}

async fn chain(ctx: &Context<'_>, steps: u32) -> Result<(), TerminalError> {
    for _ in 0..steps {
        step(ctx).await?;
    }
    Ok(())
}

async fn signals(ctx: &Context<'_>, count: u32) -> Result<(), TerminalError> {
    for number in 0..count {
        ctx.signal::<u32>(&format!("poke-{number}")).await?;
    }
    Ok(())
}

async fn calls(ctx: &Context<'_>, handler: &str, width: u32) -> Result<(), TerminalError> {
    let call = |number| ctx.request::<u32, u32>(RequestTarget::service("Bench", handler), number);
    let all: Vec<_> = (0..width).map(|number| call(number).call()).collect();
    for one in all {
        one.await?;
    }
    Ok(())
}

async fn performs(ctx: &Context<'_>, width: u32, work: &Work) -> Result<(), TerminalError> {
    let target = || RequestTarget::service("Bench", "perform");
    let call = || ctx.request::<Json<Work>, u32>(target(), Json(work.clone()));
    let all: Vec<_> = (0..width).map(|_| call().call()).collect();
    for one in all {
        one.await?;
    }
    Ok(())
}

/// A loser is not told by itself: the handler cancels it, as Restate's users do.
async fn race(ctx: &Context<'_>) -> Result<(), TerminalError> {
    let call = |handler| ctx.request::<u32, u32>(RequestTarget::service("Bench", handler), 0);
    let lost = call("hold").call();
    let won = call("win").call();
    won.await?;
    lost.invocation_handle().await?.cancel();
    Ok(())
}
