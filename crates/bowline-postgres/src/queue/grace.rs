//! When everybody knows that a member was given up.
//!
//! Whatever is begun in the name of a member looks first whether it is alive, and sees it as it was
//! when its statement began. A statement that waited may commit long after the member was given up.
//! So a member is not forgotten before every transaction has ended that had looked at members by
//! the time it was seen to be given up: whatever they have begun in its name is seen then, and
//! those that come later know.
//!
//! Nothing is locked for that, which every commit would pay for: the lock that the server keeps on
//! every table that a transaction has used tells who they are.

use std::collections::{BTreeSet, HashMap};

use crate::{
    connection::db::{Db, Outcome},
    limits,
    shared::Shared,
};

/// Transactions that have looked at members, and have not ended.
const LOOKED: &str = "SELECT DISTINCT virtualtransaction FROM pg_locks \
    WHERE locktype = 'relation' AND relation = '@members'::regclass \
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND pid IS DISTINCT FROM pg_backend_pid()";

/// Of each member that is to be forgotten: who may not know that it was given up.
#[derive(Debug, Default)]
pub(crate) struct Grace(HashMap<i64, BTreeSet<String>>);

impl Grace {
    /// Those members of whom everybody knows.
    fn known(&mut self, given_up: &[i64], running: &BTreeSet<String>) -> Vec<i64> {
        self.0.retain(|epoch, _| given_up.contains(epoch));
        let mut known = Vec::new();
        for epoch in given_up {
            let unaware = self.0.entry(*epoch).or_insert_with(|| running.clone());
            unaware.retain(|transaction| running.contains(transaction));
            if unaware.is_empty() {
                known.push(*epoch);
            }
        }
        known
    }
}

/// Waits for a moment until everybody knows that these were given up. Of the others it is
/// remembered who did not: the next time will do.
pub(crate) async fn known(shared: &Shared, db: Db<'_>, given_up: &[i64]) -> Outcome<Vec<i64>> {
    let mut looks = 0;
    while !given_up.is_empty() {
        let running = running(db).await?;
        let known = shared.grace.lock().known(given_up, &running);
        looks += 1;
        if known.len() == given_up.len() || looks == limits::GRACE_LOOKS {
            return Ok(known);
        }
        tokio::time::sleep(limits::GRACE_PAUSE).await;
    }
    Ok(Vec::new())
}

async fn running(db: Db<'_>) -> Outcome<BTreeSet<String>> {
    db.rows(LOOKED, &[]).await?.iter().map(|row| row.try_get(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_looked_before_is_waited_for() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut grace = Grace::default();
        assert_eq!(grace.known(&[1], &of(&["3/7", "4/1"])), []);
        assert_eq!(grace.known(&[1, 2], &of(&["3/7", "5/1"])), []);
        assert_eq!(grace.known(&[1, 2], &of(&["3/8", "5/1"])), [1], "5/1 came later");
        assert_eq!(grace.known(&[2], &of(&["3/9"])), [2]);
        assert_eq!(grace.known(&[3], &of(&[])), [3]);
        assert!(grace.0.len() == 1, "what is forgotten is not remembered");
    }
}
