//! Each bound, just kept and just passed.

use temporalio_protos::temporal::api::{
    command::v1::Command,
    common::v1::{Header, Link, Memo, Payload, Payloads},
    failure::v1::Failure,
    sdk::v1::UserMetadata,
    workflowservice::v1::*,
};

use super::*;

fn looked_at<M: Name>(message: &M) -> Result<Weight, OverBound> {
    weigh::<M>(&message.encode_to_vec())
}

#[test]
fn every_request_has_a_shape() {
    let names: Vec<_> = SHAPES.iter().map(|shape| shape.name).collect();
    assert!(names.is_sorted(), "or they are not found");
    assert_eq!(weigh::<GetSystemInfoRequest>(&[]), Ok(Weight::default()));
    assert_eq!(weigh::<crate::stubs::health::HealthCheckRequest>(&[]), Ok(Weight::default()));
}

#[test]
fn a_long_text_is_named() {
    let poll = |identity: usize| PollWorkflowTaskQueueRequest {
        identity: "x".repeat(identity),
        ..Default::default()
    };
    assert!(looked_at(&poll(limits::TEXT)).is_ok());
    let long = looked_at(&poll(limits::TEXT + 1));
    assert_eq!(long, Err(OverBound::Long("identity", limits::TEXT + 1, limits::TEXT)));
    let list =
        ListWorkflowExecutionsRequest { query: "x".repeat(limits::TEXT + 1), ..Default::default() };
    assert!(looked_at(&list).is_ok(), "a query may be longer");
}

#[test]
fn maps_and_links_have_so_many_entries() {
    let field = |number: usize| (number.to_string(), Payload::default());
    let start = |fields: usize| StartWorkflowExecutionRequest {
        memo: Some(Memo { fields: (0..fields).map(field).collect() }),
        ..Default::default()
    };
    assert!(looked_at(&start(limits::MAP)).is_ok());
    assert_eq!(looked_at(&start(limits::MAP + 1)), Err(OverBound::Many("fields", limits::MAP)));
    let linked = |links: usize| StartWorkflowExecutionRequest {
        links: vec![Link::default(); links],
        ..Default::default()
    };
    assert!(looked_at(&linked(limits::LINKS)).is_ok());
    let many = looked_at(&linked(limits::LINKS + 1));
    assert_eq!(many, Err(OverBound::Many("links", limits::LINKS)));
}

#[test]
fn what_histories_keep_is_weighed() {
    let payload = |bytes: usize| Payload { data: vec![0; bytes], ..Default::default() };
    let start = StartWorkflowExecutionRequest {
        input: Some(Payloads { payloads: vec![payload(10_000), payload(10_000)] }),
        header: Some(Header { fields: [("h".to_owned(), payload(30_000))].into() }),
        ..Default::default()
    };
    let blob = looked_at(&start).expect("it is fine").blob;
    assert!((30_000..30_100).contains(&blob), "{blob}");
    let said = |summary: usize| StartWorkflowExecutionRequest {
        user_metadata: Some(UserMetadata { summary: Some(payload(summary)), details: None }),
        ..Default::default()
    };
    assert!(looked_at(&said(400)).is_ok());
    assert!(matches!(looked_at(&said(2_000)), Err(OverBound::Long("summary", ..))));
}

/// A worker whose code fails with a long word, or asks for something with a long name, is answered
/// by the rules: the attempt or the turn is over then, and not tried again for ever.
#[test]
fn what_workers_decide_is_left_to_the_rules() {
    let failure = Failure { message: "x".repeat(1 << 20), ..Default::default() };
    let failed = RespondActivityTaskFailedRequest { failure: Some(failure), ..Default::default() };
    assert!(looked_at(&failed).is_ok());
    let commands = vec![Command::default(); limits::PARTS + 1];
    let many = RespondWorkflowTaskCompletedRequest { commands, ..Default::default() };
    assert_eq!(looked_at(&many), Err(OverBound::Parts), "but not in any number");
}

#[test]
fn what_does_not_read_is_not_read() {
    for bytes in [&[0x0a][..], &[0x0a, 0x05, 1], &[0x0b], &[0xff; 12], &[0x08]] {
        assert_eq!(weigh::<GetSystemInfoRequest>(bytes), Err(OverBound::Unreadable), "{bytes:?}");
    }
}
