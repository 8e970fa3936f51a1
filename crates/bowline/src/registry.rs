//! Which function stands for which name: what calls and clients look names up in.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::Arc,
};

use bowline_engine::core::{Name, Queue, Span, Timeouts};

use crate::Retry;

/// The queue of everything that names no other.
pub(crate) const QUEUE: &str = "default";

/// Everything that was registered, as calls see it.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    activities: BTreeMap<TypeId, ActivityOptions>,
    workflows: BTreeMap<TypeId, Name>,
}

/// How to call an activity unless the call says otherwise; see
/// [`Builder::activity_with`](crate::Builder::activity_with).
#[derive(Clone, Debug, Default)]
#[must_use = "give it back to the registration"]
pub struct ActivityOptions {
    pub(crate) name: Name,
    pub(crate) queue: Option<Queue>,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: Option<Retry>,
}

impl ActivityOptions {
    /// Sets the durable name, in place of the one made from the function's path.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Name::from(name.into()), ..self }
    }

    /// Sends its calls to this queue.
    pub fn queue(self, queue: impl Into<String>) -> Self {
        Self { queue: Some(Queue::from(queue.into())), ..self }
    }

    /// Limits how long one attempt may run.
    pub fn timeout(mut self, limit: std::time::Duration) -> Self {
        self.timeouts.start_to_close = Some(Span(limit));
        self
    }

    /// Retries its failures by this policy.
    pub fn retry(self, retry: Retry) -> Self {
        Self { retry: Some(retry), ..self }
    }
}

/// Options of a workflow; see [`Builder::workflow_with`](crate::Builder::workflow_with).
#[derive(Clone, Debug, Default)]
#[must_use = "give it back to the registration"]
pub struct WorkflowOptions {
    pub(crate) name: Name,
}

impl WorkflowOptions {
    /// Sets the durable name, in place of the one made from the function's path.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Name::from(name.into()) }
    }
}

impl Registry {
    pub(crate) fn add_activity(&mut self, function: TypeId, options: ActivityOptions) {
        self.activities.insert(function, options);
    }

    pub(crate) fn add_workflow(&mut self, function: TypeId, name: Name) {
        self.workflows.insert(function, name);
    }

    /// How an activity is called.
    pub(crate) fn activity<F: 'static>(&self) -> Result<&ActivityOptions, String> {
        self.activities.get(&TypeId::of::<F>()).ok_or_else(|| unregistered::<F>("activity"))
    }

    /// The name of a workflow.
    pub(crate) fn workflow<F: 'static>(&self) -> Result<&Name, String> {
        self.workflows.get(&TypeId::of::<F>()).ok_or_else(|| unregistered::<F>("workflow"))
    }

    /// Every workflow's name.
    pub(crate) fn workflow_names(&self) -> impl Iterator<Item = &Name> {
        self.workflows.values()
    }
}

fn unregistered<F>(kind: &str) -> String {
    let path = std::any::type_name::<F>();
    let short = path.rsplit("::").next().unwrap_or(path);
    format!(
        "the {kind} `{path}` is not registered: add `.{kind}({short})` to the builder, before \
         `.start()`"
    )
}

/// What activities share, by type.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct States(BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    /// False if there is one of that type already.
    pub(crate) fn add<S: Send + Sync + 'static>(&mut self, state: S) -> bool {
        self.0.insert(TypeId::of::<S>(), Arc::new(state)).is_none()
    }

    pub(crate) fn find<S: Send + Sync + 'static>(&self) -> Option<Arc<S>> {
        self.0.get(&TypeId::of::<S>())?.clone().downcast().ok()
    }
}
