//! What a store is told when it is opened, beside where the database is.

use std::time::Duration;

/// How a store uses its database. Made by [`Settings::default`] and changed field by field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The schema that the tables are in; it is made if it is missing. Letters, digits and
    /// underscores, so that it can be written everywhere as it is.
    pub schema: String,
    /// Connections for calls. Up to six more are used: for leases and hints, and for lists and
    /// subtrees, which may look at much.
    pub connections: usize,
    /// How many groups of calls are written at once. Each group is one statement.
    pub lanes: usize,
    /// Whether processes tell each other what happened. Without it, everybody finds out by
    /// looking now and then: later, and with the same result.
    pub hints: bool,
    /// Whether processes watch each other's sessions: then one that was killed is given up within
    /// about a second, and not when its lease has run out. So is one that is cut off from the
    /// database, while others are not: its code may run on beside that of its successor, until it
    /// hears of it or its own lease is over. Needs `hints`, sessions of its own in the database (a
    /// pooler of transactions has none), and the right to see those of the others, which whoever
    /// connects as the same role has. Where one of these is missing, leases alone count.
    pub sessions: bool,
    /// How often everything is looked at, in case a hint was lost.
    pub poll: Duration,
    /// How long a group of calls waits for rows that somebody else's transaction has locked. Then
    /// the calls that need them wait by themselves, and the others go on.
    pub locks: Duration,
    /// How long the database may take for one answer, and a connection to be had.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schema: "bowline".into(),
            connections: 8,
            lanes: 4,
            hints: true,
            sessions: true,
            poll: Duration::from_secs(5),
            locks: Duration::from_millis(100),
            patience: Duration::from_secs(30),
        }
    }
}
