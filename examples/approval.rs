//! A person decides: a run waits for days, can be asked where it stands, and can be amended.
//!
//! Three ways into a running workflow. A **signal** is sent and forgotten: the decision. A
//! **query** looks at what the run shows: its status. An **update** asks for something and waits
//! for the answer: the claimant amends the sum, and is refused if it is too much. Waiting costs
//! nothing but a row in the file.
//!
//! ```text
//! claim-7: waiting for a decision on 120
//! claim-7: amended to 90
//! claim-7: the update failed: 5000 is more than anybody may decide here
//! claim-7: waiting for a decision on 90
//! claim-7: 90 granted by Maria
//! claim-7: decided
//! claim-8: nobody decided in time
//! ```

use bowline::prelude::*;
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// One constant serves both sides: the name is spelt once, and the types agree.
const DECIDE: Signal<Decision> = Signal::new("decide");
const STATUS: Query<Status> = Query::new("status");
const AMEND: Update<u64, u64, TooMuch> = Update::new("amend");

#[derive(Serialize, Deserialize)]
struct Decision {
    by: String,
    granted: bool,
}

#[derive(Serialize, Deserialize)]
enum Status {
    Waiting { sum: u64 },
    Decided,
}

#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{0} is more than anybody may decide here")]
struct TooMuch(u64);

#[derive(Serialize, Deserialize)]
struct Claim {
    sum: u64,
    patience: Duration,
}

async fn claim(ctx: Ctx, claim: Claim) -> bowline::Result<String> {
    let mut sum = claim.sum;
    let status = ctx.expose(STATUS, Status::Waiting { sum });
    let (mut decisions, mut amendments) = (ctx.signal(DECIDE), ctx.update(AMEND));
    // Made outside the loop, so that an amendment does not start it again.
    let mut patience = ctx.sleep(claim.patience);
    loop {
        select! {
            decision = decisions.recv() => {
                status.set(Status::Decided);
                let verdict = if decision.granted { "granted" } else { "refused" };
                return Ok(format!("{sum} {verdict} by {}", decision.by));
            }
            amendment = amendments.offered() => {
                if amendment.input > 1000 {
                    // Refused before it was accepted: it leaves no trace in history.
                    let error = TooMuch(amendment.input);
                    amendment.refuse(error);
                    continue;
                }
                sum = amendment.input;
                status.set(Status::Waiting { sum });
                amendment.accept().reply(Ok(sum));
            }
            _ = &mut patience => return Ok("nobody decided in time".to_owned()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting { sum } => write!(f, "waiting for a decision on {sum}"),
            Self::Decided => f.write_str("decided"),
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("approval.db")).workflow(claim);
    let bowline = app.start().await?;

    let a_week = Duration::from_secs(7 * 86_400);
    let run = bowline.start(claim, "claim-7", Claim { sum: 120, patience: a_week }).await?;
    println!("claim-7: {}", run.query(STATUS).await?);
    println!("claim-7: amended to {}", run.update(AMEND, 90).await?);
    if let Err(refused) = run.update(AMEND, 5000).await {
        println!("claim-7: {refused}");
    }
    // Whoever knows the id can ask: another part of the program, after a restart.
    let found = bowline.attach(claim, "claim-7");
    println!("claim-7: {}", found.query(STATUS).await?);
    found.signal(DECIDE, Decision { by: "Maria".to_owned(), granted: true }).await?;
    println!("claim-7: {}", run.result().await?);
    println!("claim-7: {}", run.query(STATUS).await?); // A closed run answers too.

    let briefly = Duration::from_millis(50);
    let run = bowline.start(claim, "claim-8", Claim { sum: 3, patience: briefly }).await?;
    println!("claim-8: {}", run.result().await?);
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
