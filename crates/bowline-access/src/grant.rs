//! What somebody was given: rights, each in a namespace or everywhere.

use std::collections::BTreeMap;

use crate::{Right, Rights, limits};

/// The names under which every namespace is meant.
const EVERYWHERE: [&str; 2] = ["*", "temporal-system"];

/// Rights by namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    everywhere: Rights,
    within: BTreeMap<String, Rights>,
}

impl Grants {
    /// Every right, everywhere.
    pub fn all() -> Self {
        Self { everywhere: Rights::of(&Right::ALL), within: BTreeMap::new() }
    }

    /// Reads permissions, each `namespace:role`, and refuses what it does not know.
    ///
    /// # Errors
    /// If one is not understood; the text says which.
    pub fn strict<S: AsRef<str>>(permissions: &[S]) -> Result<Self, String> {
        let mut all = Self::default();
        if permissions.len() > limits::GRANTS {
            return Err(format!("there are more than {} permissions", limits::GRANTS));
        }
        for permission in permissions.iter().map(AsRef::as_ref) {
            if !all.add(permission) {
                return Err(format!(
                    "the permission {permission:?} is not understood: write NAMESPACE:ROLE, with \
                     read, worker, write, admin or a single right ({}) as the role, and * for \
                     every namespace",
                    Right::ALL.map(Right::name).join(", ")
                ));
            }
        }
        Ok(all)
    }

    /// Reads permissions as a token brings them: what is not understood gives no right.
    pub fn lenient<'a>(permissions: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for permission in permissions.take(limits::GRANTS) {
            all.add(permission);
        }
        all
    }

    fn add(&mut self, permission: &str) -> bool {
        // A namespace may have a colon in its name; a role has none.
        let Some((namespace, role)) = permission.rsplit_once(':') else { return false };
        let (Some(rights), false) = (Rights::named(role), namespace.is_empty()) else {
            return false;
        };
        let held = match EVERYWHERE.contains(&namespace) {
            true => &mut self.everywhere,
            false => self.within.entry(namespace.to_owned()).or_default(),
        };
        *held = held.and(rights);
        true
    }

    /// Whether a right is held in a namespace.
    pub fn has(&self, right: Right, namespace: &str) -> bool {
        let within = || self.within.get(namespace).is_some_and(|rights| rights.has(right));
        self.everywhere.has(right) || within()
    }

    /// Whether a right is held in every namespace.
    pub fn has_everywhere(&self, right: Right) -> bool {
        self.everywhere.has(right)
    }

    /// Whether a right is held in any namespace at all.
    pub fn has_somewhere(&self, right: Right) -> bool {
        self.everywhere.has(right) || self.within.values().any(|rights| rights.has(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_hold_where_they_were_given() {
        let grants = Grants::strict(&["orders:worker", "orders:start", "audit:read"]);
        let grants = grants.expect("they read");
        assert!(grants.has(Right::Work, "orders") && grants.has(Right::Start, "orders"));
        assert!(!grants.has(Right::Read, "orders"), "a role gives no more than it says");
        assert!(grants.has(Right::Read, "audit") && !grants.has(Right::Read, "other"));
        assert!(!grants.has_everywhere(Right::Read) && grants.has_somewhere(Right::Read));
        for all in ["*:admin", "temporal-system:admin"] {
            let grants = Grants::strict(&[all]).expect("it reads");
            assert!(grants.has_everywhere(Right::Administer) && grants.has(Right::Bulk, "any"));
        }
        let colon = Grants::strict(&["a:b:read"]).expect("it reads");
        assert!(colon.has(Right::Read, "a:b") && !colon.has(Right::Read, "a"));
    }

    #[test]
    fn what_is_not_understood_gives_nothing() {
        for bad in ["orders", ":read", "orders:", "orders:root", ""] {
            assert!(Grants::strict(&[bad]).is_err(), "{bad:?}");
            assert_eq!(Grants::lenient([bad].into_iter()), Grants::default(), "{bad:?}");
        }
        assert!(Grants::strict(&vec!["a:read"; limits::GRANTS + 1]).is_err());
    }
}
