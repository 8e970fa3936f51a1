//! Lists: by what others are called that a run belongs to, and in other orders.

use temporalio_protos::temporal::api::{
    command::v1::{Command, StartChildWorkflowExecutionCommandAttributes, command::Attributes},
    common::v1::WorkflowType,
    enums::v1::CommandType,
    workflowservice::v1::*,
};

use crate::world::{QUEUE, SPACE, World, complete, queue, start};

fn child(id: &str) -> Command {
    let child = StartChildWorkflowExecutionCommandAttributes {
        workflow_id: id.into(),
        workflow_type: Some(WorkflowType { name: "child".into() }),
        task_queue: Some(queue(QUEUE)),
        ..Default::default()
    };
    Command {
        command_type: CommandType::StartChildWorkflowExecution.into(),
        attributes: Some(Attributes::StartChildWorkflowExecutionCommandAttributes(child)),
        ..Default::default()
    }
}

async fn found(world: &World, query: &str) -> Vec<String> {
    let (mut ids, mut next_page_token) = (Vec::new(), Vec::new());
    loop {
        let list = ListWorkflowExecutionsRequest {
            namespace: SPACE.into(),
            query: query.into(),
            page_size: 1,
            next_page_token,
        };
        let page: ListWorkflowExecutionsResponse = world.call(list).await.expect(query);
        let runs = page.executions.into_iter().filter_map(|info| info.execution);
        ids.extend(runs.map(|run| run.workflow_id));
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            return ids;
        }
    }
}

/// A child is found by what its parent, and the run at the top, is called.
#[tokio::test]
async fn children_are_found_by_their_parents_name() {
    let world = World::new().await;
    world.start(start(SPACE, "top")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![child("below")]).await.expect("it is taken");
    // The child has a child of its own; the other turn tells the parent that it began.
    loop {
        let turn = world.turn(SPACE).await;
        let is_child = turn.workflow_type.as_ref().is_some_and(|named| named.name == "child");
        let commands = if is_child { vec![child("deep")] } else { Vec::new() };
        world.answer(SPACE, &turn, commands).await.expect("it is taken");
        if is_child {
            break;
        }
    }
    assert_eq!(found(&world, "ParentWorkflowId = 'top'").await, ["below"]);
    assert_eq!(found(&world, "ParentWorkflowId = 'below'").await, ["deep"]);
    let mut all = found(&world, "RootWorkflowId = 'top'").await;
    all.sort();
    assert_eq!(all, ["below", "deep", "top"]);
    assert_eq!(found(&world, "ParentWorkflowId IS NULL").await, ["top"]);
}

/// In the order of closing, page by page; open runs are the newest.
#[tokio::test]
async fn runs_are_listed_in_the_order_of_closing() {
    let world = World::new().await;
    for id in ["first", "second", "third"] {
        world.start(start(SPACE, id)).await;
    }
    let mut turns = Vec::new();
    for _ in 0..3 {
        turns.push(world.turn(SPACE).await);
    }
    for id in ["second", "first"] {
        let is_it = |turn: &&PollWorkflowTaskQueueResponse| {
            turn.workflow_execution.as_ref().is_some_and(|run| run.workflow_id == id)
        };
        let turn = turns.iter().find(is_it).expect("its turn");
        world.answer(SPACE, turn, vec![complete()]).await.expect("it is taken");
    }
    assert_eq!(found(&world, "ORDER BY CloseTime DESC").await, ["third", "first", "second"]);
    assert_eq!(found(&world, "ORDER BY CloseTime ASC").await, ["second", "first", "third"]);
    let closed = "ExecutionStatus = 'Completed' ORDER BY CloseTime ASC";
    assert_eq!(found(&world, closed).await, ["second", "first"]);
    assert_eq!(found(&world, "ORDER BY StartTime ASC").await, ["first", "second", "third"]);
    assert_eq!(found(&world, "ORDER BY ExecutionTime").await, ["third", "second", "first"]);
}
