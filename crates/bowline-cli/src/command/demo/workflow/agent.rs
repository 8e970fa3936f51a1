//! An agent that gives parts of its work to agents below it.

use bowline::prelude::*;
use serde::{Deserialize, Serialize};

use super::{latency, until_told};

/// What an agent is to find out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Brief {
    goal: String,
}

impl Brief {
    pub(super) fn first() -> Self {
        Self { goal: "voyage".to_owned() }
    }
}

/// What a model answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Step {
    Answer(String),
    Delegate(Vec<String>),
}

pub(super) async fn agent(ctx: Ctx, brief: Brief) -> bowline::Result<String> {
    match ctx.activity(think, &brief).await? {
        Step::Answer(answer) => Ok(answer),
        Step::Delegate(goals) => {
            let own = ctx.info().workflow_id;
            let below = goals.into_iter().map(|goal| {
                let id = format!("{own}/{goal}");
                ctx.child(agent, Brief { goal }).id(id)
            });
            Ok(bowline::try_join_all(below).await?.join(", "))
        }
    }
}

/// A call of a model: two goals are given on, the others take for ever.
pub(super) async fn think(ctx: ActivityCtx, brief: Brief) -> bowline::Result<Step> {
    let below: &[&str] = match brief.goal.as_str() {
        "voyage" => &["weather", "harbour"],
        "harbour" => &["tides"],
        _ => return Err(until_told(&ctx).await.into()),
    };
    latency(100).await;
    Ok(Step::Delegate(below.iter().map(|goal| (*goal).to_owned()).collect()))
}
