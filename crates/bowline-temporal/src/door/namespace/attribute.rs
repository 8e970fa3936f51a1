//! The names of search attributes that somebody has registered, each with a type.
//!
//! A registration is for people and their tools: it is kept and listed. What runs send needs none,
//! and is not held to it.

use std::collections::HashMap;

use bowline_core::Space as Registered;
use temporalio_protos::temporal::api::{
    enums::v1::IndexedValueType, operatorservice::v1::*, workflowservice::v1::*,
};
use tonic::{Request, Status};

use super::registry::{Said, registered};
use crate::{
    door::Door,
    limits,
    status::{self, Answer},
};

/// What every run has, with its type.
const SYSTEM: &[(&str, IndexedValueType)] = {
    use IndexedValueType::{Datetime, Int, Keyword, KeywordList};
    &[
        ("BuildIds", KeywordList),
        ("CloseTime", Datetime),
        ("ExecutionDuration", Int),
        ("ExecutionStatus", Keyword),
        ("ExecutionTime", Datetime),
        ("HistoryLength", Int),
        ("HistorySizeBytes", Int),
        ("ParentRunId", Keyword),
        ("ParentWorkflowId", Keyword),
        ("RootRunId", Keyword),
        ("RootWorkflowId", Keyword),
        ("RunId", Keyword),
        ("StartTime", Datetime),
        ("StateTransitionCount", Int),
        ("TaskQueue", Keyword),
        ("WorkflowId", Keyword),
        ("WorkflowType", Keyword),
    ]
};

pub(in crate::door) async fn add(
    door: &Door,
    request: Request<AddSearchAttributesRequest>,
) -> Answer<AddSearchAttributesResponse> {
    let request = request.into_inner();
    if request.search_attributes.is_empty() {
        return Err(status::invalid("SearchAttributes are not set on request."));
    }
    for (name, kind) in &request.search_attributes {
        if name.is_empty() || is_system(name) {
            return Err(status::invalid(format!("Search attribute {name} is reserved by system.")));
        }
        if *kind == 0 || IndexedValueType::try_from(*kind).is_err() {
            return Err(status::invalid(format!("Unknown search attribute type: {kind}.")));
        }
    }
    let space = door.space(&request.namespace).await?;
    let known = Said::of(&registered(door, space.name()).await?)?.attributes;
    for (name, kind) in &request.search_attributes {
        if known.get(name).is_some_and(|known| known != kind) {
            let text = format!("Search attribute {name} already exists with another type.");
            return Err(Status::already_exists(text));
        }
    }
    let new = request.search_attributes.keys().filter(|name| !known.contains_key(*name)).count();
    if known.len() + new > limits::MAP {
        let text = format!("a namespace may have {} search attributes", limits::MAP);
        return Err(status::invalid(text));
    }
    let add = |said: &mut Said| {
        for (name, kind) in &request.search_attributes {
            said.attributes.entry(name.clone()).or_insert(*kind);
        }
    };
    change(door, space.name(), add).await.map(|()| AddSearchAttributesResponse {})
}

pub(in crate::door) async fn remove(
    door: &Door,
    request: Request<RemoveSearchAttributesRequest>,
) -> Answer<RemoveSearchAttributesResponse> {
    let request = request.into_inner();
    if request.search_attributes.is_empty() {
        return Err(status::invalid("SearchAttributes are not set on request."));
    }
    let space = door.space(&request.namespace).await?;
    let known = Said::of(&registered(door, space.name()).await?)?.attributes;
    for name in &request.search_attributes {
        if is_system(name) {
            let text = format!("Unable to remove non-custom search attribute: {name}.");
            return Err(status::invalid(text));
        }
        if !known.contains_key(name) {
            return Err(status::missing(format!("Search attribute {name} doesn't exist.")));
        }
    }
    let remove = |said: &mut Said| {
        said.attributes.retain(|name, _| !request.search_attributes.contains(name));
    };
    change(door, space.name(), remove).await.map(|()| RemoveSearchAttributesResponse {})
}

pub(in crate::door) async fn list(
    door: &Door,
    request: Request<ListSearchAttributesRequest>,
) -> Answer<ListSearchAttributesResponse> {
    let space = door.space(&request.into_inner().namespace).await?;
    let known = Said::of(&registered(door, space.name()).await?)?.attributes;
    let schema = known.iter().map(|(name, kind)| (name.clone(), shown(*kind).to_owned()));
    Ok(ListSearchAttributesResponse {
        storage_schema: schema.collect(),
        custom_attributes: known.into_iter().collect(),
        system_attributes: system().collect(),
    })
}

/// What older clients ask, of no namespace: what every run has.
pub(in crate::door) async fn all(
    _: &Door,
    _: Request<GetSearchAttributesRequest>,
) -> Answer<GetSearchAttributesResponse> {
    Ok(GetSearchAttributesResponse { keys: system().collect::<HashMap<_, _>>() })
}

fn system() -> impl Iterator<Item = (String, i32)> {
    SYSTEM.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).into()))
}

fn is_system(name: &str) -> bool {
    SYSTEM.iter().any(|(system, _)| *system == name)
}

/// A type, as people read it.
fn shown(kind: i32) -> &'static str {
    let kind = IndexedValueType::try_from(kind).unwrap_or_default();
    kind.as_str_name().trim_start_matches("INDEXED_VALUE_TYPE_")
}

async fn change(door: &Door, name: &str, change: impl Fn(&mut Said)) -> Answer<()> {
    let change = |space: &mut Registered| {
        // What does not read is not written over.
        let Ok(mut said) = Said::of(space) else { return };
        change(&mut said);
        space.wire = Some(said.to_wire());
    };
    let engine = &door.inner.spaces.engine;
    engine.change_space(name, change).await.map(drop).map_err(status::of)
}
