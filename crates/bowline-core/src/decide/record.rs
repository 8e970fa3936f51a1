//! What a run writes down about itself: markers, search attributes, memo.

use std::collections::BTreeMap;

use super::size;
use crate::{
    Blob, Draft, EventId, Failure, MarkerRecorded, MemoModified, Payload, RecordMarker, Refusal,
    SearchField, SearchUpserted, TurnFault, limits,
};

pub(super) fn marker(
    draft: &mut Draft,
    turn: EventId,
    marker: RecordMarker,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    if marker.name.is_empty() || marker.name.as_str().len() > limits::TEXT_MAX {
        let why = "the marker has no name, or one that is too long".to_owned();
        return Err(Refusal::Command(TurnFault::BadMarker, why));
    }
    size::check(marker.details.values().chain(marker.header.values()))?;
    size::bytes(marker.failure.as_ref().map_or(0, Failure::len))?;
    let RecordMarker { name, details, header, failure } = marker;
    let event = MarkerRecorded { name, details, header, failure, turn };
    draft.record_at(draft.now, event, Vec::new(), wire);
    Ok(())
}

pub(super) fn search(
    draft: &mut Draft,
    turn: EventId,
    changes: BTreeMap<String, Option<SearchField>>,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    if changes.is_empty() {
        let why = "there is no search attribute to change".to_owned();
        return Err(Refusal::Command(TurnFault::BadSearch, why));
    }
    let mut search = draft.state.search.clone();
    for (key, change) in &changes {
        match change {
            Some(field) => search.insert(key.clone(), field.clone()),
            None => search.remove(key),
        };
    }
    size::search(&search)
        .map_err(|(fault, why)| Refusal::Command(fault, format!("bad search attributes: {why}")))?;
    draft.record_at(draft.now, SearchUpserted { changes, turn }, Vec::new(), wire);
    Ok(())
}

pub(super) fn memo(
    draft: &mut Draft,
    turn: EventId,
    changes: BTreeMap<String, Option<Payload>>,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    if changes.is_empty() {
        let why = "there is no memo field to change".to_owned();
        return Err(Refusal::Command(TurnFault::BadMemo, why));
    }
    let kept = draft.state.memo.iter().filter(|(key, _)| !changes.contains_key(*key));
    size::check(changes.values().flatten().chain(kept.map(|(_, value)| value)))?;
    draft.record_at(draft.now, MemoModified { changes, turn }, Vec::new(), wire);
    Ok(())
}

#[cfg(test)]
mod tests;
