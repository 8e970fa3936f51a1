//! Search attributes: the typed values by which runs are found.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};

use crate::{Blob, Time};

/// A value that lists of runs can be filtered and ordered by.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum SearchValue {
    /// Compared as a whole.
    #[n(0)]
    Keyword(#[n(0)] String),
    /// Compared word by word.
    #[n(1)]
    Text(#[n(0)] String),
    /// A whole number.
    #[n(2)]
    Int(#[n(0)] i64),
    /// A number.
    #[n(3)]
    Double(#[n(0)] f64),
    /// Yes or no.
    #[n(4)]
    Bool(#[n(0)] bool),
    /// A moment.
    #[n(5)]
    Time(#[n(0)] Time),
    /// Matches if any member does.
    #[n(6)]
    Keywords(#[n(0)] Vec<String>),
}

/// A search value beside the bytes it came as, if a door wants them back untouched.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct SearchField {
    /// What decisions and filters read.
    #[n(0)]
    pub value: SearchValue,
    /// The sender's own bytes.
    #[n(1)]
    pub wire: Option<Blob>,
}

impl SearchField {
    /// About how many bytes it takes.
    pub fn len(&self) -> usize {
        self.value_len().max(self.wire.as_ref().map_or(0, Blob::len))
    }

    /// About how many bytes its value takes, without what travels around it.
    pub fn value_len(&self) -> usize {
        match &self.value {
            SearchValue::Keyword(text) | SearchValue::Text(text) => text.len(),
            SearchValue::Keywords(words) => words.iter().map(String::len).sum(),
            SearchValue::Int(_) | SearchValue::Double(_) | SearchValue::Time(_) => 8,
            SearchValue::Bool(_) => 1,
        }
    }

    /// True if it says nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All search attributes of a run.
pub type SearchAttributes = BTreeMap<String, SearchField>;
