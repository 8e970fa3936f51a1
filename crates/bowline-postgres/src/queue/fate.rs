//! What is known of the processes of members.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{Epoch, Gone, Identity, Time};
use bowline_store::{Attest, Attested, Hint, Process, SilentMember, Whom, Witness};

use crate::{
    connection::{
        db::{Db, Outcome, Value},
        row::Row,
    },
    limits,
    rows::blob::{count, int, number},
    shared::Shared,
};

/// Seen to be gone: it said goodbye, or somebody on its host has looked.
pub(crate) const GONE: i16 = 1;
/// Back under a newer epoch, while code of this one is known to run on.
pub(crate) const BACK: i16 = 3;
/// Said to be gone.
pub(crate) const SAID: i16 = 4;

/// What is known of the process of each epoch that has a row.
pub(crate) struct Fates(BTreeMap<Epoch, Option<Gone>>);

impl Fates {
    pub(crate) async fn read(db: Db<'_>) -> Outcome<Self> {
        let sql = "SELECT epoch, state, gone_by, gone_at FROM @members";
        let mut fates = BTreeMap::new();
        for row in &db.rows(sql, &[]).await? {
            let (state, by): (i16, Option<&str>) = (row.try_get(1)?, row.try_get(2)?);
            let at: Option<i64> = row.try_get(3)?;
            let at = Time(at.unwrap_or(0));
            let gone = match state {
                GONE => Some(Gone::Seen),
                BACK => Some(Gone::Back),
                SAID => Some(Gone::Said(Identity::from(by.unwrap_or_default()), at)),
                _ => None,
            };
            fates.insert(Epoch(number(row, 0)?), gone);
        }
        Ok(Self(fates))
    }

    /// Whoever has no row any more is gone: rows stay while an attempt names them.
    pub(crate) fn of(&self, epoch: Epoch) -> Option<Gone> {
        self.0.get(&epoch).cloned().unwrap_or(Some(Gone::Seen))
    }
}

/// What a member is that is over for certain. With code that is known to run on, only what fell
/// silent is over.
pub(crate) fn over(runs_on: bool) -> i16 {
    if runs_on { BACK } else { GONE }
}

/// A member is over for certain, and so is what it was before it entered again.
pub(crate) async fn end(db: Db<'_>, epoch: Epoch, runs_on: bool) -> Outcome<bool> {
    let state = over(runs_on);
    let sql = "UPDATE @members SET state = $2 WHERE state <> 1 AND (epoch = $1 OR (state <> 0 \
               AND origin = (SELECT origin FROM @members WHERE epoch = $1))) RETURNING 1";
    Ok(!db.change(sql, &[&int(epoch.0), &state]).await?.is_empty())
}

/// Members of which nobody has seen the end.
pub(crate) async fn silent(shared: &Shared) -> Outcome<Vec<SilentMember>> {
    let lent = shared.lend().await?;
    let sql = "SELECT epoch, identity, host, boot, pid, started FROM @members \
               WHERE state IN (2, 3, 4) ORDER BY epoch LIMIT $1";
    let rows = Db::own(&lent, shared).rows(sql, &[&count(limits::SILENT_MAX)]).await?;
    rows.iter().map(silent_member).collect()
}

fn silent_member(row: &Row) -> Outcome<SilentMember> {
    let identity: &str = row.try_get(1)?;
    let (host, boot): (Option<String>, Option<String>) = (row.try_get(2)?, row.try_get(3)?);
    let (pid, started): (Option<i64>, Option<i64>) = (row.try_get(4)?, row.try_get(5)?);
    let process = host.zip(boot).zip(pid.zip(started)).and_then(|((host, boot), numbers)| {
        let (pid, started) = (u32::try_from(numbers.0).ok()?, u64::try_from(numbers.1).ok()?);
        Some(Process { host, boot, pid, started })
    });
    Ok(SilentMember { epoch: Epoch(number(row, 0)?), identity: identity.into(), process })
}

/// Somebody says that members are gone. Only who fell silent is believed to be.
pub(crate) async fn attest(shared: &Shared, attest: &Attest) -> Outcome<Attested> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let (mut epoch, mut name, mut host) = (None, None, None);
    match &attest.whom {
        Whom::Epoch(one) => epoch = Some(int(one.0)),
        Whom::Identity(one) => name = Some(one.as_str()),
        Whom::Host(one) => host = Some(one.as_str()),
    }
    let (state, by) = match &attest.witness {
        Witness::Host => (GONE, None),
        Witness::Person(by) => (SAID, Some(by.as_str())),
    };
    let now = attest.now.0;
    // What was only said may be seen later.
    let sql = "UPDATE @members SET state = $4, gone_by = $5, gone_at = $6 \
               WHERE state <> 0 AND state <> 1 AND state <> $4 \
               AND (epoch = $1 OR identity = $2 OR host = $3) \
               RETURNING epoch, identity";
    let values: [Value<'_>; 6] = [&epoch, &name, &host, &state, &by, &now];
    let gone = named(&db.change(sql, &values).await?)?;
    let sql = "SELECT epoch, identity FROM @members \
               WHERE state = 0 AND (epoch = $1 OR identity = $2 OR host = $3)";
    let alive = named(&db.rows(sql, &[&epoch, &name, &host]).await?)?;
    drop(lent);
    if !gone.is_empty() {
        shared.tell_here(BTreeSet::from([Hint::Sweep]));
    }
    Ok(Attested { gone, alive })
}

fn named(rows: &[Row]) -> Outcome<Vec<(Epoch, Identity)>> {
    let name = |row: &Row| -> Outcome<_> {
        let identity: &str = row.try_get(1)?;
        Ok((Epoch(number(row, 0)?), identity.into()))
    };
    rows.iter().map(name).collect()
}
