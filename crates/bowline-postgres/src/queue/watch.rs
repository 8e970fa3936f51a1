//! Members watch each other's sessions, each the next few in a ring: whose session is gone, and who
//! is not heard of for a second after that, is given up before its lease has run out.
//!
//! In:    the sessions that members say they have, and those that the server has.
//! Out:   members given up, as by a lease that has run out.
//! Never: believed by itself. Who is suspect, and for how long, is `bowline_store::suspect`; and
//!        who is given up must be in the rows as it was seen. Nor needed: leases do without it.

use std::{collections::BTreeSet, sync::atomic::Ordering, time::Instant};

use bowline_core::Epoch;
use bowline_store::{
    Error, Hint,
    suspect::{Presence, Seen, Session, Suspicion},
};
use tokio_postgres::{Client, Row, Statement};
use uuid::Uuid;

use crate::{
    connection::{
        db::{Db, Outcome, named},
        session::{ACKNOWLEDGED, CHECKED, KEPT, SESSION, is_refused},
    },
    limits,
    rows::blob::int,
    shared::Shared,
};

/// Whose session this is: its own name, which it was told, and what its server calls it. Then the
/// next members after this one, in a ring, and the sessions that they say they have.
const LOOK: &str = "SELECT current_setting('bowline.session', true), pg_backend_pid()::int8, \
        m.epoch, m.session, m.session_since, m.renewed, a.pid IS NOT NULL, \
        (extract(epoch FROM a.backend_start) * 1000000)::int8 \
    FROM (SELECT 1) AS own LEFT JOIN (\
        SELECT * FROM (\
            (SELECT epoch, session, session_since, \
                (extract(epoch FROM renewed_at) * 1000000)::int8 AS renewed FROM @members \
                WHERE epoch > $1::int8 AND state = 0 AND session IS NOT NULL \
                ORDER BY epoch LIMIT $2) \
            UNION ALL \
            (SELECT epoch, session, session_since, \
                (extract(epoch FROM renewed_at) * 1000000)::int8 AS renewed FROM @members \
                WHERE epoch < $1::int8 AND state = 0 AND session IS NOT NULL \
                ORDER BY epoch LIMIT $2)\
        ) AS ring ORDER BY epoch < $1::int8, epoch LIMIT $2\
    ) AS m ON true LEFT JOIN LATERAL pg_stat_get_activity(coalesce(m.session, 0)::int4) AS a \
        ON true";

/// Gives up a member that is as it was seen: not heard of since, and its session gone.
const GIVE_UP: &str = "UPDATE @members AS m SET state = 2 FROM @members AS me \
    WHERE me.epoch = $1::int8 AND me.state = 0 AND clock_timestamp() < me.renewed_at + me.lease \
    AND m.epoch = $2::int8 AND m.state = 0 \
    AND m.session = $3::int8 AND m.session_since = $4::int8 \
    AND (extract(epoch FROM m.renewed_at) * 1000000)::int8 = $5::int8 \
    AND NOT EXISTS (SELECT 1 FROM pg_stat_get_activity($3::int4) a \
        WHERE a.backend_start IS NULL \
        OR (extract(epoch FROM a.backend_start) * 1000000)::int8 = $4::int8) \
    RETURNING m.identity";

/// A session that is watched, and from which others are.
pub(crate) struct Watch {
    session: Session,
    /// What the session was told that it is called: another one, which a pooler has put in its
    /// place, does not know.
    name: String,
    look: Statement,
    begun: Instant,
    suspicion: Suspicion,
}

/// How watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// The session is over.
    Lost,
    /// The session is one that others use, too.
    Shared,
}

impl Watch {
    /// Makes a session known; none where leases alone count.
    pub(crate) async fn begin(shared: &Shared, client: &Client) -> Outcome<Option<Self>> {
        if !shared.settings.sessions {
            return Ok(None);
        }
        // A server that knows no such settings needs none.
        let _ = client.batch_execute(KEPT).await;
        let _ = client.batch_execute(ACKNOWLEDGED).await;
        let _ = client.batch_execute(CHECKED).await;
        match Self::introduce(shared, client).await {
            Ok(None) => {
                unwatched(shared, SHARED);
                Ok(None)
            }
            Err(fault) if is_refused(&fault) => {
                unwatched(shared, &Error::from(fault).to_string());
                Ok(None)
            }
            begun => begun,
        }
    }

