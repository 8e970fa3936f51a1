//! Who asks.

use std::{fmt, sync::Arc};

use crate::{Grants, Right, limits};

/// How somebody has shown who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// By an API key.
    Key,
    /// By a signed token.
    Token,
    /// By a certificate of the connection.
    Certificate,
    /// By being a user of this machine, who may open the store's file.
    User,
}

impl How {
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Token => "jwt",
            Self::Certificate => "cert",
            Self::User => "user",
        }
    }
}

/// Who asks, and what they may do.
#[derive(Clone)]
pub struct Caller {
    who: Arc<str>,
    how: How,
    grants: Arc<Grants>,
}

/// Between a caller's name and what the request says of itself.
const SAID: &str = " (said ";

impl Caller {
    /// Somebody who has shown that this is their name.
    pub fn new(how: How, name: &str, grants: Arc<Grants>) -> Self {
        // Whatever stands behind the name must not look as if it stood in it.
        let mut kept: String = name
            .chars()
            .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c })
            .collect();
        kept.truncate(kept.floor_char_boundary(limits::WHO));
        Self { who: format!("{}:{kept}", how.name()).into(), how, grants }
    }

    /// The name, with how it was shown before it: `key:deploy`, `jwt:alice`, `cert:worker-1`.
    pub fn who(&self) -> &str {
        &self.who
    }

    /// How they have shown who they are.
    pub fn how(&self) -> How {
        self.how
    }

    /// What they may do.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Whether a right is held in a namespace.
    pub fn may(&self, right: Right, namespace: &str) -> bool {
        self.grants.has(right, namespace)
    }

    /// The name under which a request of this caller is written down. What the request says of
    /// itself is hearsay, and stands behind it.
    pub fn signs(&self, said: &str) -> String {
        if said.is_empty() || said == &*self.who {
            return self.who.to_string();
        }
        let said: String = said.chars().filter(|c| !c.is_control()).collect();
        format!("{}{SAID}{})", self.who, &said[..said.floor_char_boundary(limits::SAID)])
    }

    /// Whether this was written down for a request of this caller.
    pub fn signed(&self, identity: &str) -> bool {
        let rest = identity.strip_prefix(&*self.who);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(SAID))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("who", &self.who).field("grants", &self.grants).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Caller {
        Caller::new(How::Key, name, Arc::default())
    }

    #[test]
    fn what_a_request_says_of_itself_is_hearsay() {
        let alice = caller("alice");
        assert_eq!(alice.signs(""), "key:alice");
        assert_eq!(alice.signs("7@host"), "key:alice (said 7@host)");
        assert_eq!(alice.signs("key:bob"), "key:alice (said key:bob)");
        assert!(alice.signed("key:alice") && alice.signed(&alice.signs("anything")));
        assert!(!alice.signed("key:alice2") && !alice.signed("key:bob (said key:alice)"));
        assert!(!alice.signed("alice") && !alice.signed(""));
        assert!(alice.signs(&"x".repeat(10_000)).len() < 700);
        assert!(!alice.signs("a\nb\u{7}").contains(['\n', '\u{7}']));
    }

    /// Or one could have a name that reads as another one's with something behind it.
    #[test]
    fn a_name_has_no_gaps_and_an_end() {
        let sly = caller("alice (said x)");
        assert_eq!(sly.who(), "key:alice_(said_x)");
        assert!(!caller("alice").signed(sly.who()));
        assert!(caller(&"ä".repeat(1_000)).who().len() <= limits::WHO + 4);
    }
}
