//! A namespace as it is registered: which number stands for its name, and how long it keeps runs.

use minicbor::{Decode, Encode};

use crate::{Blob, Namespace, Span};

/// A registered namespace.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Space {
    /// What its runs carry. Never given to another name.
    #[n(0)]
    pub namespace: Namespace,
    /// An id for programs, which no other namespace of any store has.
    #[n(1)]
    pub id: u128,
    /// How long closed runs are kept; unset for ever.
    #[n(2)]
    pub kept: Option<Span>,
    /// What a door wants to know of it.
    #[n(3)]
    pub wire: Option<Blob>,
}
