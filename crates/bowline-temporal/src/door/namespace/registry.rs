//! Namespaces are registered, changed and shown.

use std::{collections::BTreeMap, time::Duration};

use bowline_core::{Blob, Space as Registered, Span, limits};
use bowline_engine::Error;
use prost::Message;
use temporalio_protos::temporal::api::{
    enums::v1::{ArchivalState, NamespaceState},
    errordetails::v1::NamespaceAlreadyExistsFailure,
    namespace::v1::{
        NamespaceConfig, NamespaceInfo, UpdateNamespaceInfo,
        namespace_info::{Capabilities, Limits},
    },
    replication::v1::{ClusterReplicationConfig, NamespaceReplicationConfig},
    workflowservice::v1::*,
};
use tonic::{Code, Request};

use super::shown_id;
use crate::{
    access,
    door::Door,
    limits as own_limits,
    status::{self, Answer},
    translate::time,
};

/// The shortest time for which a namespace may keep its closed runs.
const RETENTION_MIN: Duration = Duration::from_secs(3_600);

/// What is kept of a namespace for clients to read, as they have sent it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Said {
    #[prost(message, optional, tag = "1")]
    info: Option<NamespaceInfo>,
    #[prost(message, optional, tag = "2")]
    config: Option<NamespaceConfig>,
    /// Search attributes that were registered, and their types.
    #[prost(btree_map = "string, int32", tag = "3")]
    pub(super) attributes: BTreeMap<String, i32>,
}

impl Said {
    pub(super) fn of(registered: &Registered) -> Answer<Self> {
        let bytes = registered.wire.as_ref().map(Blob::as_slice).unwrap_or_default();
        Self::decode(bytes).map_err(|_| status::corrupt("what is kept of a namespace"))
    }

    /// Somebody says something new. What is empty is not said.
    fn hear(&mut self, told: &UpdateNamespaceInfo) {
        let info = self.info.get_or_insert_default();
        if !told.description.is_empty() {
            info.description.clone_from(&told.description);
        }
        if !told.owner_email.is_empty() {
            info.owner_email.clone_from(&told.owner_email);
        }
        info.data.extend(told.data.clone());
        if told.state == i32::from(NamespaceState::Deprecated) {
            info.state = told.state;
        }
    }

    pub(super) fn to_wire(&self) -> Blob {
        self.encode_to_vec().into()
    }
}

pub(in crate::door) async fn register(
    door: &Door,
    request: Request<RegisterNamespaceRequest>,
) -> Answer<RegisterNamespaceResponse> {
    let request = request.into_inner();
    let name = &request.namespace;
    if name.is_empty() || name.len() > limits::TEXT_MAX {
        return Err(status::invalid("a namespace needs a name of at most 1,000 bytes"));
    }
    if request.is_global_namespace || request.clusters.len() > 1 {
        return Err(status::invalid("this server has no global namespaces"));
    }
    let retention = request.workflow_execution_retention_period.as_ref();
    let kept = kept(retention)?.ok_or_else(|| {
        status::invalid("A valid retention period is not set on request: at least one hour.")
    })?;
    let info = NamespaceInfo {
        state: NamespaceState::Registered.into(),
        description: request.description,
        owner_email: request.owner_email,
        data: request.data,
        ..Default::default()
    };
    let said = Said { info: Some(info), ..Said::default() };
    // The number that native runs have belongs to the namespace that was there first.
    door.inner.spaces.register_own().await?;
    let engine = &door.inner.spaces.engine;
    match engine.register(name, Some(Span(kept)), said.to_wire()).await {
        Ok(_) => Ok(RegisterNamespaceResponse {}),
        Err(Error::NamespaceTaken(_)) => Err(status::detailed(
            Code::AlreadyExists,
            format!("Namespace {name} already exists."),
            &NamespaceAlreadyExistsFailure {},
        )),
        Err(error) => Err(status::of(error)),
    }
}

/// For how long runs are to be kept, where that is said.
fn kept(sent: Option<&prost_wkt_types::Duration>) -> Answer<Option<Duration>> {
    let Some(sent) = sent else { return Ok(None) };
    let bad = || status::invalid("the retention period is not acceptable: at least one hour");
    // The wire's own conversion counts on a span that can be turned round.
    let kept = time::given(Some(sent)).ok_or_else(bad)?.0;
    match (RETENTION_MIN..=limits::SPAN_MAX).contains(&kept) {
        true => Ok(Some(kept)),
        false => Err(bad()),
    }
}

