//! Several namespaces in one server: registered, changed, and kept apart.

use temporalio_protos::temporal::api::{
    namespace::v1::{NamespaceConfig, UpdateNamespaceInfo},
    workflowservice::v1::*,
};
use tonic::{Code, Status};

use crate::world::{SPACE, World, complete, details, named, queue, schedule, seconds, start};

fn register(name: &str) -> RegisterNamespaceRequest {
    RegisterNamespaceRequest {
        namespace: name.into(),
        description: "of the tests".into(),
        workflow_execution_retention_period: Some(seconds(3 * 24 * 3600)),
        ..Default::default()
    }
}

async fn registered(world: &World, name: &str) {
    let _: RegisterNamespaceResponse = world.call(register(name)).await.expect("its name is free");
}

async fn describe(world: &World, name: &str) -> Result<DescribeNamespaceResponse, Status> {
    world.call(DescribeNamespaceRequest { namespace: name.into(), ..Default::default() }).await
}

async fn names(world: &World, page_size: i32) -> Vec<String> {
    let (mut names, mut next_page_token) = (Vec::new(), Vec::new());
    loop {
        let ask = ListNamespacesRequest { page_size, next_page_token, ..Default::default() };
        let page: ListNamespacesResponse = world.call(ask).await.expect("a page");
        let infos = page.namespaces.into_iter().filter_map(|space| space.namespace_info);
        names.extend(infos.map(|info| info.name));
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            return names;
        }
    }
}

/// Temporal's tools count on a span, also where runs are kept for ever.
#[tokio::test]
async fn a_namespace_that_keeps_runs_for_ever_says_for_how_long() {
    let world = World::new().await;
    let told = describe(&world, SPACE).await.expect("it is there");
    let kept = told.config.and_then(|config| config.workflow_execution_retention_ttl);
    let kept = kept.expect("a span");
    assert!(kept.seconds >= 100 * 365 * 24 * 3600, "{kept:?}");
    // What was told can be said back, as tools do that change something else.
    let change = UpdateNamespaceRequest {
        namespace: SPACE.into(),
        config: Some(NamespaceConfig {
            workflow_execution_retention_ttl: Some(kept),
            ..Default::default()
        }),
        ..Default::default()
    };
    let changed: UpdateNamespaceResponse = world.call(change).await.expect("it is taken");
    let told = changed.config.and_then(|config| config.workflow_execution_retention_ttl);
    assert_eq!(told, Some(kept));
}

/// A namespace is there after it is registered, and after the server was closed and began again.
#[tokio::test]
async fn a_namespace_is_registered_for_good() {
    let world = World::new().await;
    registered(&world, "other").await;
    let twice: Result<RegisterNamespaceResponse, _> = world.call(register("other")).await;
    let twice = twice.expect_err("its name is taken");
    assert_eq!(twice.code(), Code::AlreadyExists);
    assert_eq!(details(&twice), ["NamespaceAlreadyExistsFailure"]);
    let before = describe(&world, "other").await.expect("it is there");
    let world = world.restart().await;
    assert_eq!(describe(&world, "other").await.expect("it is there"), before);
    let info = before.namespace_info.expect("it is described");
    assert_eq!((info.name.as_str(), info.description.as_str()), ("other", "of the tests"));
    let kept = before.config.and_then(|config| config.workflow_execution_retention_ttl);
    assert_eq!(kept, Some(seconds(3 * 24 * 3600)));
    let by_id = DescribeNamespaceRequest { id: info.id, ..Default::default() };
    let by_id: DescribeNamespaceResponse = world.call(by_id).await.expect("it has that id");
    assert_eq!(by_id.namespace_info.expect("it is described").name, "other");
    registered(&world, "a third").await;
    for page in [0, 1, 2, 3] {
        assert_eq!(names(&world, page).await, ["a third", SPACE, "other"], "pages of {page}");
    }
}

/// What an update says changes; what it does not say stays.
#[tokio::test]
async fn a_namespace_is_changed() {
    let world = World::new().await;
    registered(&world, "other").await;
    let update = |config, info| UpdateNamespaceRequest {
        namespace: "other".into(),
        config,
        update_info: info,
        ..Default::default()
    };
    let kept = |hours: i64| NamespaceConfig {
        workflow_execution_retention_ttl: Some(seconds(hours * 3600)),
        ..Default::default()
    };
    let owner = UpdateNamespaceInfo { owner_email: "o@example".into(), ..Default::default() };
    let _: UpdateNamespaceResponse =
        world.call(update(Some(kept(5)), Some(owner))).await.expect("it is changed");
    let found = describe(&world, "other").await.expect("it is there");
    let info = found.namespace_info.expect("it is described");
    assert_eq!(
        (info.owner_email.as_str(), info.description.as_str()),
        ("o@example", "of the tests")
    );
    assert_eq!(found.config, describe(&world, "other").await.expect("it is there").config);
    let ttl = found.config.and_then(|config| config.workflow_execution_retention_ttl);
    assert_eq!(ttl, Some(seconds(5 * 3600)));
    let short: Result<UpdateNamespaceResponse, _> = world.call(update(Some(kept(0)), None)).await;
    assert_eq!(short.expect_err("it is too short").code(), Code::InvalidArgument);
}

