//! Who has the store open: who is alive, who is gone for certain, and who only fell silent.
//!
//! In:    members that enter, report, leave; for many, the store's own clock.
//! Out:   whose word counts, and whose work is to be taken over.
//! Never: gives somebody up by the word of one who was out of reach as well.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bowline_core::{Epoch, Fence, Gone, Identity, Time};

use crate::{Attest, Attested, Join, Process, SilentMember, Whom, Witness};

/// The clock of a store that many have open: what is late is decided by it alone.
pub(super) type StoreClock = Arc<dyn Fn() -> Time + Send + Sync>;

/// Everybody who ever entered and of whom something may be left.
#[derive(Default)]
pub(super) struct Roll {
    members: BTreeMap<Epoch, Member>,
    /// Set if many processes have the store open. Otherwise whoever enters replaces all others.
    clock: Option<StoreClock>,
    openings: u64,
    /// In a store of one: who was given up, and may enter again.
    given_up: Option<Epoch>,
}

struct Member {
    opening: u64,
    identity: Identity,
    process: Option<Process>,
    fate: Fate,
    lease: Duration,
    renewed_at: Time,
    /// Since when it was never silent for long.
    contact_since: Time,
    fences: u64,
}

/// What is known of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Alive,
    /// It is gone for certain, and its code with it.
    Gone,
    /// It was silent for too long: others have its work, and its code may run on.
    Silent,
    /// It is back as somebody new, while code of what it was is known to run on.
    Back,
    /// Somebody said that it is gone: who, and when.
    Said(Identity, Time),
}

impl Roll {
    pub(super) fn shared(clock: StoreClock) -> Self {
        Self { clock: Some(clock), ..Self::default() }
    }

    /// A process opens the store.
    pub(super) fn open(&mut self) -> u64 {
        self.openings += 1;
        self.openings
    }

    pub(super) fn is_shared(&self) -> bool {
        self.clock.is_some()
    }

    fn now(&self) -> Time {
        self.clock.as_ref().map_or(Time(0), |clock| clock())
    }

    /// Whether a member may enter again as somebody new; anybody may enter for the first time.
    pub(super) fn may_enter(&self, opening: u64, again: Option<Epoch>) -> bool {
        let before = match self.is_shared() {
            true => self.last_of(opening),
            false => self.given_up,
        };
        again.is_none() || again == before
    }

    fn last_of(&self, opening: u64) -> Option<Epoch> {
        let own = self.members.iter().rev().find(|(_, member)| member.opening == opening);
        own.map(|(epoch, _)| *epoch)
    }

    /// A member enters. In a store of one all before it are dead; among many, only whoever was the
    /// same process before, which says itself whether code of that runs on.
    pub(super) fn enter(&mut self, opening: u64, epoch: Epoch, join: &Join) {
        let shared = self.is_shared();
        let runs_on = join.again.is_some() && join.runs_on;
        for member in self.members.values_mut() {
            if !shared || member.opening == opening {
                member.end(runs_on);
            }
        }
        self.given_up = None;
        let member = Member {
            opening,
            identity: join.identity.clone(),
            process: join.process.clone(),
            fate: Fate::Alive,
            lease: join.lease,
            renewed_at: self.now(),
            contact_since: self.now(),
            fences: 0,
        };
        self.members.insert(epoch, member);
    }

    /// Extends a lease; false if the member is not alive. Whoever was silent for half of its lease
    /// was not in unbroken contact.
    pub(super) fn extend(&mut self, epoch: Epoch, lease: Duration) -> bool {
        let now = self.now();
        let own = self.members.get_mut(&epoch).filter(|member| member.fate == Fate::Alive);
        let Some(member) = own else { return false };
        if now > member.renewed_at.after(member.lease / 2) {
            member.contact_since = now;
        }
        member.renewed_at = now;
        member.lease = lease;
        true
    }

    /// Whether anybody but this member is alive.
    pub(super) fn has_others(&self, epoch: Epoch) -> bool {
        let mut alive = self.members.iter().filter(|(_, member)| member.fate == Fate::Alive);
        alive.any(|(other, _)| *other != epoch)
    }

    /// The member that an opening is now, and its lease.
    pub(super) fn of(&self, opening: u64) -> Option<(Epoch, Duration)> {
        let epoch = self.last_of(opening)?;
        self.members.get(&epoch).map(|member| (epoch, member.lease))
    }

    /// For how long an opening has not extended its lease; none where nobody is given up for that.
    pub(super) fn silence(&self, opening: u64) -> Option<Duration> {
        let epoch = self.last_of(opening).filter(|_| self.is_shared())?;
        self.members.get(&epoch).map(|member| self.now().since(member.renewed_at))
    }

