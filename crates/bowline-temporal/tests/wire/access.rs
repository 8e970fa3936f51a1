//! Who asked, as it is written down: by what they have shown, and not by what they say.

use std::path::PathBuf;

use bowline_access::{Access, Audit, KeyFile};
use bowline_engine::store::memory::MemoryStore;
use bowline_temporal::Protection;
use prost::{Message, Name};
use temporalio_protos::temporal::api::{
    history::v1::history_event::Attributes, workflowservice::v1::*,
};
use tonic::{Code, Request, Status};

use crate::world::{QUEUE, SPACE, World, complete, named, queue, schedule, seconds, start};

/// A server that asks for keys, and who has some.
struct House {
    world: World,
    keys: PathBuf,
    audit: PathBuf,
    _folder: tempfile::TempDir,
}

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [keys, audit] = ["keys.json", "audit.jsonl"].map(|name| folder.path().join(name));
        std::fs::write(&keys, "{}").expect("it is written");
        let access = Access::builder().keys(&keys).expect("it reads");
        let access = access.audit(Audit::to_file(&audit).expect("it opens")).build();
        let protection = Protection { access: Some(access), tls: None };
        let world = World::protected(MemoryStore::new(), protection).await;
        Self { world, keys, audit, _folder: folder }
    }

    fn key(&self, name: &str, permissions: &[&str]) -> String {
        let permissions: Vec<_> = permissions.iter().map(|&one| one.to_owned()).collect();
        let mut file = KeyFile::open(&self.keys).expect("it opens");
        file.make(name, &permissions, None).expect("a key").key
    }

    async fn call<Q, A>(&self, key: &str, request: Q) -> Result<A, Status>
    where
        Q: Message + Name + 'static,
        A: Message + Default + 'static,
    {
        let mut request = Request::new(request);
        let value = format!("Bearer {key}").parse().expect("a value");
        request.metadata_mut().insert("authorization", value);
        self.world.send(request).await.map(tonic::Response::into_inner)
    }

    async fn start(&self, key: &str, id: &str) -> StartWorkflowExecutionResponse {
        let start = StartWorkflowExecutionRequest { identity: "root".into(), ..start(SPACE, id) };
        self.call(key, start).await.expect("it starts")
    }

    async fn cancel(&self, key: &str, id: &str) -> Result<(), Status> {
        let cancel = RequestCancelWorkflowExecutionRequest {
            namespace: SPACE.into(),
            workflow_execution: Some(named(id)),
            identity: "the president".into(),
            reason: "over".into(),
            ..Default::default()
        };
        let done: Result<RequestCancelWorkflowExecutionResponse, _> = self.call(key, cancel).await;
        done.map(drop)
    }

    async fn terminate(&self, key: &str, id: &str) -> Result<(), Status> {
        let terminate = TerminateWorkflowExecutionRequest {
            namespace: SPACE.into(),
            workflow_execution: Some(named(id)),
            identity: "the president".into(),
            ..Default::default()
        };
        let done: Result<TerminateWorkflowExecutionResponse, _> = self.call(key, terminate).await;
        done.map(drop)
    }

    /// Who is said to have done what in a history.
    async fn signed(&self, key: &str, id: &str) -> Vec<String> {
        let page = GetWorkflowExecutionHistoryRequest {
            namespace: SPACE.into(),
            execution: Some(named(id)),
            ..Default::default()
        };
        let page: GetWorkflowExecutionHistoryResponse =
            self.call(key, page).await.expect("a history");
        let events = page.history.unwrap_or_default().events;
        let signed = events.into_iter().filter_map(|event| {
            Some(match event.attributes? {
                Attributes::WorkflowExecutionStartedEventAttributes(of) => of.identity,
                Attributes::WorkflowExecutionSignaledEventAttributes(of) => of.identity,
                Attributes::WorkflowExecutionCancelRequestedEventAttributes(of) => of.identity,
                Attributes::WorkflowExecutionTerminatedEventAttributes(of) => of.identity,
                _ => return None,
            })
        });
        signed.collect()
    }

    /// The lines of the audit log: who, what, to what, and how it went.
    fn lines(&self) -> Vec<(String, String, String, String)> {
        let text = std::fs::read_to_string(&self.audit).expect("it reads");
        let line = |line| {
            let read: serde_json::Value = serde_json::from_str(line).expect("an object");
            let field = |name: &str| read[name].as_str().unwrap_or("-").to_owned();
            (field("who"), field("verb"), field("target"), field("outcome"))
        };
        text.lines().map(line).collect()
    }
}

fn line(who: &str, verb: &str, target: &str, outcome: &str) -> (String, String, String, String) {
    let [who, verb, target, outcome] = [who, verb, target, outcome].map(str::to_owned);
    (who, verb, target, outcome)
}

/// Anybody could sign a cancel with anybody's name.
#[tokio::test]
async fn who_asked_is_who_has_shown_it_and_not_who_says_so() {
    let house = House::new().await;
    let alice = house.key("alice", &["default:write"]);
    house.start(&alice, "w").await;
    house.cancel(&alice, "w").await.expect("it is taken");
    house.terminate(&alice, "w").await.expect("it ends");
    let signed = house.signed(&alice, "w").await;
    let president = "key:alice (said the president)";
    assert_eq!(signed, ["key:alice (said root)", president, president]);
    let head = house.world.engine.current("w").await.expect("it is there");
    let (_, state) = house.world.engine.state(head.run).await.expect("it is there");
    let cause = format!("{:?}", state.cancel);
    assert!(cause.contains(president), "{cause}");
    assert_eq!(
        house.lines(),
        [
            line("key:alice", "StartWorkflowExecution", "w", "allowed"),
            line("key:alice", "RequestCancelWorkflowExecution", "w", "allowed"),
            line("key:alice", "TerminateWorkflowExecution", "w", "allowed"),
        ]
    );
}

