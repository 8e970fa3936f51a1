//! An agent with tools, sub-agents and a stop button.

use std::time::Duration;

use bowline::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Place;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Brief {
    goal: String,
    depth: u32,
    log: Vec<String>,
}

impl Brief {
    fn new(goal: impl Into<String>, depth: u32) -> Self {
        Self { goal: goal.into(), depth, log: Vec::new() }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Step {
    Answer(String),
    Tool(String),
    Delegate(Vec<String>),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Progress {
    steps: u32,
}

const PROGRESS: Query<Progress> = Query::new("progress");
const SAY: Signal<String> = Signal::new("say");

async fn think(ctx: ActivityCtx, brief: Brief) -> bowline::Result<Step> {
    match (brief.depth, brief.log.len()) {
        _ if brief.goal == "wait" => {
            ctx.cancelled().await;
            Err(bowline::Failure::new("stopped").into())
        }
        (0, 0) => Ok(Step::Tool("search".to_owned())),
        (0, 1) => Ok(Step::Delegate(vec!["left".to_owned(), "right".to_owned()])),
        _ => Ok(Step::Answer(format!("{}: {}", brief.goal, brief.log.join(", ")))),
    }
}

async fn tool(name: String) -> bowline::Result<String> {
    Ok(format!("{name} done"))
}

async fn agent(ctx: Ctx, mut brief: Brief) -> bowline::Result<String> {
    let progress = ctx.expose(PROGRESS, Progress::default());
    let mut said = ctx.signal(SAY);
    loop {
        if brief.log.len() > 500 {
            ctx.continue_as_new(agent, brief).await
        }
        let step = select! {
            words = said.recv() => { brief.log.push(words); continue },
            step = ctx.activity(think, &brief).timeout(Duration::from_secs(120)) => step?,
        };
        progress.change(|p| p.steps += 1);
        match step {
            Step::Answer(answer) => return Ok(answer),
            Step::Tool(name) => brief.log.push(ctx.activity(tool, name).await?),
            Step::Delegate(goals) => {
                let helpers = goals
                    .into_iter()
                    .map(|goal| ctx.child(agent, Brief::new(goal, brief.depth + 1)));
                let team = ctx.scope(async { Ok(bowline::try_join_all(helpers).await?) });
                brief.log.extend(team.deadline(Duration::from_secs(3600)).await?);
            }
        }
    }
}

async fn started(place: &Place) -> Bowline {
    let app = place.open().workflow(agent).activity(think).activity(tool);
    app.start().await.expect("it starts")
}

#[tokio::test]
async fn an_agent_uses_tools_and_sub_agents() {
    let place = Place::new();
    let bowline = started(&place).await;
    let run = bowline.start(agent, "a", Brief::new("all", 0)).await.expect("it is started");
    assert_eq!(run.result().await.expect("it answers"), "all: search done, left: , right: ");
    assert_eq!(run.query(PROGRESS).await.expect("it is shown"), Progress { steps: 3 });
}

#[tokio::test]
async fn the_stop_button_stops_everything() {
    let place = Place::new();
    let bowline = started(&place).await;
    let run = bowline.start(agent, "a", Brief::new("wait", 0)).await.expect("it is started");
    let receipt = run.cancel("stop").by("alice").await.expect("it is asked");
    let tree = receipt.wait(Phase::Clean).await.expect("nothing is left");
    assert!(tree.is_clean(), "{tree}");
    let ended = run.outcome().await.expect("it ends").expect_err("it is cancelled");
    let cause = ended.cause().expect("it has a cause");
    assert_eq!((cause.detail.as_str(), cause.requested_by.as_str()), ("stop", "alice"));
    assert!(bowline.orphans().await.expect("it is asked").is_empty());
}
