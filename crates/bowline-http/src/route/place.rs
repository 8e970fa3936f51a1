//! Namespaces.

use axum::Json;

use crate::{
    call::{Call, OWN},
    model::{NamespaceList, NamespaceSummary},
    problem::Answer,
    view::millis,
};

/// `GET /api/v1/namespaces`
pub(crate) async fn namespaces(call: Call) -> Answer<NamespaceList> {
    let engine = &call.engine;
    let own = engine.namespace();
    let mut namespaces: Vec<NamespaceSummary> = engine
        .spaces()
        .await?
        .into_iter()
        .map(|(name, space)| NamespaceSummary {
            name,
            kept_ms: space.kept.map(|kept| millis(kept.0)),
            own: space.namespace == own,
        })
        .collect();
    // A program that nobody has given a name has one nevertheless.
    if !namespaces.iter().any(|space| space.own || space.name == OWN) {
        let kept_ms = engine.kept().map(millis);
        namespaces.push(NamespaceSummary { name: OWN.to_owned(), kept_ms, own: true });
        namespaces.sort_by(|a, b| a.name.cmp(&b.name));
    }
    namespaces.retain(|space| call.may_see(&space.name));
    Ok(Json(NamespaceList { namespaces }))
}
