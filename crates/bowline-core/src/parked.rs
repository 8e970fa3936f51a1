//! Runs whose code cannot go on: why, since when, who has tried, and who may try next.
//!
//! A process that cannot go on with a run says so on the run's row and lets go of it. Others may
//! have the code that fits: an older or a newer build, or one with more registered. So each process
//! tries once; one that is known to have other code at once, any other one after a pause that grows
//! with the tries. Nobody has to look for them meanwhile, and whatever comes for the run is kept.

use std::time::Duration;

use minicbor::{Decode, Encode};

use crate::{
    Epoch, Time, limits,
    planted::{Defect, planted},
};

/// Why nobody works on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Parked {
    /// Since when: the first time that somebody could not go on with it.
    #[n(0)]
    pub since: Time,
    /// How often its turn has failed in a row, for whoever tried last.
    #[n(1)]
    pub failures: u32,
    /// How it failed last.
    #[n(2)]
    pub reason: String,
    /// How many have tried and given up.
    #[cbor(n(3), default)]
    pub tries: u32,
    /// Who these were, the last ones at least.
    #[cbor(n(4), default)]
    pub tried: Vec<Tried>,
    /// Not before this moment is it tried by code that may be the same.
    #[n(5)]
    pub next: Option<Time>,
    /// Before this moment it is expected that another process takes it up: nobody is told that the
    /// run is parked.
    #[n(6)]
    pub told_from: Option<Time>,
    /// Trying it does harm: it holds a thread for ever, or takes the process down.
    #[cbor(n(7), default)]
    pub harms: bool,
}

/// A process that could not go on with a run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Tried {
    /// Its opening of the store.
    #[n(0)]
    pub epoch: Epoch,
    /// The build of its code, in the application's own words; empty if it says nothing.
    #[n(1)]
    pub build: String,
}

/// What somebody met who tried to go on with a run.
#[derive(Clone, Debug)]
pub struct GaveUp {
    /// Who.
    pub by: Tried,
    /// How often its turn has failed in a row.
    pub failures: u32,
    /// How it failed.
    pub reason: String,
    /// Trying it again with the same code does harm.
    pub harms: bool,
    /// There are other processes, which may have other code.
    pub others: bool,
}

impl GaveUp {
    /// What is stored of the run does not read. Another version may read it.
    pub fn reading(epoch: Epoch, reason: String) -> Self {
        let by = Tried { epoch, build: String::new() };
        Self { by, failures: 1, reason, harms: false, others: false }
    }
}

/// When a process may try a parked run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayTry {
    /// Now.
    Now,
    /// From this moment on.
    At(Time),
    /// Never, unless somebody says so: it has tried, or there is harm in it.
    Never,
}

impl Parked {
    /// Somebody could not go on with a run. What was known of it before is kept.
    pub fn after(before: Option<&Self>, gave_up: GaveUp, now: Time) -> Self {
        let GaveUp { by, failures, reason, harms, others } = gave_up;
        let mut tried = before.map(|before| before.tried.clone()).unwrap_or_default();
        tried.retain(|one| one.epoch != by.epoch);
        tried.push(by);
        let more = tried.len().saturating_sub(limits::TRIED_MAX);
        tried.drain(..more);
        let tries = before.map_or(0, |before| before.tries).saturating_add(1);
        let told_from = match before {
            // Whoever was told does not unhear it.
            Some(before) => before.told_from,
            None => others.then(|| now.after(limits::PASSED_ON)),
        };
        Self {
            since: before.map_or(now, |before| before.since),
            failures,
            reason,
            tries,
            tried,
            next: Some(now.after(pause(tries))),
            told_from,
            harms,
        }
    }

    /// When a process may try to go on with the run.
    pub fn may_try(&self, epoch: Epoch, build: &str, now: Time) -> MayTry {
        if self.tried.iter().any(|one| one.epoch == epoch) || planted(Defect::ParkedForGood) {
            return MayTry::Never;
        }
        if self.told_from.is_some() && planted(Defect::MixedBuilds) {
            return MayTry::Never;
        }
        let is_other = !build.is_empty() && self.tried.iter().all(|one| one.build != build);
        match self.next {
            _ if is_other => MayTry::Now,
            _ if self.harms => MayTry::Never,
            Some(next) if next > now => MayTry::At(next),
            _ => MayTry::Now,
        }
    }

    /// Whether those who wait for the run's code should know. Before that moment another process
    /// may take it up, and they are none the wiser.
    pub fn is_told(&self, now: Time) -> bool {
        self.told_from.is_none_or(|from| from <= now)
    }
}

