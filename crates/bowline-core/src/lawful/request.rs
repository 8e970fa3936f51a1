//! Request ids: none is carried out twice.

use std::collections::BTreeSet;

use super::{Law, must};
use crate::RequestId;

#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    known: BTreeSet<RequestId>,
}

impl Requests {
    pub(super) fn add(&mut self, id: &RequestId) -> Law {
        let new = id.is_empty() || self.known.insert(id.clone());
        must(new, "a request is carried out once", || format!("{id:?} was before"))
    }
}
