//! What "implements the contract" means: one test for each promise that a store makes.
//!
//! In:    a way to open a fresh store, and to open it again as after a crash.
//! Out:   one `#[test]` for each case, by [`conformance!`](crate::conformance!).
//! Never: looks behind the trait, sleeps, or needs a runtime.

pub mod answer;
pub mod ask;
pub mod cancel;
pub mod catalog;
pub mod claim;
pub mod commit;
pub mod crash;
pub mod damage;
pub mod history;
pub mod leftovers;
pub mod mark;
pub mod member;
pub mod offered;
pub mod parked;
pub mod post;
pub mod query;
pub mod race;
pub mod retention;
pub mod settle;
pub mod start;
pub mod timer;
pub mod unseen;
pub mod watch;
pub mod withhold;
mod world;

use std::sync::Arc;

use bowline_core::RunId;

use crate::Store;

pub use world::wait::block_on;

/// One store of one case.
pub trait Harness {
    /// Opens it, empty. Called once, and first.
    fn open(&self) -> Arc<dyn Store>;

    /// Opens it again, as after a crash: what is not durable is gone. The case has let go of the
    /// store that it had.
    fn reopen(&self) -> Arc<dyn Store>;

    /// Writes bytes that do not read into rows of the store, which is open. False if that cannot be
    /// done to it: it has no bytes.
    fn damage(&self, _: Damage) -> bool {
        false
    }
}

/// Whose bytes are made unreadable.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// What every commit of the run changes.
    Run(RunId),
    /// Its history.
    History(RunId),
    /// Its activities.
    Activities(RunId),
    /// Its alarms.
    Alarm(RunId),
}

impl Damage {
    /// A table and a column of bytes that every SQL store has, and the run.
    pub fn place(self) -> (&'static str, &'static str, RunId) {
        match self {
            Self::Run(run) => ("runs", "cancel", run),
            Self::History(run) => ("history", "bytes", run),
            Self::Activities(run) => ("activities", "live", run),
            Self::Alarm(run) => ("alarms", "what", run),
        }
    }
}

