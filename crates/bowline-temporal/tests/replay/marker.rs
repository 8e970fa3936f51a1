//! Markers, search attributes and memo: what a run writes down about itself.

use std::collections::BTreeMap;

use bowline_core::{
    MarkerRecorded, MemoModified, Name, SearchField, SearchUpserted, SearchValue, WorkflowCompleted,
};
use prost_wkt_types::Timestamp;
use temporalio_protos::{
    coresdk::{
        common::{build_has_change_marker_details, build_local_activity_marker_details},
        external_data::LocalActivityMarkerData,
    },
    temporal::api::common::v1::{Payload, Payloads},
};

use bowline_temporal::translate::keep;

use crate::{
    code::{complete, local_activity, modify_memo, patch, upsert},
    sdk::{Step, refuses, replays, step},
    story::Story,
};

/// A marker as the SDKs' core writes it.
fn marker(story: &mut Story, name: &str, details: impl IntoIterator<Item = (String, Payloads)>) {
    let details = details.into_iter().map(|(key, value)| (key, keep(&value))).collect();
    let name = Name::from(name);
    story.push(MarkerRecorded { name, details, turn: story.turn, ..Default::default() });
}

fn patched(story: &mut Story) {
    let details = build_has_change_marker_details("p", false).expect("a patch has an encoding");
    marker(story, "core_patch", details);
}

fn upserted(story: &mut Story, key: &str) {
    let field = SearchField { value: SearchValue::Keywords(vec!["p".to_owned()]), wire: None };
    let changes = BTreeMap::from([(key.to_owned(), Some(field))]);
    story.push(SearchUpserted { changes, turn: story.turn });
}

#[test]
fn a_patch_and_the_search_attribute_that_comes_with_it() {
    let mut story = Story::new();
    story.turn();
    patched(&mut story);
    upserted(&mut story, "TemporalChangeVersion");
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(&story, [step("start [1], patch p", [patch("p"), complete()])]);
}

/// What an SDK says of itself with its first turn decides how it replays for ever.
#[test]
fn losing_the_remarks_of_an_sdk_changes_its_replay() {
    let mut story = Story::without_remarks();
    story.turn();
    patched(&mut story);
    upserted(&mut story, "TemporalChangeVersion");
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let script = [step("start [1], patch p", [patch("p"), complete()])];
    refuses(&story, script, "UpsertWorkflowSearchAttributes");
}

#[test]
fn search_attributes_and_memo() {
    let mut story = Story::new();
    story.turn();
    upserted(&mut story, "Colour");
    story.push(MemoModified { changes: BTreeMap::new(), turn: story.turn });
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let asks = [upsert("Colour"), modify_memo(), complete()];
    replays(&story, [step("start [1]", asks)]);
}

fn local_activity_done(story: &mut Story) {
    let time = Some(Timestamp { seconds: 1_800_000_000, nanos: 0 });
    let data = LocalActivityMarkerData {
        seq: 1,
        attempt: 1,
        activity_id: "1".to_owned(),
        activity_type: "Activity".to_owned(),
        complete_time: time,
        original_schedule_time: time,
        ..Default::default()
    };
    let result = Payload { data: b"42".to_vec(), ..Default::default() };
    let details = build_local_activity_marker_details(data, Some(result));
    marker(story, "core_local_activity", details);
}

fn runs_locally(told: &'static str) -> [Step; 2] {
    [step("start [1]", [local_activity(1)]), step(told, [complete()])]
}

/// Turns without commands, one right after the other, only keep the local activity alive: core
/// takes the whole chain for one turn.
#[test]
fn a_chain_of_turns_that_keep_a_local_activity_alive() {
    let mut story = Story::new();
    for _ in 0..4 {
        story.turn();
    }
    local_activity_done(&mut story);
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(&story, runs_locally("activity 1 completed 42"));
}

#[test]
fn a_signal_within_the_chain_is_told_with_the_local_result() {
    let mut story = Story::new();
    story.turn();
    story.turn();
    story.signalled("go");
    story.turn();
    local_activity_done(&mut story);
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(&story, runs_locally("signal go, activity 1 completed 42"));
}

/// Nothing of our own may be a marker, or any other numbered event.
#[test]
fn a_marker_that_the_code_did_not_ask_for_is_refused() {
    let mut story = Story::new();
    story.turn();
    marker(&mut story, "ours", []);
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    refuses(&story, [step("start [1]", [complete()])], "does not handle this event");
}