pub(in crate::door) async fn update(
    door: &Door,
    request: Request<UpdateNamespaceRequest>,
) -> Answer<UpdateNamespaceResponse> {
    let request = request.into_inner();
    let space = door.space(&request.namespace).await?;
    if request.promote_namespace {
        return Err(status::invalid("this server has no global namespaces"));
    }
    let config = request.config.unwrap_or_default();
    let kept = kept(config.workflow_execution_retention_ttl.as_ref())?;
    let told = request.update_info.unwrap_or_default();
    let aliases = config.custom_search_attribute_aliases;
    // What does not read is not written over.
    Said::of(&registered(door, space.name()).await?)?;
    let change = |space: &mut Registered| {
        space.kept = kept.map(Span).or(space.kept);
        let Ok(mut said) = Said::of(space) else { return };
        said.hear(&told);
        let config = said.config.get_or_insert_default();
        config.custom_search_attribute_aliases.extend(aliases.clone());
        space.wire = Some(said.to_wire());
    };
    let engine = &door.inner.spaces.engine;
    let changed = engine.change_space(space.name(), change).await.map_err(status::of)?;
    let shown = described(door, space.name(), &changed)?;
    Ok(UpdateNamespaceResponse {
        namespace_info: shown.namespace_info,
        config: shown.config,
        replication_config: shown.replication_config,
        ..Default::default()
    })
}

pub(super) async fn registered(door: &Door, name: &str) -> Answer<Registered> {
    let found = door.inner.spaces.engine.space(name).await.map_err(status::of)?;
    found.ok_or_else(|| status::no_namespace(name))
}

pub(in crate::door) async fn describe(
    door: &Door,
    request: Request<DescribeNamespaceRequest>,
) -> Answer<DescribeNamespaceResponse> {
    let request = request.into_inner();
    let name = if request.namespace.is_empty() { &request.id } else { &request.namespace };
    let space = door.space(name).await?;
    // Another process may have changed it.
    described(door, space.name(), &registered(door, space.name()).await?)
}

pub(in crate::door) async fn list(
    door: &Door,
    request: Request<ListNamespacesRequest>,
) -> Answer<ListNamespacesResponse> {
    let request = request.into_inner();
    door.inner.spaces.register_own().await?;
    let after = String::from_utf8(request.next_page_token)
        .map_err(|_| status::invalid("Invalid NextPageToken."))?;
    let wanted = usize::try_from(request.page_size).unwrap_or(0);
    let most = own_limits::NAMESPACE_PAGE;
    let wanted = if wanted == 0 { most } else { wanted.min(most) };
    let mut all = door.inner.spaces.engine.spaces().await.map_err(status::of)?;
    all.retain(|(name, _)| *name > after && access::may_see(name));
    let more = all.len() > wanted;
    all.truncate(wanted);
    let last = all.last().filter(|_| more).map(|(name, _)| name.clone().into_bytes());
    let shown = all.iter().map(|(name, space)| described(door, name, space));
    let namespaces = shown.collect::<Answer<Vec<_>>>()?;
    Ok(ListNamespacesResponse { namespaces, next_page_token: last.unwrap_or_default() })
}

fn described(door: &Door, name: &str, space: &Registered) -> Answer<DescribeNamespaceResponse> {
    // Commands without heartbeats never start: the two go together.
    let capabilities = Capabilities {
        eager_workflow_start: true,
        sync_update: true,
        async_update: true,
        worker_heartbeats: true,
        worker_commands: true,
        worker_poll_complete_on_shutdown: true,
        ..Default::default()
    };
    let payload_max = i64::try_from(door.sizes(name).refused).unwrap_or(i64::MAX);
    let told = Limits {
        blob_size_limit_error: payload_max,
        memo_size_limit_error: payload_max,
        ..Default::default()
    };
    let said = Said::of(space)?;
    let info = said.info.unwrap_or_default();
    let state = if info.state == 0 { NamespaceState::Registered.into() } else { info.state };
    let kept = door.inner.spaces.engine.within(space.namespace).kept();
    let cluster = "bowline".to_owned();
    Ok(DescribeNamespaceResponse {
        namespace_info: Some(NamespaceInfo {
            name: name.to_owned(),
            id: shown_id(space),
            state,
            capabilities: Some(capabilities),
            limits: Some(told),
            ..info
        }),
        config: Some(NamespaceConfig {
            // Clients count on a span: what is kept for ever is kept for the longest there is.
            workflow_execution_retention_ttl: Some(time::span(kept.unwrap_or(limits::SPAN_MAX))),
            history_archival_state: ArchivalState::Disabled.into(),
            visibility_archival_state: ArchivalState::Disabled.into(),
            ..said.config.unwrap_or_default()
        }),
        replication_config: Some(NamespaceReplicationConfig {
            active_cluster_name: cluster.clone(),
            clusters: vec![ClusterReplicationConfig {
                cluster_name: cluster,
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was found once: the span that has no opposite made the server's code panic.
    #[test]
    fn a_span_of_any_kind_is_kept_or_refused() {
        let sent = |seconds, nanos| prost_wkt_types::Duration { seconds, nanos };
        for (seconds, nanos) in
            [(i64::MIN, 0), (0, i32::MIN), (i64::MIN, i32::MIN), (i64::MAX, i32::MAX), (-1, 5)]
        {
            kept(Some(&sent(seconds, nanos))).expect_err("it is no time to keep anything");
        }
        let day = kept(Some(&sent(86_400, 0))).expect("it is long enough");
        assert_eq!(day, Some(Duration::from_secs(86_400)));
    }
}