/// Makes one `#[test]` of each case, for the store that `$open` makes a [`Harness`] of.
#[macro_export]
macro_rules! conformance {
    ($open:path) => {
        $crate::conformance_group! { $open, start:
            a_start_writes_its_events_and_waits_for_a_turn
            a_repeated_start_counts_once
            a_start_that_is_put_off_comes_before_what_follows
            calls_of_a_thread_that_is_lent_are_carried_out
            starts_without_a_request_id_are_never_the_same
            an_open_run_is_in_the_way_as_the_caller_wishes
            a_closed_run_is_in_the_way_as_its_policy_says
            a_message_goes_to_the_open_run_instead
            namespaces_do_not_see_each_other
            each_start_of_a_batch_has_its_own_answer
        }
        $crate::conformance_group! { $open, post:
            messages_stand_in_the_order_of_their_numbers
            a_message_to_no_run_is_refused
            a_repeated_request_counts_once
            requests_of_two_kinds_are_two
            a_closed_run_names_its_successor
            a_cancel_is_noted_on_the_run_when_it_arrives
            a_cancel_of_a_closed_run_is_done
            a_repeated_cancel_still_has_a_receipt
            only_a_closed_run_is_deleted
            a_message_keeps_the_moment_of_its_arrival
            a_run_takes_so_many_unread_signals_and_no_more
            what_waits_has_a_bound_in_bytes
        }
        $crate::conformance_group! { $open, commit:
            a_stale_version_conflicts
            a_version_that_is_not_yet_conflicts
            a_message_that_never_came_is_not_consumed
            a_repeated_commit_is_answered_as_done
            a_repeated_closing_commit_is_answered_as_done
            a_commit_to_no_run_is_refused
            a_closed_run_takes_no_commit
            a_loser_leaves_the_rest_of_its_group_alone
            a_refused_commit_cancels_nothing
            members_of_a_group_see_those_before_them
            a_wrong_fence_writes_nothing
            a_commit_writes_the_whole_head
            a_parked_run_stays_parked_until_a_commit_lifts_it
            a_close_and_a_message_never_miss_each_other
            a_dropped_message_does_not_keep_a_run_open
            dropped_messages_leave_nobody_ready
            inbox_numbers_have_no_gaps
            a_commit_answers_with_what_waits
        }
        $crate::conformance_group! { $open, answer:
            a_child_begins_with_the_commit
            a_child_whose_id_is_taken_is_refused
            the_first_of_two_children_has_the_id
            a_successor_takes_over
            a_stranger_needs_its_id
            messages_to_other_runs_are_answered
            a_run_that_is_full_refuses_signals_of_others
            a_message_for_a_child_reaches_no_stranger
            a_message_follows_the_chain
            answers_stand_in_a_fixed_order
            a_closing_commit_is_not_answered
            a_birth_writes_all_its_events
        }
        $crate::conformance_group! { $open, claim:
            runs_are_taken_in_order_and_whole
            runs_are_taken_by_queue_and_name
            a_held_run_is_ready_again_when_it_is_released
            a_message_beside_a_release_is_not_forgotten
            remote_turns_rotate
            what_waits_can_be_seen
            remote_turns_wait_where_their_record_says
            a_started_remote_turn_is_out_of_the_queue
            intake_rotates_over_all_queues
            activities_start_in_order
            activities_start_by_queue_and_name
            a_remote_worker_has_a_token
            a_commit_may_start_what_it_schedules
            a_dead_member_takes_nothing
            a_closed_run_is_not_taken
        }
        $crate::conformance_group! { $open, cancel:
            a_cancelled_queued_activity_never_starts
            one_message_lists_all_that_never_started
            enqueue_and_cancel_in_one_commit_never_starts
            a_cancelled_attempt_is_told
            the_first_cancel_stays
            a_later_cancel_may_hasten
            a_cancelled_attempt_keeps_its_lease
            a_cancelled_attempt_is_not_tried_again
            a_waiting_retry_is_cancelled_in_its_queue
            a_cancel_after_the_end_hits_nobody
        }
        $crate::conformance_group! { $open, withhold:
            what_waits_is_withheld_until_the_cancel_is_decided
            no_further_attempt_begins
            a_commit_that_does_not_know_starts_nothing
            what_withholds_may_come_to_nothing
            a_termination_withholds_and_a_signal_does_not
            a_crowd_that_is_withheld_keeps_nobody_waiting
        }
        $crate::conformance_group! { $open, mark:
            a_hundred_thousand_are_cancelled_at_once
            a_mark_hits_what_runs
            a_marked_attempt_is_not_tried_again
            a_marked_retry_never_starts
            a_crowd_is_scheduled_and_marked_at_once
            a_mark_hits_nothing_else
            the_first_mark_stays
            a_large_crowd_is_materialised
            a_crowd_is_marked_before_it_is_materialised
        }
        $crate::conformance_group! { $open, settle:
            a_result_reaches_the_run
            a_repeated_report_counts_once
            what_waits_is_completed_from_outside
            a_failure_is_tried_again
            retries_wait_by_their_due_time
            the_next_retry_is_told_with_the_alarms
            a_wrong_proof_changes_nothing
            a_dead_members_report_changes_nothing
            a_remote_report_outlives_the_member
            a_returned_attempt_costs_no_try
            the_story_of_a_cancelled_attempt_is_kept
            an_attempt_that_never_began_is_listed
            a_late_result_is_kept_beside_the_outcome
            an_attempt_of_a_closed_run_ends_quietly
            a_timed_out_attempt_may_still_report
            a_stale_report_leaves_the_others_alone
        }
        $crate::conformance_group! { $open, offered:
            an_end_is_written_with_the_decision
            an_end_may_close_its_run
            a_repeated_decision_counts_once
            what_was_acknowledged_first_comes_first
            a_dropped_message_is_not_overtaken
            what_is_not_as_foreseen_is_a_conflict
        }
        $crate::conformance_group! { $open, member:
            epochs_rise_across_openings
            a_store_that_stays_is_of_one_past
            a_heartbeat_is_kept
            a_heartbeat_of_somebody_else_is_gone
            a_dead_member_cannot_renew
            whoever_was_replaced_does_not_enter_again
            sightings_are_kept
            what_a_remote_worker_was_not_told_is_found_again
            a_member_is_told_what_it_has
            a_member_that_leaves_gives_all_back
            a_dead_members_work_is_swept_up
            a_dead_members_cancelled_attempt_is_over
            an_attempt_started_by_its_commit_dies_with_the_member
            a_worker_is_not_lost_for_ever
            a_remote_attempt_outlives_members
            sweeping_up_after_the_dead_is_bounded
        }
        $crate::conformance_group! { $open, parked:
            a_parked_run_is_taken_up_by_a_new_member
            a_turn_takes_its_run_out
            tries_are_counted_and_paced
            only_parked_runs_are_taken_up
            others_hear_when_a_parked_run_is_let_go
            parked_runs_are_told_of_and_listed
        }
        $crate::conformance_group! { $open, timer:
            timers_ring_in_order
            rings_are_bounded
            an_unset_timer_does_not_ring
            a_closed_run_has_no_alarms
            limits_of_a_run_ring
            an_activity_waits_too_long
            a_started_activity_waits_no_longer
            a_silent_remote_attempt_is_stopped
            a_native_attempt_is_not_timed_out_here
            all_attempts_together_take_too_long
            a_remote_attempt_of_a_closed_run_still_has_its_limit
            a_cancelled_attempt_times_out_for_good
            a_marked_activity_does_not_time_out
            rings_stand_in_line_with_messages
            a_request_arms_the_ladder_of_its_run
            the_ladder_of_a_parked_run_rings
            a_later_request_hastens_the_ladder
            a_repeated_request_arms_once
            a_cancel_from_another_run_arms_the_ladder
            a_run_that_closes_takes_its_ladder_along
        }
        $crate::conformance_group! { $open, watch:
            a_ready_run_is_hinted_at
            a_released_run_with_messages_is_hinted_at
            a_message_beside_a_first_turn_is_told
            a_message_for_a_held_run_is_hinted_at
            remote_work_is_hinted_at
            a_waiting_activity_is_hinted_at
            an_earlier_alarm_is_hinted_at
            a_cancelled_attempt_is_hinted_at
            work_for_sweeping_is_hinted_at
            a_changed_run_is_hinted_at
            questions_are_hinted_at
            every_listener_hears_everything
        }
        $crate::conformance_group! { $open, history:
            history_reads_back_as_written
            a_cut_inside_a_batch_brings_it_whole
            a_head_comes_alone
            a_snapshot_stands_for_what_was_before
            rows_of_activities_are_read
            a_provisional_turn_leaves_no_trace
            a_missing_run_reads_as_none
        }
        $crate::conformance_group! { $open, query:
            filters_leave_out_what_they_should
            runs_are_found_by_search_attributes
            pages_show_every_run_once
            pages_hold_while_runs_come_and_go
            a_list_goes_on_behind_what_is_not_meant
            a_page_looks_at_so_many_runs_and_no_more
            a_list_shows_heads
        }
        $crate::conformance_group! { $open, ask:
            a_question_is_answered
            a_question_may_be_refused
            anybody_answers_for_a_free_run
            a_question_for_another_member_waits
            a_question_has_a_deadline
            a_dropped_question_harms_nobody
            a_dead_member_answers_nothing
        }
        $crate::conformance_group! { $open, leftovers:
            a_run_alone_is_its_own_subtree
            a_subtree_follows_children_and_chains
            a_receipt_tells_how_far_a_cancel_has_come
            what_leaked_is_never_clean
            what_runs_on_after_its_limit_is_named
            what_was_left_is_named
            orphans_are_what_nobody_told
            a_large_subtree_is_told_in_part
            a_receipt_covers_the_whole_chain
            a_large_subtree_is_proven
        }
        $crate::conformance_group! { $open, unseen:
            a_retry_does_not_forget_it
            the_next_attempt_does_not_forget_it
            it_leaves_when_it_reports
            below_a_cancelled_run_it_waits_for_word
            what_had_run_is_not_called_unstarted
            whoever_was_given_up_may_say_what_runs_on
        }
        $crate::conformance_group! { $open, retention:
            closed_runs_are_kept
            expired_runs_go
            a_deleted_run_goes_completely
            a_close_may_be_a_deletion
            nothing_goes_before_its_subtree_is_settled
            a_receipt_keeps_its_runs
            expiry_is_bounded
            the_current_run_outlives_older_ones
            each_namespace_keeps_its_runs_for_its_own_time
            closed_links_go_while_the_chain_lives
            a_link_goes_when_what_is_below_it_is_settled
            what_was_left_keeps_the_way_to_it
            what_a_link_left_keeps_the_way_to_it
            what_a_link_left_is_named_while_the_newest_is_there
            what_a_link_left_is_named_while_any_other_is_there
            what_runs_on_keeps_the_way_to_it
        }
        $crate::conformance_group! { $open, catalog:
            a_shelf_keeps_what_was_put_there
            an_item_is_changed_by_one_at_a_time
            an_item_is_taken_away
            an_item_that_is_not_acceptable_changes_nothing
        }
        $crate::conformance_group! { $open, crash:
            what_was_posted_is_there
            what_was_committed_is_there
            what_was_closed_stays_closed
            what_was_started_stays_started
            what_was_settled_is_settled
            what_rang_has_rung
            what_was_marked_never_starts
            what_was_reported_is_there
            leases_do_not_outlive_their_member
            questions_and_hints_do_not_survive
            sweeping_goes_on_after_a_crash
        }
        $crate::conformance_group! { $open, damage:
            a_damaged_run_holds_up_no_timer
            a_damaged_alarm_holds_up_no_timer
            a_damaged_activity_holds_up_no_limit
            a_damaged_run_holds_up_no_takeover
            a_damaged_activity_holds_up_no_takeover
            a_damaged_run_holds_up_no_report
            a_damaged_activity_holds_up_no_report
            a_damaged_history_holds_up_no_crowd
            a_damaged_run_holds_up_no_forgetting
        }
        $crate::conformance_group! { $open, race:
            one_commit_of_many_wins
            no_acknowledged_message_is_lost_beside_a_close
            each_activity_starts_once
            nothing_starts_after_an_acknowledged_cancel
            an_attempt_has_one_outcome
        }
    };
}

/// The cases of one file.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_group {
    ($open:path, $group:ident: $($case:ident)*) => {
        mod $group {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::conformance::$group::$case(&$open());
                }
            )*
        }
    };
}

#[cfg(test)]
mod tests {
    /// A case that is written and not listed would never run, and nobody would notice.
    #[test]
    fn every_case_is_listed() {
        let listed = include_str!("conformance.rs");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance");
        let entries = std::fs::read_dir(folder).expect("it is there").map(|entry| entry.unwrap());
        let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
        let files: Vec<String> =
            files.map(|path| std::fs::read_to_string(path).expect("it reads")).collect();
        for line in files.iter().flat_map(|file| file.lines()) {
            let Some((name, _)) = line.strip_prefix("pub fn ").and_then(|l| l.split_once('('))
            else {
                continue;
            };
            let lines = listed.lines().filter(|line| line.trim() == name);
            assert_eq!(lines.count(), 1, "{name} stands in its file and not in the list");
        }
    }
}
