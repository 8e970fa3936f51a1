//! Namespaces, and what this server says that it can do.

use std::collections::HashMap;

use bowline_core::{Address, RunId, Token, limits};
use bowline_engine::{Engine, store::Head};
use temporalio_protos::temporal::api::{
    common::v1::WorkflowExecution,
    enums::v1::NamespaceState,
    namespace::v1::{
        NamespaceConfig, NamespaceInfo,
        namespace_info::{Capabilities as SpaceCapabilities, Limits},
    },
    workflowservice::v1::{get_system_info_response::Capabilities, *},
};
use tonic::Request;

use super::Door;
use crate::{
    status::{self, Answer},
    translate::{Run, command::run_id},
};

/// One namespace: its name, and the engine that its runs live in.
pub(super) struct Space {
    pub(super) engine: Engine,
    name: String,
    id: String,
    like: RunId,
}

impl Space {
    pub(super) fn new(engine: Engine, name: String) -> Self {
        let like = engine.mint();
        let id = RunId { uuid: u128::from(like.namespace.0), ..like }.to_string();
        Self { engine, name, id, like }
    }

    /// This namespace, if it has that name.
    pub(super) fn named(&self, name: &str) -> Answer<&Self> {
        match name {
            "" => Err(status::invalid("Namespace not set on request.")),
            name if name == self.name || name == self.id => Ok(self),
            name => Err(status::no_namespace(name)),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What an event does not say about its run.
    pub(super) fn run<'a>(&'a self, queue: &'a str) -> Run<'a> {
        Run { namespace: &self.name, namespace_id: &self.id, queue }
    }

    /// A token, if it is one of this namespace's own.
    pub(super) fn token(&self, bytes: &[u8]) -> Answer<Token> {
        let token = Token::from_blob(bytes)
            .map_err(|_| status::invalid("Error deserializing task token."))?;
        match token.run.namespace == self.like.namespace {
            true => Ok(token),
            false => Err(status::invalid("the task token is of another namespace")),
        }
    }

    /// The run that a request names exactly, if it names one.
    pub(super) fn run_id(&self, text: &str) -> Answer<Option<RunId>> {
        run_id(text, self.like).map_err(status::invalid)
    }

    /// Which run a request is for.
    pub(super) fn address(&self, named: Option<&WorkflowExecution>) -> Answer<Address> {
        let named = named.ok_or_else(|| status::invalid("Execution is not set on request."))?;
        if named.workflow_id.is_empty() {
            return Err(status::invalid("WorkflowId is not set on request."));
        }
        Ok(match self.run_id(&named.run_id)? {
            Some(run) => Address::Run(run),
            None => Address::Current(self.like.namespace, named.workflow_id.as_str().into()),
        })
    }

    /// The row of the run that a request names: that one, or the newest of its workflow id.
    pub(super) async fn head(&self, named: Option<&WorkflowExecution>) -> Answer<Head> {
        let found = match self.address(named)? {
            Address::Current(_, id) => self.engine.current(id).await,
            Address::Run(run) | Address::Chain(run) => self.engine.head(run).await,
        };
        let head = found.map_err(status::of)?;
        let id = named.map(|named| named.workflow_id.as_str()).unwrap_or_default();
        match head.workflow_id.as_str() == id {
            true => Ok(head),
            false => Err(status::missing("workflow execution not found")),
        }
    }
}

/// What every SDK asks first. Only what is built is said to be there.
pub(super) async fn system_info(
    _: &Door,
    _: Request<GetSystemInfoRequest>,
) -> Answer<GetSystemInfoResponse> {
    let capabilities = Capabilities {
        signal_and_query_header: true,
        internal_error_differentiation: true,
        activity_failure_include_heartbeat: true,
        encoded_failure_attributes: true,
        upsert_memo: true,
        sdk_metadata: true,
        count_group_by_execution_status: true,
        ..Default::default()
    };
    Ok(GetSystemInfoResponse { server_version: version(), capabilities: Some(capabilities) })
}

pub(super) async fn cluster_info(
    _: &Door,
    _: Request<GetClusterInfoRequest>,
) -> Answer<GetClusterInfoResponse> {
    Ok(GetClusterInfoResponse {
        supported_clients: HashMap::new(),
        server_version: version(),
        cluster_name: "bowline".to_owned(),
        history_shard_count: 1,
        persistence_store: "bowline".to_owned(),
        visibility_store: "bowline".to_owned(),
        ..Default::default()
    })
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

pub(super) async fn describe(
    door: &Door,
    request: Request<DescribeNamespaceRequest>,
) -> Answer<DescribeNamespaceResponse> {
    let request = request.into_inner();
    let name = if request.namespace.is_empty() { &request.id } else { &request.namespace };
    Ok(described(door.space(name)?))
}

pub(super) async fn list(
    door: &Door,
    _: Request<ListNamespacesRequest>,
) -> Answer<ListNamespacesResponse> {
    let namespaces = vec![described(&door.inner.space)];
    Ok(ListNamespacesResponse { namespaces, ..Default::default() })
}

fn described(space: &Space) -> DescribeNamespaceResponse {
    // Commands without heartbeats never start: the two go together.
    let capabilities = SpaceCapabilities {
        sync_update: true,
        async_update: true,
        worker_heartbeats: true,
        worker_commands: true,
        ..Default::default()
    };
    let payload_max = i64::try_from(limits::PAYLOAD_MAX).unwrap_or(i64::MAX);
    let limits = Limits {
        blob_size_limit_error: payload_max,
        memo_size_limit_error: payload_max,
        ..Default::default()
    };
    DescribeNamespaceResponse {
        namespace_info: Some(NamespaceInfo {
            name: space.name.clone(),
            id: space.id.clone(),
            state: NamespaceState::Registered.into(),
            capabilities: Some(capabilities),
            limits: Some(limits),
            ..Default::default()
        }),
        config: Some(NamespaceConfig::default()),
        ..Default::default()
    }
}
