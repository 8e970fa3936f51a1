//! What a request asks, out of its bytes: the fields that every request has under the same names.

use std::sync::LazyLock;

use bowline_access::{Asked, Caller, Right};
use prost::{Name, encoding};

use crate::bound::{Content, Fields, Shape, shape};

/// What is looked for in requests of one kind: the numbers of fields, where they have them.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    namespace: Option<u32>,
    /// Namespaces may be described by their id.
    id: Option<u32>,
    identity: Option<u32>,
    /// Of an update, who asks stands in a part of a part.
    nested_identity: Option<[u32; 3]>,
    request_id: Option<u32>,
    target: Option<u32>,
    /// The part that names a run, by its first field.
    run: Option<u32>,
    reuse: Option<u32>,
    conflict: Option<u32>,
}

/// How a start says that it takes another run's place.
const TERMINATE_IF_RUNNING: u64 = 4;
const TERMINATE_EXISTING: u64 = 3;

impl Plan {
    fn of(shape: &Shape) -> Self {
        let field = |name: &str| shape.field(name);
        let nested = || {
            let (request, asked) = (field("request")?, shape.part("request")?);
            let (meta, said) = (asked.field("meta")?, asked.part("meta")?);
            Some([request, meta, said.field("identity")?])
        };
        let run = ["workflow_execution", "execution"].iter().find_map(|name| {
            let names_a_run = shape.part(name)?.field("workflow_id") == Some(1);
            if names_a_run { field(name) } else { None }
        });
        Self {
            namespace: field("namespace"),
            id: shape.name.ends_with(".DescribeNamespaceRequest").then(|| field("id")).flatten(),
            identity: field("identity"),
            nested_identity: nested(),
            request_id: field("request_id"),
            target: ["workflow_id", "schedule_id", "activity_id"]
                .iter()
                .find_map(|name| field(name)),
            run,
            reuse: field("workflow_id_reuse_policy"),
            conflict: field("workflow_id_conflict_policy"),
        }
    }
}

static PLANS: LazyLock<Vec<Plan>> =
    LazyLock::new(|| crate::bound::shapes().iter().map(Plan::of).collect());

/// What one request is about.
#[derive(Debug, Default)]
pub(super) struct Subject<'a> {
    namespace: &'a str,
    target: &'a str,
    said: &'a str,
    request_id: &'a str,
    takes_place: bool,
    plan: Plan,
}

impl<'a> Subject<'a> {
    /// Reads it. Where a field comes twice the last one counts, as for whoever reads it all.
    pub(super) fn of<M: Name>(bytes: &'a [u8]) -> Self {
        let Some(plan) = shape::<M>().and_then(|place| PLANS.get(place)) else {
            return Self::default();
        };
        let mut subject = Self { plan: *plan, ..Self::default() };
        let mut id = "";
        for (number, value) in Fields(bytes) {
            let number = Some(number);
            match value {
                Content::Bytes(bytes) => {
                    let text = || std::str::from_utf8(bytes).unwrap_or_default();
                    if number == plan.namespace {
                        subject.namespace = text();
                    } else if number == plan.id {
                        id = text();
                    } else if number == plan.identity {
                        subject.said = text();
                    } else if number == plan.request_id {
                        subject.request_id = text();
                    } else if number == plan.target {
                        subject.target = text();
                    } else if number == plan.run {
                        subject.target = within(bytes, &[1]).unwrap_or(subject.target);
                    } else if let Some([request, meta, identity]) = plan.nested_identity
                        && number == Some(request)
                    {
                        subject.said = within(bytes, &[meta, identity]).unwrap_or(subject.said);
                    }
                }
                Content::Number(said) => {
                    subject.takes_place |= (number == plan.reuse && said == TERMINATE_IF_RUNNING)
                        || (number == plan.conflict && said == TERMINATE_EXISTING);
                }
                Content::Other => {}
            }
        }
        if subject.namespace.is_empty() {
            subject.namespace = id;
        }
        subject
    }

    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            namespace: self.namespace,
            target: self.target,
            said: self.said,
            request_id: self.request_id,
            also: self.takes_place.then_some(Right::Terminate),
        }
    }

    /// The field that says who asks, with the caller's own name.
    pub(super) fn signature(&self, caller: &Caller) -> Vec<u8> {
        let signed = caller.signs(self.said);
        let mut bytes = Vec::new();
        if let Some(number) = self.plan.identity {
            encoding::string::encode(number, &signed, &mut bytes);
        } else if let Some([request, meta, identity]) = self.plan.nested_identity {
            encoding::string::encode(identity, &signed, &mut bytes);
            for number in [meta, request] {
                let inner = std::mem::take(&mut bytes);
                encoding::bytes::encode(number, &inner, &mut bytes);
            }
        }
        bytes
    }
}

