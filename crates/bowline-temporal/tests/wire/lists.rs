//! Lists: by what others are called that a run belongs to, and in other orders.

use temporalio_protos::temporal::api::{
    command::v1::{Command, StartChildWorkflowExecutionCommandAttributes, command::Attributes},
    common::v1::WorkflowType,
    enums::v1::CommandType,
    workflowservice::v1::*,
};

use crate::world::{QUEUE, SPACE, World, complete, named, queue, seconds, start};

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

/// What is delayed begins later than it was started: lists say so, and find and sort it by that.
#[tokio::test]
async fn a_delayed_run_is_listed_with_the_time_of_its_first_turn() {
    const YEARS: i64 = 60 * 365 * 24 * 3_600;
    let world = World::new().await;
    let delayed = StartWorkflowExecutionRequest {
        workflow_start_delay: Some(seconds(YEARS)),
        ..start(SPACE, "delayed")
    };
    world.start(delayed).await;
    world.start(start(SPACE, "plain")).await;
    let list = ListWorkflowExecutionsRequest { namespace: SPACE.into(), ..Default::default() };
    let page: ListWorkflowExecutionsResponse = world.call(list).await.expect("a list");
    for info in &page.executions {
        let id = &info.execution.as_ref().expect("its id").workflow_id;
        let begins = info.execution_time.as_ref().expect("it begins").seconds;
        let waits = begins - info.start_time.as_ref().expect("it was started").seconds;
        assert_eq!(waits, if id == "delayed" { YEARS } else { 0 }, "{id}");
    }
    assert_eq!(found(&world, "ORDER BY ExecutionTime ASC").await, ["plain", "delayed"]);
    assert_eq!(found(&world, "ORDER BY ExecutionTime DESC").await, ["delayed", "plain"]);
    assert_eq!(found(&world, "ORDER BY StartTime ASC").await, ["delayed", "plain"]);
    let described: DescribeWorkflowExecutionResponse = world
        .call(DescribeWorkflowExecutionRequest {
            namespace: SPACE.into(),
            execution: Some(named("delayed")),
        })
        .await
        .expect("it is there");
    let at = described.workflow_execution_info.expect("it is told").execution_time;
    let at = at.expect("it begins");
    let is_it = page.executions.iter().any(|info| info.execution_time.as_ref() == Some(&at));
    assert!(is_it, "a description says the same");
    let later = "ExecutionTime > '2070-01-01T00:00:00Z'";
    assert_eq!(found(&world, later).await, ["delayed"]);
    assert!(found(&world, &later.replace("Execution", "Start")).await.is_empty());
    // Closed runs are shown so, too.
    world.terminate("delayed").await;
    assert_eq!(found(&world, "ORDER BY ExecutionTime ASC").await, ["plain", "delayed"]);
}

/// Lists name the parent of a run, and the run at the top.
#[tokio::test]
async fn a_list_names_the_parent_of_a_child() {
    let world = World::new().await;
    let top = world.start(start(SPACE, "top")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![child("below")]).await.expect("it is taken");
    let list = ListWorkflowExecutionsRequest {
        namespace: SPACE.into(),
        query: "ParentWorkflowId = 'top'".into(),
        ..Default::default()
    };
    let page: ListWorkflowExecutionsResponse = world.call(list).await.expect("a list");
    let [below] = &page.executions[..] else { panic!("one child: {page:?}") };
    for named in [&below.parent_execution, &below.root_execution] {
        let named = named.as_ref().expect("it is named");
        assert_eq!((named.workflow_id.as_str(), &named.run_id), ("top", &top));
    }
}

/// Who terminates a run finds it closed: in lists, in counts, and by its id being free again.
#[tokio::test]
async fn a_terminated_run_is_closed_when_the_answer_comes() {
    let world = World::new().await;
    for round in 0..20 {
        let request_id = format!("start {round}");
        world.start(StartWorkflowExecutionRequest { request_id, ..start(SPACE, "w") }).await;
        // Also while a worker has its turn.
        if round % 2 == 0 {
            world.turn(SPACE).await;
        }
        world.terminate("w").await;
        assert!(found(&world, "ExecutionStatus = 'Running'").await.is_empty(), "round {round}");
    }
    let again = TerminateWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(named("w")),
        ..Default::default()
    };
    let refused = world.call::<_, TerminateWorkflowExecutionResponse>(again).await;
    assert_eq!(refused.expect_err("it is closed").code(), tonic::Code::NotFound);
}

/// What a run does not have is neither more nor less than anything: only `IS NULL` finds it.
#[tokio::test]
async fn a_field_that_a_run_lacks_is_not_compared() {
    let world = World::new().await;
    world.start(start(SPACE, "closed")).await;
    world.terminate("closed").await;
    world.start(start(SPACE, "open")).await;
    assert!(found(&world, "CloseTime <= '2020-01-01T00:00:00Z'").await.is_empty());
    assert_eq!(found(&world, "CloseTime >= '2020-01-01T00:00:00Z'").await, ["closed"]);
    assert!(found(&world, "NOT CloseTime >= '2020-01-01T00:00:00Z'").await.is_empty());
    assert_eq!(found(&world, "ExecutionDuration >= 0").await, ["closed"]);
    assert!(found(&world, "Missing >= 1 OR Missing <= 1").await.is_empty());
    assert_eq!(found(&world, "CloseTime IS NULL").await, ["open"]);
}

/// Times and spans in all forms that clients write.
#[tokio::test]
async fn spans_and_times_are_read_in_every_form() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    world.terminate("w").await;
    for query in [
        "ExecutionDuration < '10h5m0.5s'",
        "ExecutionDuration < '10:00:00'",
        "ExecutionDuration < 36000000000000",
        "ExecutionDuration >= '0s'",
        "StartTime > 1577836800000000000",
        "CloseTime > '2020-01-01T00:00:00+02:00'",
    ] {
        assert_eq!(found(&world, query).await, ["w"], "{query}");
    }
    for query in ["ExecutionDuration > '10h'", "ExecutionDuration > '10:00:00'"] {
        assert!(found(&world, query).await.is_empty(), "{query}");
    }
}

/// What cannot be compared is refused, and neither matches everything nor nothing.
#[tokio::test]
async fn a_value_that_does_not_read_is_refused() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    for (query, says) in [
        ("StartTime >= 'yesterday'", "StartTime"),
        ("CloseTime <= 'never'", "CloseTime"),
        ("ExecutionTime BETWEEN '2020-01-01T00:00:00Z' AND 'x'", "ExecutionTime"),
        ("ExecutionDuration > 'long'", "ExecutionDuration"),
        ("HistoryLength >= 'many'", "HistoryLength"),
        ("HistorySizeBytes != 'big'", "HistorySizeBytes"),
        ("ExecutionStatus = 'Walking'", "Walking"),
        ("ExecutionStatus != 'Walking'", "Walking"),
        ("ExecutionStatus IN ('Running', 'Walking')", "Walking"),
        ("StateTransitionCount > 1", "StateTransitionCount"),
        ("BuildIds = 'x'", "BuildIds"),
        ("workflowid = 'w'", "WorkflowId"),
        ("StartTime STARTS_WITH '2020'", "StartTime"),
    ] {
        let list = ListWorkflowExecutionsRequest {
            namespace: SPACE.into(),
            query: query.into(),
            ..Default::default()
        };
        let answer: Result<ListWorkflowExecutionsResponse, _> = world.call(list).await;
        let status = answer.expect_err(query);
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{query}: {status}");
        assert!(status.message().contains(says), "{query}: {status}");
    }
}
