//! An agent: a loop that thinks, uses tools, hires sub-agents, and has a stop button.
//!
//! Every thought and every tool is an activity, so nothing is paid for twice after a crash. Words
//! that come meanwhile cancel the thought in progress: it would have known too little. A
//! sub-agent is a child of the same workflow. When the log has grown, the run goes on as a new one
//! with the same id and a short history. And a stop reaches all of it at once.
//!
//! ```text
//! rope: read 3 pages; ask the sailor; knots: bowline; fibres: hemp
//! rope: 4 thoughts in 2 runs
//! stars: thought again, having heard "only the bright ones"
//! cancel requested by you (that is enough)
//! stars (agent) cancelled  …
//! ├─ think #… was told, and stopped by itself [select_lost]  …
//! ├─ stars/… (agent) cancelled [parent_cancelled]  …
//! │  └─ think #… was told, and stopped by itself [run_cancelled]  …
//! └─ stars/… (agent) cancelled [parent_cancelled]  …
//!    └─ think #… was told, and stopped by itself [run_cancelled]  …
//! clean: nothing is left running
//! ```

use bowline::prelude::*;
use bowline::{Failure, try_join_all};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::Semaphore;

const SAY: Signal<String> = Signal::new("say");
const PROGRESS: Query<Progress> = Query::new("progress");

#[derive(Clone, Default, Serialize, Deserialize)]
struct Progress {
    thoughts: u32,
    runs: u32,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brief {
    goal: String,
    log: Vec<String>,
    progress: Progress,
}

#[derive(Clone, Serialize, Deserialize)]
enum Step {
    Tool(String),
    Delegate(Vec<String>),
    Answer(String),
}

fn brief(goal: impl Into<String>) -> Brief {
    Brief { goal: goal.into(), ..Brief::default() }
}

/// How many thoughts take for ever.
static LOST_IN_THOUGHT: Semaphore = Semaphore::const_new(0);

/// The model: here a script, in earnest a request to one. Slow, dear, and worth stopping.
async fn think(ctx: ActivityCtx, brief: Brief) -> bowline::Result<Step> {
    let tool = |name: &str| Ok(Step::Tool(name.to_owned()));
    let answer = |text: &str| Ok(Step::Answer(text.to_owned()));
    match (brief.goal.as_str(), brief.log.len()) {
        ("rope", 0) => tool("read 3 pages"),
        ("rope", 1) => tool("ask the sailor"),
        ("rope", 2) => Ok(Step::Delegate(vec!["knots".to_owned(), "fibres".to_owned()])),
        ("knots", _) => answer("bowline"),
        ("fibres", _) => answer("hemp"),
        ("stars", 1..) => {
            println!("stars: thought again, having heard {:?}", brief.log[0]);
            Ok(Step::Delegate(vec!["north".to_owned(), "south".to_owned()]))
        }
        ("stars" | "north" | "south", _) => {
            LOST_IN_THOUGHT.add_permits(1);
            let why = ctx.cancelled().await;
            Err(Failure::new(format!("the request was dropped: {why}")).into())
        }
        _ => Ok(Step::Answer(brief.log.join("; "))),
    }
}

async fn tool(name: String) -> bowline::Result<String> {
    Ok(name)
}

async fn agent(ctx: Ctx, mut brief: Brief) -> bowline::Result<String> {
    brief.progress.runs += 1;
    let progress = ctx.expose(PROGRESS, brief.progress.clone());
    let mut said = ctx.signal(SAY);
    loop {
        let step = select! {
            words = said.recv() => {
                brief.log.push(words);
                continue;
            }
            step = ctx.activity(think, &brief).timeout(Duration::from_secs(120)) => step?,
        };
        progress.change(|shown| shown.thoughts += 1);
        match step {
            Step::Answer(answer) => return Ok(answer),
            Step::Tool(name) => brief.log.push(ctx.activity(tool, name).await?),
            Step::Delegate(goals) => {
                let hired = goals.iter().map(|goal| ctx.child(agent, self::brief(goal)));
                let team = ctx.scope(async { bowline::Ok(try_join_all(hired).await?) });
                let answers = team.name("team").deadline(Duration::from_secs(3600)).await?;
                let told = goals.iter().zip(answers).map(|(goal, said)| format!("{goal}: {said}"));
                brief.log.extend(told);
            }
        }
        if brief.log.len() > 3 {
            // A long life in short histories; what it exposes and knows goes along.
            brief.progress = progress.read().clone();
            ctx.continue_as_new(agent, brief).await
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("agent.db")).workflow(agent);
    let bowline = app.activity(think).activity(tool).start().await?;

    let run = bowline.start(agent, "rope", brief("rope")).await?;
    println!("rope: {}", run.result().await?);
    let Progress { thoughts, runs } = bowline.run("rope").query(PROGRESS).await?;
    println!("rope: {thoughts} thoughts in {runs} runs");

    let run = bowline.start(agent, "stars", brief("stars")).await?;
    LOST_IN_THOUGHT.acquire().await?.forget();
    run.signal(SAY, "only the bright ones").await?;
    LOST_IN_THOUGHT.acquire_many(2).await?.forget(); // The two sub-agents think now.
    let receipt = run.cancel("that is enough").by("you").await?; // The stop button.
    println!("{}", receipt.wait(Phase::Clean).await?);
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
