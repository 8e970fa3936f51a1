//! Request ids: none is carried out twice, as far as a run remembers them.

use std::collections::{BTreeSet, VecDeque};

use super::{Law, must};
use crate::{RequestId, limits};

#[derive(Clone, Debug, Default)]
pub(super) struct KnownRequests {
    newest: VecDeque<RequestId>,
    known: BTreeSet<RequestId>,
}

impl KnownRequests {
    pub(super) fn add(&mut self, id: &RequestId) -> Law {
        if id.is_empty() {
            return Ok(());
        }
        must(self.known.insert(id.clone()), "a request is carried out once", || {
            format!("{id:?} was before")
        })?;
        self.newest.push_back(id.clone());
        if self.newest.len() > limits::REQUESTS_MAX
            && let Some(oldest) = self.newest.pop_front()
        {
            self.known.remove(&oldest);
        }
        Ok(())
    }
}