    /// Gives the session a name, and asks for it again while somebody else has a transaction open:
    /// where sessions are shared, that one has taken it.
    async fn introduce(shared: &Shared, client: &Client) -> Outcome<Option<Self>> {
        let name = Uuid::now_v7().simple().to_string();
        client.query("SELECT set_config('bowline.session', $1, false)", &[&name]).await?;
        let row = client.query_one(SESSION, &[]).await?;
        let (process, since): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
        let Some(since) = since else { return Ok(None) };
        let look = client.prepare(&named(LOOK, &shared.prefix)).await?;
        let (session, begun) = (Session { process, since }, Instant::now());
        let watch = Self { session, name, look, begun, suspicion: Suspicion::default() };
        let lent = shared.lend_aside().await?;
        let db = Db::own(&lent, shared);
        db.begin_transaction("BEGIN").await?;
        let seen = watch.look(client, None).await;
        db.roll_back().await;
        Ok(seen?.map(|_| watch))
    }

    pub(crate) fn session(&self) -> Session {
        self.session
    }

    /// Looks after others for as long as the session lasts, or until it turns out to be shared.
    pub(crate) async fn keep(mut self, shared: &Shared, client: &Client) -> Watched {
        let mut pause = limits::WATCH;
        while !shared.is_closing() {
            tokio::time::sleep(pause).await;
            let looked = self.look_after(shared, client);
            pause = match tokio::time::timeout(limits::WATCH_PATIENCE, looked).await {
                Ok(Ok(Some(0))) => limits::WATCH_ALONE,
                Ok(Ok(Some(_))) => limits::WATCH,
                Ok(Ok(None)) => {
                    unwatched(shared, SHARED);
                    return Watched::Shared;
                }
                Ok(Err(_)) | Err(_) => return Watched::Lost,
            };
        }
        Watched::Lost
    }

    /// One look, and whoever is over by it is given up. None if the session is shared.
    async fn look_after(&mut self, shared: &Shared, client: &Client) -> Outcome<Option<usize>> {
        let epoch = shared.member().map(|(epoch, _)| epoch);
        let now = self.begun.elapsed();
        let Some(seen) = self.look(client, epoch).await? else { return Ok(None) };
        if seen.iter().any(|seen| seen.presence == Presence::Hidden) {
            unwatched(shared, "this role may not see the sessions of others");
        }
        let over = self.suspicion.look(now, &seen);
        let Some(epoch) = epoch else { return Ok(Some(0)) };
        for one in &over {
            give_up(shared, client, epoch, one).await?;
        }
        Ok(Some(seen.len()))
    }

    /// The next members in the ring; none if the session is not the one that it was.
    async fn look(&self, client: &Client, epoch: Option<Epoch>) -> Outcome<Option<Vec<Seen>>> {
        let epoch = epoch.map(|epoch| int(epoch.0));
        let rows = client.query(&self.look, &[&epoch, &limits::WATCHED]).await?;
        let mut seen = Vec::new();
        for row in &rows {
            let (name, process): (Option<&str>, i64) = (row.try_get(0)?, row.try_get(1)?);
            if name != Some(self.name.as_str()) || process != self.session.process {
                return Ok(None);
            }
            seen.extend(member(row)?);
        }
        Ok(Some(seen))
    }
}

fn member(row: &Row) -> Outcome<Option<Seen>> {
    let number = |at| row.try_get::<_, Option<i64>>(at);
    let (Some(epoch), Some(process), Some(since), Some(renewed)) =
        (number(2)?, number(3)?, number(4)?, number(5)?)
    else {
        return Ok(None);
    };
    let presence = match (row.try_get(6)?, number(7)?) {
        (true, Some(began)) if began == since => Presence::There,
        (true, None) => Presence::Hidden,
        // The number is somebody else's by now.
        _ => Presence::Gone,
    };
    let session = Session { process, since };
    Ok(Some(Seen { epoch: Epoch(epoch as u64), session, renewed, presence }))
}

/// Says of a member that it is silent, if it is still as it was seen.
async fn give_up(shared: &Shared, client: &Client, epoch: Epoch, seen: &Seen) -> Outcome<()> {
    let sql = named(GIVE_UP, &shared.prefix);
    let Session { process, since } = seen.session;
    let (own, other) = (int(epoch.0), int(seen.epoch.0));
    let rows = client.query(&sql, &[&own, &other, &process, &since, &seen.renewed]).await?;
    for row in &rows {
        let identity: &str = row.try_get(0)?;
        tracing::warn!(
            epoch = seen.epoch.0,
            identity,
            "a member's session is gone: it is given up"
        );
        shared.tell_here(BTreeSet::from([Hint::Sweep]));
    }
    Ok(())
}

const SHARED: &str = "the sessions of this process are not its own, as behind a pooler";

/// Says once that leases alone count.
fn unwatched(shared: &Shared, why: &str) {
    if !shared.unwatched.swap(true, Ordering::Relaxed) {
        tracing::warn!(why, "sessions cannot be watched: a killed process is missed by its lease");
    }
}
