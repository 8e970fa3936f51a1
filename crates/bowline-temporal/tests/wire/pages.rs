//! Histories in pages, forwards and backwards.

use temporalio_protos::temporal::api::{history::v1::HistoryEvent, workflowservice::v1::*};

use crate::world::{SPACE, World, kinds, named, start};

async fn forwards(world: &World, size: i32) -> Vec<HistoryEvent> {
    let (mut events, mut next_page_token) = (Vec::new(), Vec::new());
    loop {
        let page = GetWorkflowExecutionHistoryRequest {
            namespace: SPACE.into(),
            execution: Some(named("w")),
            maximum_page_size: size,
            next_page_token,
            ..Default::default()
        };
        let page: GetWorkflowExecutionHistoryResponse = world.call(page).await.expect("a page");
        events.extend(page.history.unwrap_or_default().events);
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            return events;
        }
    }
}

async fn backwards(world: &World, size: i32) -> Vec<HistoryEvent> {
    let (mut events, mut next_page_token) = (Vec::new(), Vec::new());
    loop {
        let page = GetWorkflowExecutionHistoryReverseRequest {
            namespace: SPACE.into(),
            execution: Some(named("w")),
            maximum_page_size: size,
            next_page_token,
        };
        let page: GetWorkflowExecutionHistoryReverseResponse =
            world.call(page).await.expect("a page");
        events.extend(page.history.unwrap_or_default().events);
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            return events;
        }
    }
}

/// However a history is cut, it is the same; and signals that nobody has taken in yet are in it.
#[tokio::test]
async fn a_history_is_the_same_in_pages_of_any_size() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    for number in 0..7 {
        let signal = SignalWorkflowExecutionRequest {
            namespace: SPACE.into(),
            workflow_execution: Some(named("w")),
            signal_name: format!("signal {number}"),
            request_id: number.to_string(),
            ..Default::default()
        };
        let _: SignalWorkflowExecutionResponse = world.call(signal).await.expect("it is open");
    }
    let whole = forwards(&world, 0).await;
    assert_eq!(whole.len(), 9, "{:?}", kinds(&whole));
    for size in [1, 2, 3, 8, 9, 10, 1_000] {
        assert_eq!(forwards(&world, size).await, whole, "pages of {size}");
        let mut back = backwards(&world, size).await;
        back.reverse();
        assert_eq!(back, whole, "pages of {size}, from the end");
    }
    world.terminate("w").await;
    let closed = forwards(&world, 4).await;
    assert_eq!(closed.len(), 10, "{:?}", kinds(&closed));
    let mut back = backwards(&world, 4).await;
    back.reverse();
    assert_eq!(back, closed);
}
