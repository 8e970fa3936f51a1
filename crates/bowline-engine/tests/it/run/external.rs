//! What runs ask of runs that are not theirs: signals and cancels by id.

use bowline_core::{
    CancelExternal, Code as CauseCode, EventKind, External, ExternalRefusal, Payload, RunEnding,
    SignalExternal, Status,
};
use bowline_engine::Builder;

use crate::world::{Code, World, ending, history, kinds, start, text, until};

crate::world::on_every_store! {
    a_run_signals_another_run,
    r21_a_run_cancels_another_run_and_a_closed_one_is_a_success,
    h9_asking_a_missing_run_is_refused_and_wedges_nobody,
    a_signal_for_a_closed_run_is_refused,
}

fn to(id: &str) -> External {
    External { workflow_id: id.into(), ..External::default() }
}

/// Sends what its input says, and tells how that was answered.
fn sender(builder: Builder) -> Builder {
    builder
        .flow("caller", |ctx, _| async move {
            let signal = SignalExternal {
                target: to("target"),
                name: "hello".into(),
                input: Some(Payload::json("\"hi\"")),
                ..SignalExternal::default()
            };
            let said = ctx.signal_external(signal).await;
            Ok(Some(Payload::json(format!("{said:?}"))))
        })
        .flow("canceller", |ctx, _| async move {
            let cancel = CancelExternal {
                target: to("target"),
                reason: "tidy up".into(),
                ..CancelExternal::default()
            };
            let said = ctx.cancel_external(cancel).await;
            Ok(Some(Payload::json(format!("{said:?}"))))
        })
        .flow("listener", |ctx, _| async move {
            let heard = ctx.signals("hello").recv().await;
            Ok(heard.input)
        })
}

/// A signal from one run to another arrives, says whose it was, and the sender hears so.
async fn a_run_signals_another_run(world: World) {
    let engine = sender(world.builder()).start().await.expect("starts");
    let target = start(&engine, "listener", "target").await;
    until(&engine, target, "TurnCompleted").await;
    let caller = start(&engine, "caller", "caller").await;
    assert_eq!(ending(&engine, caller).await, completed("Ok(())"));
    assert_eq!(ending(&engine, target).await, completed("\"hi\""));
    let events = history(&engine, target).await;
    let from = events.iter().find_map(|event| match &event.kind {
        EventKind::WorkflowSignalled(signalled) => signalled.external.clone(),
        _ => None,
    });
    let (run, id, _) = from.expect("it says whose it was");
    assert_eq!((run, id.as_str()), (caller, "caller"));
}

/// A cancel from one run to another arrives with its reason, and the sender hears so. A target
/// that is closed already counts as done (R21).
async fn r21_a_run_cancels_another_run_and_a_closed_one_is_a_success(world: World) {
    let engine = sender(world.builder()).start().await.expect("starts");
    let target = start(&engine, "listener", "target").await;
    until(&engine, target, "TurnCompleted").await;
    let first = start(&engine, "canceller", "c-1").await;
    assert_eq!(ending(&engine, first).await, completed("Ok(())"));
    let end = ending(&engine, target).await;
    let RunEnding::Cancelled(_, Some(cause)) = end else { panic!("{end:?}") };
    assert_eq!(cause.code, CauseCode::Requested);
    assert!(cause.to_string().contains("tidy up"), "{cause}");
    assert_eq!(engine.head(target).await.expect("").status, Status::Cancelled);
    let second = start(&engine, "canceller", "c-2").await;
    assert_eq!(ending(&engine, second).await, completed("Ok(())"));
}

/// H9: asking a run that does not exist is answered with a refusal, and nobody is wedged.
async fn h9_asking_a_missing_run_is_refused_and_wedges_nobody(world: World) {
    let engine = sender(world.builder()).start().await.expect("starts");
    let refused = format!("Err({:?})", ExternalRefusal::NotFound);
    let caller = start(&engine, "caller", "caller").await;
    assert_eq!(ending(&engine, caller).await, completed(&refused));
    assert!(kinds(&engine, caller).await.contains(&"ExternalSignalFailed"));
    let canceller = start(&engine, "canceller", "c-1").await;
    assert_eq!(ending(&engine, canceller).await, completed(&refused));
    assert!(kinds(&engine, canceller).await.contains(&"ExternalCancelFailed"));
    let target = start(&engine, "listener", "target").await;
    until(&engine, target, "TurnCompleted").await;
    let caller = start(&engine, "caller", "caller-2").await;
    assert_eq!(ending(&engine, caller).await, completed("Ok(())"));
    assert_eq!(ending(&engine, target).await, completed("\"hi\""));
}

/// A signal for a closed run is refused: nobody will read it.
async fn a_signal_for_a_closed_run_is_refused(world: World) {
    let engine = sender(world.builder()).start().await.expect("starts");
    let target = start(&engine, "canceller", "target").await;
    ending(&engine, target).await;
    let caller = start(&engine, "caller", "caller").await;
    let end = ending(&engine, caller).await;
    let RunEnding::Completed(said) = end else { panic!("{end:?}") };
    assert_eq!(text(&said), format!("Err({:?})", ExternalRefusal::NotFound));
}

fn completed(said: &str) -> RunEnding {
    RunEnding::Completed(Some(Payload::json(said)))
}
