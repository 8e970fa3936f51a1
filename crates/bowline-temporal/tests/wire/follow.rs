//! Following a history: every event that is written arrives, once, whatever is shown meanwhile of
//! a turn that is out and comes to nothing.

use temporalio_protos::temporal::api::{
    enums::v1::HistoryEventFilterType, history::v1::HistoryEvent, workflowservice::v1::*,
};

use crate::world::{SPACE, World, complete, kinds, named, start};

/// The next page of a history that is followed.
async fn follow(world: &World, id: &str, token: Vec<u8>) -> (Vec<HistoryEvent>, Vec<u8>) {
    let page = GetWorkflowExecutionHistoryRequest {
        namespace: SPACE.into(),
        execution: Some(named(id)),
        wait_new_event: true,
        next_page_token: token,
        ..Default::default()
    };
    let page: GetWorkflowExecutionHistoryResponse = world.call(page).await.expect("a page");
    (page.history.unwrap_or_default().events, page.next_page_token)
}

/// A turn that is tried again stands in no history before it is answered. What came in its place
/// had its numbers, and whoever followed the run was never told of it.
#[tokio::test]
async fn a_turn_that_is_tried_again_hides_nothing_from_who_follows() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.fail(&turn).await;
    let turn = world.turn(SPACE).await;
    assert_eq!(turn.attempt, 2);
    let (seen, token) = follow(&world, "w", Vec::new()).await;
    let written = ["WORKFLOW_EXECUTION_STARTED", "WORKFLOW_TASK_SCHEDULED"];
    let written = [&written[..], &["WORKFLOW_TASK_STARTED", "WORKFLOW_TASK_FAILED"]].concat();
    assert_eq!(kinds(&seen), written, "only what is written");
    world.fail(&turn).await;
    world.signal("w", "hello").await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![complete()]).await.expect("it is taken");
    let (mut told, mut token) = (seen, token);
    while !token.is_empty() {
        let (page, next) = follow(&world, "w", token).await;
        told.extend(page);
        token = next;
    }
    assert_eq!(told, world.history(SPACE, "w").await);
}

/// A page that is cut right inside such a turn would leave out what is written in its place.
#[tokio::test]
async fn a_turn_that_is_not_written_yet_stands_on_one_page() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.fail(&turn).await;
    let turn = world.turn(SPACE).await;
    let page = |token| GetWorkflowExecutionHistoryRequest {
        namespace: SPACE.into(),
        execution: Some(named("w")),
        maximum_page_size: 1,
        next_page_token: token,
        ..Default::default()
    };
    let (mut sizes, mut token) = (Vec::new(), Vec::new());
    loop {
        let page: GetWorkflowExecutionHistoryResponse =
            world.call(page(token)).await.expect("a page");
        sizes.push(page.history.unwrap_or_default().events.len());
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(sizes, [1, 1, 1, 3], "what its worker was shown is readable, as a whole");
    assert_eq!(turn.started_event_id, 6);
}

/// Who asks for the last event only, and does not wait, hears that there is none.
#[tokio::test]
async fn an_open_run_has_no_closing_event() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let close = GetWorkflowExecutionHistoryRequest {
        namespace: SPACE.into(),
        execution: Some(named("w")),
        history_event_filter_type: HistoryEventFilterType::CloseEvent.into(),
        ..Default::default()
    };
    let page: GetWorkflowExecutionHistoryResponse =
        world.call(close.clone()).await.expect("a page");
    assert_eq!(kinds(&page.history.unwrap_or_default().events), [""; 0]);
    assert!(page.next_page_token.is_empty());
    world.terminate("w").await;
    let page: GetWorkflowExecutionHistoryResponse = world.call(close).await.expect("a page");
    let events = page.history.unwrap_or_default().events;
    assert_eq!(kinds(&events), ["WORKFLOW_EXECUTION_TERMINATED"]);
}
