//! Search attributes are registered, listed and taken away.

use temporalio_protos::temporal::api::{
    enums::v1::IndexedValueType, operatorservice::v1::*, workflowservice::v1::*,
};
use tonic::{Code, Status};

use crate::world::{SPACE, World};

async fn add(
    world: &World,
    space: &str,
    name: &str,
    kind: IndexedValueType,
) -> Result<AddSearchAttributesResponse, Status> {
    let search_attributes = [(name.to_owned(), kind.into())].into();
    world.call(AddSearchAttributesRequest { search_attributes, namespace: space.into() }).await
}

async fn remove(world: &World, name: &str) -> Result<RemoveSearchAttributesResponse, Status> {
    let search_attributes = vec![name.to_owned()];
    world.call(RemoveSearchAttributesRequest { search_attributes, namespace: SPACE.into() }).await
}

async fn listed(world: &World, space: &str) -> ListSearchAttributesResponse {
    let list = ListSearchAttributesRequest { namespace: space.into() };
    world.call(list).await.expect("they are listed")
}

/// What tools ask before anything else: a name is there after it was registered, in its namespace
/// and no other, and after the server was closed and began again.
#[tokio::test]
async fn a_search_attribute_is_registered_for_good() {
    let world = World::new().await;
    let other = RegisterNamespaceRequest {
        namespace: "other".into(),
        workflow_execution_retention_period: Some(crate::world::seconds(86_400)),
        ..Default::default()
    };
    let _: RegisterNamespaceResponse = world.call(other).await.expect("its name is free");
    for (name, kind) in [("Colour", IndexedValueType::Keyword), ("Size", IndexedValueType::Int)] {
        add(&world, SPACE, name, kind).await.expect("it is free");
    }
    add(&world, SPACE, "Size", IndexedValueType::Int).await.expect("nothing changes");
    let world = world.restart().await;
    let told = listed(&world, SPACE).await;
    let expected = [("Colour", IndexedValueType::Keyword), ("Size", IndexedValueType::Int)];
    let expected = expected.map(|(name, kind)| (name.to_owned(), i32::from(kind)));
    assert_eq!(told.custom_attributes, expected.into());
    let status = told.system_attributes.get("ExecutionStatus");
    assert_eq!(status, Some(&IndexedValueType::Keyword.into()));
    assert!(listed(&world, "other").await.custom_attributes.is_empty());
    remove(&world, "Size").await.expect("it was there");
    assert_eq!(listed(&world, SPACE).await.custom_attributes.len(), 1);
}

/// What cannot be registered or taken away is said to be so.
#[tokio::test]
async fn what_is_wrong_with_a_search_attribute_is_said() {
    let world = World::new().await;
    add(&world, SPACE, "Size", IndexedValueType::Int).await.expect("it is free");
    let code = |answer: Result<_, Status>| answer.map(|_: AddSearchAttributesResponse| ());
    let refused = async |name: &str, kind| {
        code(add(&world, SPACE, name, kind).await).expect_err("it is refused").code()
    };
    assert_eq!(refused("Size", IndexedValueType::Text).await, Code::AlreadyExists);
    assert_eq!(refused("WorkflowId", IndexedValueType::Text).await, Code::InvalidArgument);
    assert_eq!(refused("", IndexedValueType::Text).await, Code::InvalidArgument);
    assert_eq!(refused("New", IndexedValueType::Unspecified).await, Code::InvalidArgument);
    let nowhere = add(&world, "nowhere", "New", IndexedValueType::Int).await;
    assert_eq!(nowhere.expect_err("there is no such namespace").code(), Code::NotFound);
    for (name, expected) in [("New", Code::NotFound), ("RunId", Code::InvalidArgument)] {
        assert_eq!(remove(&world, name).await.expect_err("it is refused").code(), expected);
    }
    // A namespace has room for so many.
    let many = (0..1_000).map(|number| (format!("Number{number}"), 3)).collect();
    let many = AddSearchAttributesRequest { search_attributes: many, namespace: SPACE.into() };
    let many: Result<AddSearchAttributesResponse, _> = world.call(many).await;
    assert_eq!(many.expect_err("there is one already").code(), Code::InvalidArgument);
}
