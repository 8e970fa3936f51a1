//! Runs are closed from outside without their code: terminated, out of time, escalated.
//!
//! Whoever holds such a run would do it too, with its next turn. But a run may be held by nobody:
//! its workflow is not registered here, it is in quarantine, or a remote worker has its turn.
//! Writing is a version check, so anybody may be faster.

use std::sync::Arc;

use bowline_core::{RunId, Status};
use bowline_store::{Filter, Head, Read};

use super::Core;
use crate::{Result, limits};

impl Core {
    /// Takes in what closes a run, or takes its turn back, at once and whoever holds it. Does
    /// nothing if no such message waits.
    pub(crate) async fn close_now(self: &Arc<Self>, run: RunId) -> Result<()> {
        loop {
            let read = self.read(Read::state(run)).await?;
            let waits = read.inbox.iter().any(|received| received.message.cuts_in());
            if !read.head.status.is_open() || !waits {
                break;
            }
            if !self.take_in(&read).await? {
                return Ok(());
            }
        }
        if let Some(local) = self.local.get() {
            local.closed(run);
        }
        Ok(())
    }

    /// The same, where the message is durable and nobody waits for the rest.
    pub(crate) async fn close_soon(self: Arc<Self>, run: RunId) {
        if let Err(error) = self.close_now(run).await {
            tracing::warn!(%run, %error, "the run could not be closed yet");
        }
    }

    /// Closes a run that has rung, unless its code is here and will see to it.
    pub(crate) async fn close_rung(self: Arc<Self>, run: RunId) {
        let closed = async {
            let head = self.head_of(run).await?;
            match self.is_left_to_us(&head) {
                true => self.close_now(run).await,
                false => Ok(()),
            }
        };
        if let Err(error) = closed.await {
            tracing::warn!(%run, %error, "a run whose time is up could not be closed yet");
        }
    }

    /// A process that took such a message may have died before it closed the run: looks at every
    /// open run once.
    pub(crate) async fn close_left(self: Arc<Self>) {
        let statuses = vec![Status::Running, Status::Cancelling];
        let namespace = self.settings.namespace;
        let mut filter = Filter { namespace, statuses, limit: limits::PAGE, ..Filter::default() };
        loop {
            let Ok(page) = self.patiently(|| self.store.find(filter.clone())).await else { return };
            for head in page.runs.iter().filter(|head| self.is_left_to_us(head)) {
                self.clone().close_rung(head.run).await;
            }
            filter.after = page.next;
            if page.next.is_none() {
                return;
            }
        }
    }

    /// True if messages wait, and no code in this process will look at them.
    fn is_left_to_us(&self, head: &Head) -> bool {
        let native = head.rules.is_native() && head.quarantine.is_none();
        let local = self.local.get().is_some_and(|local| local.has_code(head));
        head.status.is_open() && head.inbox > head.consumed && !(native && local)
    }
}
