//! Namespaces, and what this server says that it can do.

mod attribute;
mod registry;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bowline_core::{Address, ControlQueue, Namespace, RunId, Space as Registered, Token};
use bowline_engine::{Engine, Error, store::Head};
use parking_lot::RwLock;
use temporalio_protos::temporal::api::{
    common::v1::WorkflowExecution,
    workflowservice::v1::{get_system_info_response::Capabilities, *},
};
use tonic::Request;

use super::Door;
use crate::{
    status::{self, Answer},
    translate::{Run, command::run_id},
};
pub(super) use attribute::{
    add as add_attributes, all as all_attributes, list as list_attributes,
    remove as remove_attributes,
};
pub(super) use registry::{describe, list, register, update};

/// One namespace: its name, and the engine that its runs live in.
pub(super) struct Space {
    pub(super) engine: Engine,
    name: String,
    id: String,
    like: RunId,
}

impl Space {
    fn new(engine: &Engine, name: String, registered: &Registered) -> Self {
        let engine = engine.within(registered.namespace);
        let like = engine.mint();
        Self { engine, name, id: shown_id(registered), like }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn namespace(&self) -> Namespace {
        self.like.namespace
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

    /// Where a worker of this namespace listens. One of another namespace that says the same name
    /// listens elsewhere.
    pub(super) fn control(&self, name: &str) -> ControlQueue {
        format!("{}/{name}", self.like.namespace.0).into()
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

/// The id of a namespace, as programs know it.
fn shown_id(registered: &Registered) -> String {
    RunId { namespace: registered.namespace, uuid: registered.id }.to_string()
}

/// The namespaces that were asked for so far; the registry in the store has all of them.
pub(super) struct Spaces {
    engine: Engine,
    /// The one that is there from the beginning.
    own: String,
    /// By name, and by id.
    known: RwLock<BTreeMap<String, Arc<Space>>>,
}

impl Spaces {
    pub(super) fn new(engine: Engine, own: String) -> Self {
        Self { engine, own, known: RwLock::default() }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What a namespace is called; its number, if nobody has asked for it yet.
    pub(super) fn name_of(&self, namespace: Namespace) -> String {
        let known = self.known.read();
        let found = known.values().find(|space| space.like.namespace == namespace);
        found.map_or_else(|| namespace.0.to_string(), |space| space.name.clone())
    }

    /// Registers the namespace that is there from the beginning, unless it is there.
    pub(super) async fn register_own(&self) -> Answer<()> {
        self.named(&self.own).await.map(drop)
    }

    /// The namespace of that name, or of that id.
    pub(super) async fn named(&self, name: &str) -> Answer<Arc<Space>> {
        if name.is_empty() {
            return Err(status::invalid("Namespace not set on request."));
        }
        if let Some(space) = self.known.read().get(name) {
            return Ok(space.clone());
        }
        let found = match self.engine.space(name).await.map_err(status::of)? {
            Some(registered) => Some((name.to_owned(), registered)),
            None if name == self.own => Some((name.to_owned(), self.first().await?)),
            None => self.by_id(name).await?,
        };
        let (name, registered) = found.ok_or_else(|| status::no_namespace(name))?;
        let space = Arc::new(Space::new(&self.engine, name, &registered));
        let mut known = self.known.write();
        known.insert(space.name.clone(), space.clone());
        known.insert(space.id.clone(), space.clone());
        Ok(space)
    }

    async fn first(&self) -> Answer<Registered> {
        match self.engine.register(&self.own, None, Default::default()).await {
            Err(Error::NamespaceTaken(_)) => {
                let there = self.engine.space(&self.own).await.map_err(status::of)?;
                there.ok_or_else(|| status::no_namespace(&self.own))
            }
            done => done.map_err(status::of),
        }
    }

    async fn by_id(&self, id: &str) -> Answer<Option<(String, Registered)>> {
        if run_id(id, RunId::default()).is_err() {
            return Ok(None);
        }
        let all = self.engine.spaces().await.map_err(status::of)?;
        Ok(all.into_iter().find(|(_, registered)| shown_id(registered) == id))
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
        eager_workflow_start: true,
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
        persistence_store: concat!("bowline ", env!("CARGO_PKG_VERSION")).to_owned(),
        visibility_store: "bowline".to_owned(),
        ..Default::default()
    })
}

/// The version of Temporal that this server answers like: clients compare it to see what they may
/// ask for. Its own stands beside it, in the name of the store.
fn version() -> String {
    "1.32.0".to_owned()
}