/// The last text at a path of fields.
fn within<'a>(bytes: &'a [u8], path: &[u32]) -> Option<&'a str> {
    let Some((first, rest)) = path.split_first() else { return std::str::from_utf8(bytes).ok() };
    let mut found = None;
    for (number, value) in Fields(bytes) {
        if let Content::Bytes(inner) = value
            && number == *first
        {
            found = within(inner, rest).or(found);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bowline_access::{How, Need, Reach};
    use prost::Message;
    use temporalio_protos::temporal::api::{
        common::v1::WorkflowExecution,
        update::v1::{Meta, Request},
        workflowservice::v1::*,
    };

    use super::*;

    fn subject<M: Name>(message: &M, check: impl FnOnce(Subject<'_>)) {
        check(Subject::of::<M>(&message.encode_to_vec()));
    }

    #[test]
    fn what_is_asked_is_found_wherever_it_stands() {
        let start = StartWorkflowExecutionRequest {
            namespace: "orders".into(),
            workflow_id: "order-1".into(),
            identity: "me".into(),
            request_id: "r".into(),
            ..Default::default()
        };
        subject(&start, |found| {
            assert_eq!((found.namespace, found.target), ("orders", "order-1"));
            assert_eq!((found.said, found.request_id), ("me", "r"));
            assert_eq!(found.asked().also, None);
        });
        let reuse = StartWorkflowExecutionRequest { workflow_id_reuse_policy: 4, ..start.clone() };
        subject(&reuse, |found| assert_eq!(found.asked().also, Some(Right::Terminate)));
        let conflict = StartWorkflowExecutionRequest { workflow_id_conflict_policy: 3, ..start };
        subject(&conflict, |found| assert_eq!(found.asked().also, Some(Right::Terminate)));
        let run = WorkflowExecution { workflow_id: "order-1".into(), run_id: "x".into() };
        let cancel = RequestCancelWorkflowExecutionRequest {
            namespace: "orders".into(),
            workflow_execution: Some(run),
            ..Default::default()
        };
        subject(&cancel, |found| assert_eq!(found.target, "order-1"));
        let done = RespondActivityTaskCompletedRequest {
            namespace: "orders".into(),
            ..Default::default()
        };
        subject(&done, |found| assert_eq!(found.namespace, "orders"));
        let described = DescribeNamespaceRequest { id: "an-id".into(), ..Default::default() };
        subject(&described, |found| assert_eq!(found.namespace, "an-id"));
    }

    /// Every call that is held to a namespace has one in its request.
    #[test]
    fn every_request_that_needs_a_namespace_has_one() {
        let (service, rows) = crate::access::ROWS[0];
        for row in rows.iter().filter(|row| row.reach == Reach::Named) {
            let package = service.trim_end_matches(".WorkflowService");
            let name = format!("{package}.{}Request", row.call);
            let shapes = crate::bound::shapes();
            let found = shapes.iter().find(|shape| shape.name == name);
            let found = found.unwrap_or_else(|| panic!("{name} has no shape"));
            assert!(found.field("namespace").is_some(), "{name} names no namespace");
            assert_ne!(row.need, Need::Nothing);
        }
    }

    /// Whoever says a namespace twice is held to the one that is used.
    #[test]
    fn the_last_word_counts() {
        let mut bytes = Vec::new();
        encoding::string::encode(1, &"mine".to_owned(), &mut bytes);
        encoding::string::encode(1, &"yours".to_owned(), &mut bytes);
        let found = Subject::of::<StartWorkflowExecutionRequest>(&bytes);
        let read = StartWorkflowExecutionRequest::decode(&*bytes).expect("it reads");
        assert_eq!((found.namespace, read.namespace.as_str()), ("yours", "yours"));
    }

    #[test]
    fn who_asks_is_written_over_what_was_said() {
        let caller = Caller::new(How::Key, "deploy", Arc::default());
        let cancel = RequestCancelWorkflowExecutionRequest {
            identity: "root".into(),
            reason: "kept".into(),
            ..Default::default()
        };
        let mut bytes = cancel.encode_to_vec();
        let signature =
            Subject::of::<RequestCancelWorkflowExecutionRequest>(&bytes).signature(&caller);
        bytes.extend(signature);
        let read = RequestCancelWorkflowExecutionRequest::decode(&*bytes).expect("it reads");
        assert_eq!(
            (read.identity.as_str(), read.reason.as_str()),
            ("key:deploy (said root)", "kept")
        );
        let meta = Meta { update_id: "u".into(), identity: "root".into() };
        let asked = Request { meta: Some(meta), ..Default::default() };
        let update = UpdateWorkflowExecutionRequest { request: Some(asked), ..Default::default() };
        let mut bytes = update.encode_to_vec();
        let signature = Subject::of::<UpdateWorkflowExecutionRequest>(&bytes).signature(&caller);
        bytes.extend(signature);
        let read = UpdateWorkflowExecutionRequest::decode(&*bytes).expect("it reads");
        let meta = read.request.and_then(|asked| asked.meta).expect("it is there");
        assert_eq!(
            (meta.identity.as_str(), meta.update_id.as_str()),
            ("key:deploy (said root)", "u")
        );
    }
}
