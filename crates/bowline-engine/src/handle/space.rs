//! Namespaces, as doors see them.

use std::time::Duration;

use bowline_core::{Blob, Namespace, Space, Span};

use super::Engine;
use crate::Result;

impl Engine {
    /// The same engine, for runs of another namespace: what is started, listed or polled for
    /// through the answer lives there. Native code stays in the namespace that it was built for.
    pub fn within(&self, namespace: Namespace) -> Self {
        self.inner.spaces.meet(namespace);
        Self { namespace, ..self.clone() }
    }

    /// The namespace that is seen through this handle.
    pub fn namespace(&self) -> Namespace {
        self.namespace
    }

    /// Registers a namespace, under a name that is free.
    ///
    /// # Errors
    /// If there is one of that name, or too many of them.
    pub async fn register(&self, name: &str, kept: Option<Span>, wire: Blob) -> Result<Space> {
        self.inner.register(name, kept, wire).await
    }

    /// Changes what is said of a namespace.
    ///
    /// # Errors
    /// If there is none of that name.
    pub async fn change_space(&self, name: &str, change: impl Fn(&mut Space)) -> Result<Space> {
        self.inner.change_space(name, change).await
    }

    /// The namespace of a name, if it is registered.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn space(&self, name: &str) -> Result<Option<Space>> {
        self.inner.space(name).await
    }

    /// All registered namespaces, in the order of their names.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn spaces(&self) -> Result<Vec<(String, Space)>> {
        self.inner.all_spaces().await
    }

    /// How long closed runs of this namespace are kept; unset for ever.
    pub fn kept(&self) -> Option<Duration> {
        let all = self.inner.spaces.retention();
        all.into_iter().find(|(own, _)| *own == self.namespace).map(|(_, kept)| kept)
    }
}