    /// Whether somebody is late.
    pub(super) fn is_one_late(&self) -> bool {
        let now = self.now();
        let alive = self.members.values().filter(|member| member.fate == Fate::Alive);
        self.is_shared() && alive.into_iter().any(|late| now > late.renewed_at.after(late.lease))
    }

    /// Gives up members that were silent for longer than their lease, if this one has been in
    /// touch for as long: after an outage nobody has, and nobody loses anything.
    pub(super) fn fence(&mut self, epoch: Epoch) {
        let now = self.now();
        let Some(own) = self.members.get(&epoch).filter(|_| self.clock.is_some()) else { return };
        let in_touch = now < own.renewed_at.after(own.lease) && own.fate == Fate::Alive;
        let since = own.contact_since;
        for (other, member) in &mut self.members {
            let late = now > member.renewed_at.after(member.lease)
                && now > since.after(member.lease)
                && member.fate == Fate::Alive;
            if in_touch && late && *other != epoch {
                member.fate = Fate::Silent;
            }
        }
    }

    /// A member is over for certain, and what it was before it entered again.
    pub(super) fn bury(&mut self, epoch: Epoch, runs_on: bool) {
        let Some(opening) = self.members.get(&epoch).map(|member| member.opening) else { return };
        let own = self.members.iter_mut().filter(|(other, member)| {
            **other == epoch || (member.opening == opening && member.fate != Fate::Alive)
        });
        own.for_each(|(_, member)| member.end(runs_on));
    }

    /// Somebody says that members are gone. Only who fell silent is believed to be.
    pub(super) fn attest(&mut self, attest: &Attest) -> Attested {
        let mut attested = Attested::default();
        for (epoch, member) in &mut self.members {
            let is_meant = match &attest.whom {
                Whom::Epoch(one) => one == epoch,
                Whom::Identity(one) => *one == member.identity,
                Whom::Host(one) => member.process.as_ref().is_some_and(|own| own.host == *one),
            };
            let name = (*epoch, member.identity.clone());
            match member.fate {
                _ if !is_meant => {}
                Fate::Gone => {}
                Fate::Alive => attested.alive.push(name),
                _ => {
                    attested.gone.push(name);
                    member.fate = match &attest.witness {
                        Witness::Host => Fate::Gone,
                        Witness::Person(by) => Fate::Said(by.clone(), attest.now),
                    };
                }
            }
        }
        attested
    }

    /// Members of which nobody has seen the end.
    pub(super) fn silent(&self) -> Vec<SilentMember> {
        let silent = self
            .members
            .iter()
            .filter(|(_, member)| !matches!(member.fate, Fate::Alive | Fate::Gone));
        silent
            .map(|(epoch, member)| SilentMember {
                epoch: *epoch,
                identity: member.identity.clone(),
                process: member.process.clone(),
            })
            .collect()
    }

    pub(super) fn bury_all(&mut self) {
        self.members.values_mut().for_each(|member| member.fate = Fate::Gone);
        self.given_up = None;
    }

    /// Gives up whoever is alive, in a store of one.
    pub(super) fn evict(&mut self) {
        let alive = self.members.iter().find(|(_, member)| member.fate == Fate::Alive);
        self.given_up = alive.map(|(epoch, _)| *epoch);
        let alive = self.members.values_mut().filter(|member| member.fate == Fate::Alive);
        alive.for_each(|member| member.fate = Fate::Silent);
    }

    pub(super) fn is_alive(&self, epoch: Epoch) -> bool {
        self.members.get(&epoch).is_some_and(|member| member.fate == Fate::Alive)
    }

    /// Whether what a member had is known to be over, except for what is known to run on.
    pub(super) fn is_over(&self, epoch: Epoch) -> bool {
        matches!(self.gone(epoch), Some(Gone::Seen | Gone::Back))
    }

    /// What is known of the process of a member.
    pub(super) fn gone(&self, epoch: Epoch) -> Option<Gone> {
        match self.members.get(&epoch).map(|member| &member.fate) {
            None | Some(Fate::Gone) => Some(Gone::Seen),
            Some(Fate::Alive | Fate::Silent) => None,
            Some(Fate::Back) => Some(Gone::Back),
            Some(Fate::Said(by, at)) => Some(Gone::Said(by.clone(), *at)),
        }
    }

    /// A new lease of a member; none if it is not alive.
    pub(super) fn lend(&mut self, epoch: Epoch) -> Option<Fence> {
        let member = self.members.get_mut(&epoch).filter(|member| member.fate == Fate::Alive)?;
        member.fences += 1;
        Some(Fence { epoch, counter: member.fences })
    }
}

impl Member {
    /// It is over for certain; with code that is known to run on, only what fell silent is.
    fn end(&mut self, runs_on: bool) {
        if self.fate != Fate::Gone {
            self.fate = if runs_on { Fate::Back } else { Fate::Gone };
        }
    }
}
