//! What has become known of attempts whose end nobody saw. There are hardly any.

use bowline_core::{ActivityLive, EventId, RunId, Time};
use bowline_store::{Sweep, learn as step, silent_since};

use super::RowBudget;
use crate::{
    connection::db::{Db, Outcome},
    limits,
    queue::{fate::Fates, member::ADRIFT},
    rows::blob::{self, number},
    shared::Shared,
    write::{tx::Wants, work},
};

/// What was learnt.
pub(super) struct Learnt {
    /// Whether rows are left.
    pub(super) more: bool,
    /// Since when the oldest has been silent that is not presumed dead.
    pub(super) silent_since: Option<Time>,
}

/// Writes it on their rows.
pub(super) async fn learn(shared: &Shared, sweep: &Sweep, room: &mut RowBudget) -> Outcome<Learnt> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let rows = db.rows(ADRIFT, &[]).await?;
    if rows.is_empty() {
        return Ok(Learnt { more: false, silent_since: None });
    }
    let fates = Fates::read(db).await?;
    drop(lent);
    let (mut news, mut since) = (Vec::new(), None);
    for row in &rows {
        let run = blob::run_id(row, 0)?;
        // What does not read is put aside by whoever needs it.
        let live: Outcome<ActivityLive> = blob::open(run, row, 2);
        let Ok(mut live) = live else { continue };
        if step(&mut live, |epoch| fates.of(epoch), sweep.presume, sweep.now) {
            news.push((run, EventId(number(row, 3)?)));
        }
        since = since.into_iter().chain(silent_since(&live)).min();
    }
    let found = news.len();
    news.truncate(room.0);
    for chunk in news.chunks(limits::LOSE_MAX) {
        write(shared, sweep, &fates, chunk).await?;
    }
    Ok(Learnt { more: room.spend(found), silent_since: since })
}

async fn write(
    shared: &Shared,
    sweep: &Sweep,
    fates: &Fates,
    news: &[(RunId, EventId)],
) -> Outcome<()> {
    work::attempt(shared, &(sweep, fates, news), |tx, (sweep, fates, news)| {
        Box::pin(async move {
            let mut wants = Wants::default();
            wants.runs.extend(news.iter().map(|(run, _)| *run));
            wants.activities.extend(news.iter().copied());
            tx.prefetch(wants).await?;
            for (run, activity) in *news {
                if tx.find(*run).await?.is_none() {
                    continue;
                }
                let Some(mut own) = tx.activity(*run, *activity).await? else { continue };
                if step(&mut own.live, |epoch| fates.of(epoch), sweep.presume, sweep.now) {
                    match own.live.ended().is_some() {
                        true => tx.put(&own, sweep.now),
                        false => tx.update(&own),
                    }
                }
            }
            Ok(())
        })
    })
    .await
}