#[tokio::test]
async fn whoever_may_cancel_may_cancel_their_own() {
    let house = House::new().await;
    let alice = house.key("alice", &["default:start", "default:cancel"]);
    let bob = house.key("bob", &["default:start", "default:cancel"]);
    let carol = house.key("carol", &["default:cancel_others"]);
    house.start(&alice, "w").await;
    house.start(&alice, "x").await;
    let refused = house.cancel(&bob, "w").await.expect_err("it is not his");
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert!(refused.message().contains("cancel_others"), "{refused}");
    let head = house.world.engine.current("w").await.expect("it is there");
    let (_, state) = house.world.engine.state(head.run).await.expect("it is there");
    assert!(state.cancel.is_none(), "nothing has happened to it");
    house.cancel(&alice, "w").await.expect("it is hers");
    house.cancel(&carol, "x").await.expect("she may");
    let lines = house.lines();
    assert!(lines.contains(&line("key:bob", "RequestCancelWorkflowExecution", "w", "refused")));
    let missing = house.cancel(&carol, "nothing").await.expect_err("there is none");
    assert_eq!(missing.code(), Code::NotFound);
    let failed = line("key:carol", "RequestCancelWorkflowExecution", "nothing", "failed");
    assert_eq!(house.lines().last(), Some(&failed));
}

/// A start that takes another run's place terminates that one.
#[tokio::test]
async fn whoever_may_start_may_not_terminate_by_it() {
    let house = House::new().await;
    let key = house.key("starter", &["default:start"]);
    let first = house.start(&key, "w").await;
    for (reuse, conflict) in [(4, 0), (0, 3)] {
        let again = StartWorkflowExecutionRequest {
            workflow_id_reuse_policy: reuse,
            workflow_id_conflict_policy: conflict,
            request_id: "again".into(),
            ..start(SPACE, "w")
        };
        let again: Result<StartWorkflowExecutionResponse, _> = house.call(&key, again).await;
        assert_eq!(again.expect_err("it would end one").code(), Code::PermissionDenied);
    }
    let head = house.world.engine.current("w").await.expect("it is there");
    assert!(head.status.is_open() && head.run.to_string() == first.run_id);
}

/// A worker's token opens nothing but what its namespace has, whatever rights its bearer has.
#[tokio::test]
async fn work_of_one_namespace_is_not_answered_in_another() {
    let house = House::new().await;
    let root = house.key("root", &["*:admin"]);
    let register = RegisterNamespaceRequest {
        namespace: "other".into(),
        workflow_execution_retention_period: Some(seconds(86_400)),
        ..Default::default()
    };
    let _: RegisterNamespaceResponse = house.call(&root, register).await.expect("it is made");
    let here = house.key("here", &["default:worker", "default:start"]);
    let there = house.key("there", &["other:worker"]);
    house.start(&here, "w").await;
    let poll = PollWorkflowTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        ..Default::default()
    };
    let turn: PollWorkflowTaskQueueResponse = house.call(&here, poll).await.expect("a turn");
    let answer = |space: &str| RespondWorkflowTaskCompletedRequest {
        namespace: space.into(),
        task_token: turn.task_token.clone(),
        commands: vec![schedule("a"), complete()],
        ..Default::default()
    };
    for (key, space, code) in [
        (&there, "other", Code::InvalidArgument),
        (&there, SPACE, Code::PermissionDenied),
        (&here, "other", Code::PermissionDenied),
        (&root, "other", Code::InvalidArgument),
    ] {
        let done: Result<RespondWorkflowTaskCompletedResponse, _> =
            house.call(key, answer(space)).await;
        assert_eq!(done.expect_err("it is foreign").code(), code, "{space}");
    }
    assert!(house.world.engine.current("w").await.expect("it is there").status.is_open());
    // Who may see one of them sees that one.
    let list = ListNamespacesRequest::default();
    let seen: ListNamespacesResponse = house.call(&there, list).await.expect("a list");
    let seen: Vec<_> = seen.namespaces.into_iter().flat_map(|one| one.namespace_info).collect();
    assert_eq!(seen.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["other"]);
}

/// What cannot be written down is not done.
#[tokio::test]
async fn without_an_audit_log_nothing_is_changed() {
    let house = House::new().await;
    let alice = house.key("alice", &["default:write"]);
    house.start(&alice, "w").await;
    std::fs::remove_file(&house.audit).expect("it is removed");
    std::fs::create_dir(&house.audit).expect("something else has its name");
    let refused = house.terminate(&alice, "w").await.expect_err("nobody would know");
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(house.world.engine.current("w").await.expect("it is there").status.is_open());
    house.signed(&alice, "w").await;
    std::fs::remove_dir(&house.audit).expect("it is removed");
    house.terminate(&alice, "w").await.expect("it is written down");
}

/// A key that is revoked opens nothing from then on, on a connection that was open before.
#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let house = House::new().await;
    let alice = house.key("alice", &["default:write"]);
    house.start(&alice, "w").await;
    let id = alice.split('_').nth(1).expect("an id");
    let mut file = KeyFile::open(&house.keys).expect("it opens");
    assert!(file.revoke(id).expect("it is written"));
    let refused = house.terminate(&alice, "w").await.expect_err("it is revoked");
    assert_eq!(refused.code(), Code::Unauthenticated);
}