/// A namespace that nobody has registered is not found, whatever is asked of it.
#[tokio::test]
async fn an_unknown_namespace_is_named_in_the_details() {
    let world = World::new().await;
    let missing = |status: Status| {
        assert_eq!(
            (status.code(), details(&status)),
            (Code::NotFound, vec!["NamespaceNotFoundFailure".to_owned()])
        );
    };
    missing(describe(&world, "nowhere").await.expect_err("there is none"));
    let begun: Result<StartWorkflowExecutionResponse, _> = world.call(start("nowhere", "w")).await;
    missing(begun.expect_err("there is none"));
    let poll = PollActivityTaskQueueRequest {
        namespace: "nowhere".into(),
        task_queue: Some(queue("q")),
        ..Default::default()
    };
    let polled: Result<PollActivityTaskQueueResponse, _> = world.call(poll).await;
    missing(polled.expect_err("there is none"));
    for wrong in [
        register(""),
        register(&"n".repeat(1_001)),
        RegisterNamespaceRequest { workflow_execution_retention_period: None, ..register("x") },
        RegisterNamespaceRequest { is_global_namespace: true, ..register("x") },
    ] {
        let refused: Result<RegisterNamespaceResponse, _> = world.call(wrong).await;
        assert_eq!(refused.expect_err("it is not acceptable").code(), Code::InvalidArgument);
    }
    assert_eq!(names(&world, 0).await, [SPACE]);
}

/// The same workflow id and the same queue in two namespaces: nobody sees, takes or answers what
/// belongs to the other.
#[tokio::test]
async fn namespaces_are_kept_apart() {
    let world = World::new().await;
    registered(&world, "other").await;
    let here = world.start(start(SPACE, "w")).await;
    let there = world.start(start("other", "w")).await;
    assert_ne!(here, there);
    let turn = world.turn("other").await;
    assert_eq!(turn.workflow_execution.as_ref().expect("a run").run_id, there);
    let stolen = world.answer(SPACE, &turn, vec![complete()]).await;
    assert_eq!(stolen.expect_err("it is of another namespace").code(), Code::InvalidArgument);
    world.answer("other", &turn, vec![schedule("a")]).await.expect("it is its own");
    let poll = |space: &str| PollActivityTaskQueueRequest {
        namespace: space.into(),
        task_queue: Some(queue(crate::world::QUEUE)),
        identity: "worker".into(),
        ..Default::default()
    };
    let taken: PollActivityTaskQueueResponse = world.call(poll("other")).await.expect("a poll");
    assert_eq!(taken.workflow_namespace, "other");
    let done = |space: &str| RespondActivityTaskCompletedRequest {
        namespace: space.into(),
        task_token: taken.task_token.clone(),
        ..Default::default()
    };
    let stolen: Result<RespondActivityTaskCompletedResponse, _> = world.call(done(SPACE)).await;
    assert_eq!(stolen.expect_err("it is of another namespace").code(), Code::InvalidArgument);
    let _: RespondActivityTaskCompletedResponse =
        world.call(done("other")).await.expect("it is its own");
    // The turn that follows shows that messages of this namespace are taken in too.
    let turn = world.turn("other").await;
    world.answer("other", &turn, vec![complete()]).await.expect("it is its own");
    let look = |space: &str| DescribeWorkflowExecutionRequest {
        namespace: space.into(),
        execution: Some(named("w")),
    };
    for (space, run, is_open) in [(SPACE, &here, true), ("other", &there, false)] {
        let shown: DescribeWorkflowExecutionResponse = world.call(look(space)).await.expect("it");
        let info = shown.workflow_execution_info.expect("it is described");
        assert_eq!(
            (&info.execution.expect("a run").run_id, info.close_time.is_none()),
            (run, is_open)
        );
        let list = ListWorkflowExecutionsRequest { namespace: space.into(), ..Default::default() };
        let listed: ListWorkflowExecutionsResponse = world.call(list).await.expect("a list");
        assert_eq!(listed.executions.len(), 1);
    }
}
