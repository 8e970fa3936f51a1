//! What a call needs: one line for each, in the tables that doors have.

use crate::{Caller, Right};

/// Which rights a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// None: who asks need not be known.
    Nothing,
    /// All of these; where there are none, it is enough to be known.
    All(&'static [Right]),
    /// One of these.
    Any(&'static [Right]),
    /// To cancel a run: `cancel` is enough for one's own.
    Cancel,
}

/// Where they are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// In the namespace that the request names.
    Named,
    /// In any namespace: what is shown is only what the caller may see.
    Somewhere,
    /// In every namespace.
    Everywhere,
}

/// One line of a table: a call, or a route, and what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// As its protocol names it.
    pub call: &'static str,
    /// Which rights.
    pub need: Need,
    /// Where.
    pub reach: Reach,
}

impl Row {
    /// A call that needs all of these rights in the namespace that it names.
    pub const fn new(call: &'static str, rights: &'static [Right]) -> Self {
        Self { call, need: Need::All(rights), reach: Reach::Named }
    }

    /// The same with another need.
    pub const fn needs(call: &'static str, need: Need) -> Self {
        Self { call, need, reach: Reach::Named }
    }

    /// The same elsewhere.
    pub const fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Whether a call of this kind stands in the audit log when it is allowed.
    pub fn is_change(&self) -> bool {
        match self.need {
            Need::Nothing => false,
            Need::Cancel => true,
            Need::All(rights) | Need::Any(rights) => {
                !rights.is_empty() && rights.iter().all(|right| right.is_change())
            }
        }
    }

    /// The right that a caller lacks for it; none if nothing is lacking.
    pub fn lacks(&self, caller: &Caller, namespace: &str) -> Option<Right> {
        let has = |right: Right| match self.reach {
            Reach::Named => caller.may(right, namespace),
            Reach::Somewhere => caller.grants().has_somewhere(right),
            Reach::Everywhere => caller.grants().has_everywhere(right),
        };
        match self.need {
            Need::Nothing => None,
            Need::All(rights) => rights.iter().copied().find(|right| !has(*right)),
            Need::Any(rights) => match rights.iter().any(|right| has(*right)) {
                true => None,
                false => rights.first().copied(),
            },
            Need::Cancel => (!has(Right::Cancel)).then_some(Right::Cancel),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Grants, How};

    fn caller(permissions: &[&str]) -> Caller {
        let grants = Grants::strict(permissions).expect("they read");
        Caller::new(How::Key, "me", Arc::new(grants))
    }

    #[test]
    fn each_kind_of_need_is_met_or_not() {
        let both = Row::new("x", &[Right::Start, Right::Signal]);
        assert_eq!(both.lacks(&caller(&["a:start"]), "a"), Some(Right::Signal));
        assert_eq!(both.lacks(&caller(&["a:start", "a:signal"]), "a"), None);
        assert_eq!(both.lacks(&caller(&["a:start", "a:signal"]), "b"), Some(Right::Start));
        let either = Row::needs("x", Need::Any(&[Right::Read, Right::Work]));
        assert_eq!(either.lacks(&caller(&["a:worker"]), "a"), None);
        assert_eq!(either.lacks(&caller(&["a:start"]), "a"), Some(Right::Read));
        let cancel = Row::needs("x", Need::Cancel);
        assert_eq!(cancel.lacks(&caller(&["a:cancel"]), "a"), None);
        assert_eq!(cancel.lacks(&caller(&["a:terminate"]), "a"), Some(Right::Cancel));
        let every = Row::new("x", &[Right::Administer]).reaching(Reach::Everywhere);
        assert_eq!(every.lacks(&caller(&["a:admin"]), "a"), Some(Right::Administer));
        assert_eq!(every.lacks(&caller(&["*:admin"]), "a"), None);
        let some = Row::new("x", &[Right::Read]).reaching(Reach::Somewhere);
        assert_eq!(some.lacks(&caller(&["b:read"]), ""), None);
        assert_eq!(Row::needs("x", Need::Nothing).lacks(&caller(&[]), ""), None);
    }

    #[test]
    fn looking_and_working_are_no_changes() {
        assert!(!Row::new("x", &[]).is_change(), "who one is");
        assert!(!either_row().is_change() && Row::needs("x", Need::Cancel).is_change());
        assert!(Row::new("x", &[Right::Start, Right::Signal]).is_change());
    }

    fn either_row() -> Row {
        Row::needs("x", Need::Any(&[Right::Read, Right::Work]))
    }
}
