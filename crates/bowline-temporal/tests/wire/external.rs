//! What a run asks of others: what its worker sent along comes back in history.

use temporalio_protos::temporal::api::{
    command::v1::{
        Command, RequestCancelExternalWorkflowExecutionCommandAttributes,
        SignalExternalWorkflowExecutionCommandAttributes, command::Attributes,
    },
    enums::v1::CommandType,
    history::v1::history_event::Attributes as Told,
};

use crate::world::{SPACE, World, command, named, start};

fn signal(control: &str) -> Command {
    // Deprecated on the wire, and what the SDK for Go finds its own commands by.
    #[allow(deprecated)]
    let signal = SignalExternalWorkflowExecutionCommandAttributes {
        execution: Some(named("other")),
        signal_name: "hello".into(),
        control: control.into(),
        ..Default::default()
    };
    command(
        CommandType::SignalExternalWorkflowExecution,
        Attributes::SignalExternalWorkflowExecutionCommandAttributes(signal),
    )
}

fn cancel(control: &str) -> Command {
    #[allow(deprecated)]
    let cancel = RequestCancelExternalWorkflowExecutionCommandAttributes {
        workflow_id: "other".into(),
        control: control.into(),
        ..Default::default()
    };
    command(
        CommandType::RequestCancelExternalWorkflowExecution,
        Attributes::RequestCancelExternalWorkflowExecutionCommandAttributes(cancel),
    )
}

/// The SDK for Go knows by it which of its commands an event speaks of, both when the request is
/// written down and when its answer comes.
#[tokio::test]
#[allow(deprecated)]
async fn control_of_a_signal_or_cancel_to_another_run_comes_back() {
    let world = World::new().await;
    world.start(start(SPACE, "asks")).await;
    let turn = world.turn(SPACE).await;
    let asked = world.answer(SPACE, &turn, vec![signal("5"), cancel("6")]).await;
    asked.expect("it is taken");
    let events = world.history(SPACE, "asks").await;
    let controls: Vec<_> = events
        .into_iter()
        .filter_map(|event| match event.attributes? {
            Told::SignalExternalWorkflowExecutionInitiatedEventAttributes(a) => Some(a.control),
            Told::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(a) => {
                Some(a.control)
            }
            _ => None,
        })
        .collect();
    assert_eq!(controls, ["5", "6"]);
}