/// How long a run waits after so many tries, before code tries it that may be the same.
fn pause(tries: u32) -> Duration {
    match tries.checked_sub(2) {
        None => Duration::ZERO,
        Some(more) => {
            limits::PARKED_PAUSE.saturating_mul(1 << more.min(16)).min(limits::PARKED_MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gave_up(epoch: u64, build: &str) -> GaveUp {
        let by = Tried { epoch: Epoch(epoch), build: build.into() };
        let reason = format!("said by {epoch}");
        GaveUp { by, failures: 1, reason, harms: false, others: false }
    }

    fn at(seconds: u64) -> Time {
        Time(0).after(Duration::from_secs(seconds))
    }

    #[test]
    fn another_process_tries_at_once_and_each_of_them_once() {
        let parked = Parked::after(None, gave_up(1, ""), at(0));
        assert_eq!(parked.may_try(Epoch(1), "", at(9_999)), MayTry::Never);
        assert_eq!(parked.may_try(Epoch(2), "", at(0)), MayTry::Now);
        let parked = Parked::after(Some(&parked), gave_up(2, ""), at(5));
        assert_eq!((parked.since, parked.tries), (at(0), 2));
        assert_eq!(parked.reason, "said by 2");
        assert_eq!(parked.may_try(Epoch(2), "", at(9_999)), MayTry::Never);
        assert_eq!(parked.may_try(Epoch(3), "", at(5)), MayTry::At(at(6)));
        assert_eq!(parked.may_try(Epoch(3), "", at(6)), MayTry::Now);
    }

    #[test]
    fn pauses_grow_up_to_a_bound_and_so_does_what_is_remembered() {
        let mut parked = Parked::after(None, gave_up(1, ""), at(0));
        let mut pauses = Vec::new();
        for epoch in 2..40 {
            parked = Parked::after(Some(&parked), gave_up(epoch, ""), at(0));
            pauses.push(parked.next.expect("there is a next time").since(at(0)).as_secs());
        }
        assert_eq!(pauses[..5], [1, 2, 4, 8, 16]);
        assert_eq!(pauses.last(), Some(&limits::PARKED_MAX.as_secs()));
        assert_eq!(parked.tried.len(), limits::TRIED_MAX);
        assert_eq!((parked.since, parked.tries), (at(0), 39));
    }

    #[test]
    fn a_build_that_has_not_tried_does_so_at_once() {
        let parked = Parked::after(None, gave_up(1, "a"), at(0));
        let parked = Parked::after(Some(&parked), gave_up(2, "a"), at(0));
        assert_eq!(parked.may_try(Epoch(3), "a", at(0)), MayTry::At(at(1)), "the same code");
        assert_eq!(parked.may_try(Epoch(3), "b", at(0)), MayTry::Now, "other code");
        assert_eq!(parked.may_try(Epoch(3), "", at(0)), MayTry::At(at(1)), "nobody knows");
    }

    #[test]
    fn what_does_harm_is_tried_by_other_code_alone() {
        let harm = GaveUp { harms: true, ..gave_up(1, "a") };
        let parked = Parked::after(None, harm, at(0));
        assert_eq!(parked.may_try(Epoch(2), "", at(9_999)), MayTry::Never);
        assert_eq!(parked.may_try(Epoch(2), "a", at(9_999)), MayTry::Never);
        assert_eq!(parked.may_try(Epoch(2), "b", at(0)), MayTry::Now);
    }

    #[test]
    fn nobody_is_told_while_others_may_take_it_up() {
        let alone = Parked::after(None, gave_up(1, ""), at(0));
        assert!(alone.is_told(at(0)));
        let among = Parked::after(None, GaveUp { others: true, ..gave_up(1, "") }, at(0));
        assert!(!among.is_told(at(0)));
        assert!(among.is_told(Time(0).after(limits::PASSED_ON)));
        let again = Parked::after(Some(&among), GaveUp { others: true, ..gave_up(2, "") }, at(1));
        assert_eq!(again.told_from, among.told_from, "it is not put off again and again");
    }

    #[test]
    fn what_older_versions_wrote_is_read() {
        #[derive(Encode)]
        struct Old(#[n(0)] Time, #[n(1)] u32, #[n(2)] String);
        let bytes = minicbor::to_vec(Old(at(1), 3, "panicked".into())).expect("it is written");
        let read: Parked = minicbor::decode(&bytes).expect("it is read");
        let (since, reason) = (at(1), "panicked".into());
        assert_eq!(read, Parked { since, failures: 3, reason, ..Parked::default() });
        assert_eq!(read.may_try(Epoch(7), "", at(1)), MayTry::Now);
    }
}
