//! What a run writes down about itself.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};

use crate::{EventId, Failure, Fields, Name, Payload, SearchField};

/// Something only the run's own code understands: a patch, a local activity, a side effect.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct MarkerRecorded {
    /// What kind of marker.
    #[n(0)]
    pub name: Name,
    /// What it holds.
    #[n(1)]
    pub details: Fields,
    /// Travels beside it.
    #[n(2)]
    pub header: Fields,
    /// The failure that it stands for.
    #[n(3)]
    pub failure: Option<Failure>,
    /// The turn that asked for it.
    #[n(4)]
    pub turn: EventId,
}

/// The run changed its search attributes; an unset value removes the key.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct SearchUpserted {
    /// What changed.
    #[n(0)]
    pub changes: BTreeMap<String, Option<SearchField>>,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
}

/// The run changed its memo; an unset value removes the key.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct MemoModified {
    /// What changed.
    #[n(0)]
    pub changes: BTreeMap<String, Option<Payload>>,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
}
