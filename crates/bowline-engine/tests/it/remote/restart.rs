//! A remote worker and an engine that dies: what the worker was not told is found in the rows.

use bowline_core::{Cause, Ending};
use bowline_store::Phase;

use crate::support::{
    flows::Flows,
    remote::{acknowledge, activity, next_notices, notices, scheduled},
    stage::{self, comes_clean, reaches},
};

const CONTROL: &str = "control-1";

/// R8: the engine is killed between the decision and the delivery. The next one hands the same
/// notice to the worker when that comes for its notices; once it is delivered, no more.
#[tokio::test]
async fn r8_a_notice_that_was_not_delivered_survives_the_engine() {
    stage::each(async |stage| {
        let first = stage.process(stage.builder()).await;
        let run = scheduled(&first.engine, "r-1", 2).await;
        let taken = activity(&first.engine, CONTROL).await;
        let other = activity(&first.engine, "control-2").await;
        let cause = Cause::requested("enough", "alice");
        let receipt = first.engine.terminate(run, cause).await.expect("taken");
        let sent = next_notices(&first.engine, CONTROL).await;
        assert_eq!((sent.len(), sent[0].activity), (1, taken.activity));
        first.kill();
        stage.reopen();
        let second = stage.process(stage.builder()).await;
        let again = next_notices(&second.engine, CONTROL).await;
        assert_eq!(again.iter().map(|n| n.id()).collect::<Vec<_>>(), [sent[0].id()]);
        assert_eq!(again, sent, "with the cause and the moment of the decision");
        assert!(notices(&second.engine, CONTROL).await.is_empty(), "it is handed out once");
        acknowledge(&second.engine, CONTROL, &again).await;
        assert!(notices(&second.engine, CONTROL).await.is_empty(), "it is delivered");
        second.kill();
        stage.reopen();
        let third = stage.builder().up().await;
        assert!(notices(&third, CONTROL).await.is_empty(), "it stays delivered");
        let theirs = next_notices(&third, "control-2").await;
        assert_eq!((theirs.len(), theirs[0].activity), (1, other.activity));
        acknowledge(&third, "control-2", &theirs).await;
        reaches(&third, receipt, Phase::Delivered).await;
        for attempt in [taken, other] {
            let ended = third.end_activity(attempt.token.as_slice(), Ending::Cancelled(None));
            ended.await.expect("the token is good in every process");
        }
        comes_clean(&third, receipt).await;
    })
    .await;
}
