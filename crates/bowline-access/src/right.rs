//! The rights that there are, and sets of them.

use std::fmt;

/// What somebody may do in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Right {
    /// See runs, their histories, queues and workers; query a run.
    Read,
    /// Start runs.
    Start,
    /// Signal and update runs.
    Signal,
    /// Be a worker: take turns and activities, and answer them.
    Work,
    /// Cancel runs that the caller has started.
    Cancel,
    /// Cancel runs that others have started.
    CancelOthers,
    /// Terminate runs: no clean-up runs.
    Terminate,
    /// Do something to many runs with one request.
    Bulk,
    /// Delete runs.
    Delete,
    /// Change namespaces, workers and what else belongs to nobody's run.
    Administer,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Read,
        Self::Start,
        Self::Signal,
        Self::Work,
        Self::Cancel,
        Self::CancelOthers,
        Self::Terminate,
        Self::Bulk,
        Self::Delete,
        Self::Administer,
    ];

    /// How it is written in permissions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Start => "start",
            Self::Signal => "signal",
            Self::Work => "work",
            Self::Cancel => "cancel",
            Self::CancelOthers => "cancel_others",
            Self::Terminate => "terminate",
            Self::Bulk => "bulk",
            Self::Delete => "delete",
            Self::Administer => "administer",
        }
    }

    /// Whether a request that needs it changes something that the audit log tells of. What workers
    /// say of the work that they were given stands in the histories.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::Read | Self::Work)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Several rights.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Rights(u16);

impl Rights {
    /// None.
    pub const NONE: Self = Self(0);

    /// All of these.
    pub fn of(rights: &[Right]) -> Self {
        rights.iter().fold(Self::NONE, |all, right| all.with(*right))
    }

    /// The rights that a word stands for: a right, or a role.
    pub fn named(word: &str) -> Option<Self> {
        let all = Self::of(&Right::ALL);
        Some(match word {
            "worker" => Self::of(&[Right::Work]),
            "write" => Self(all.0 & !Self::of(&[Right::Administer]).0),
            "admin" => all,
            // Whoever may cancel what others have started may cancel what is their own.
            "cancel_others" => Self::of(&[Right::Cancel, Right::CancelOthers]),
            _ => Self::of(&[*Right::ALL.iter().find(|right| right.name() == word)?]),
        })
    }

    /// These and one more.
    pub fn with(self, right: Right) -> Self {
        Self(self.0 | 1 << right as u16)
    }

    /// These and those.
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether this one is among them.
    pub fn has(self, right: Right) -> bool {
        self.0 & 1 << right as u16 != 0
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Right::ALL.iter().filter(|right| self.has(**right))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_rights_have_names() {
        for right in Right::ALL {
            assert!(Rights::named(right.name()).is_some_and(|rights| rights.has(right)));
        }
        let write = Rights::named("write").expect("a role");
        assert!(Right::ALL.iter().all(|right| write.has(*right) != (*right == Right::Administer)));
        assert_eq!(Rights::named("worker"), Some(Rights::of(&[Right::Work])));
        assert_eq!(Rights::named("admin"), Some(Rights::of(&Right::ALL)));
        assert_eq!(Rights::named("cancel"), Some(Rights::of(&[Right::Cancel])));
        for unknown in ["", "Read", "root", "*", "undefined"] {
            assert_eq!(Rights::named(unknown), None, "{unknown}");
        }
    }
}
