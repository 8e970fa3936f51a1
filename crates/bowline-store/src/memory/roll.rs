//! Who has the store open: who is alive, who is gone for certain, and who only fell silent.
//!
//! In:    members that enter, report, leave; for many, the store's own clock.
//! Out:   whose word counts, and whose work is to be taken over.
//! Never: gives somebody up by the word of one who was out of reach as well.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bowline_core::{Epoch, Fence, Time};

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
    fate: Fate,
    lease: Duration,
    renewed_at: Time,
    /// Since when it was never silent for long.
    contact_since: Time,
    fences: u64,
}

/// What is known of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Alive,
    /// It is gone for certain, and its code with it.
    Gone,
    /// It was silent for too long: others have its work, and its code may run on.
    Silent,
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
    /// same process before, unless others gave it up: of its end no more is known than was seen.
    pub(super) fn enter(&mut self, opening: u64, epoch: Epoch, lease: Duration) {
        let shared = self.is_shared();
        for member in self.members.values_mut() {
            let replaced = member.opening == opening && member.fate == Fate::Alive;
            if !shared || replaced {
                member.fate = Fate::Gone;
            }
        }
        self.given_up = None;
        let (now, fate) = (self.now(), Fate::Alive);
        let (renewed_at, contact_since) = (now, now);
        let member = Member { opening, fate, lease, renewed_at, contact_since, fences: 0 };
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

    /// The member that an opening is now, and its lease.
    pub(super) fn of(&self, opening: u64) -> Option<(Epoch, Duration)> {
        let epoch = self.last_of(opening)?;
        self.members.get(&epoch).map(|member| (epoch, member.lease))
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

    /// A member is gone for certain.
    pub(super) fn bury(&mut self, epoch: Epoch) {
        if let Some(member) = self.members.get_mut(&epoch) {
            member.fate = Fate::Gone;
        }
    }

    pub(super) fn bury_all(&mut self) {
        self.members.values_mut().for_each(|member| member.fate = Fate::Gone);
        self.given_up = None;
    }

    /// Gives up whoever is alive, in a store of one.
    pub(super) fn evict(&mut self) {
        let alive = self.members.iter().find(|(_, member)| member.fate == Fate::Alive);
        self.given_up = alive.map(|(epoch, _)| *epoch);
        self.members.values_mut().for_each(|member| member.fate = Fate::Gone);
    }

    pub(super) fn is_alive(&self, epoch: Epoch) -> bool {
        self.members.get(&epoch).is_some_and(|member| member.fate == Fate::Alive)
    }

    /// Whether code of a member is known not to run any more.
    pub(super) fn is_gone(&self, epoch: Epoch) -> bool {
        self.members.get(&epoch).is_none_or(|member| member.fate == Fate::Gone)
    }

    /// Members whose code may run.
    pub(super) fn there(&self) -> impl Iterator<Item = Epoch> {
        let there = self.members.iter().filter(|(_, member)| member.fate != Fate::Gone);
        there.map(|(epoch, _)| *epoch)
    }

    /// A new lease of a member; none if it is not alive.
    pub(super) fn lend(&mut self, epoch: Epoch) -> Option<Fence> {
        let member = self.members.get_mut(&epoch).filter(|member| member.fate == Fate::Alive)?;
        member.fences += 1;
        Some(Fence { epoch, counter: member.fences })
    }
}
