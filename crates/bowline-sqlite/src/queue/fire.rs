//! Alarms ring: the row goes, and the run or the activity hears of it.

use bowline_core::{Alarm, AlarmKind, Place, RunId, Time, time_out};
use bowline_store::{AttemptHit, Fired};

use crate::{
    connection::db::Outcome,
    rows::{
        activity::Activity,
        damaged::{self, Found},
    },
    write::tx::Tx,
};

/// A moment, and how much may be done then.
#[derive(Clone, Copy)]
pub(crate) struct Fire {
    pub(crate) now: Time,
    pub(crate) limit: usize,
}

pub(crate) fn fire(tx: &mut Tx<'_>, fire: &Fire) -> Outcome<Fired> {
    let Fire { now, limit } = *fire;
    tx.memory.index.wake(now);
    let mut fired = Fired::default();
    let mut found = Found::new(now);
    for (run, alarm) in tx.memory.index.due(now, limit) {
        let rang = ring(tx, run, alarm, now, &mut fired);
        if found.step(tx, run, rang)?.is_none() {
            damaged::put_off(tx, run, alarm, now)?;
        }
    }
    fired.damaged = found.runs;
    fired.runs.sort_unstable();
    fired.runs.dedup();
    Ok(fired)
}

fn ring(tx: &mut Tx<'_>, id: RunId, alarm: Alarm, now: Time, fired: &mut Fired) -> Outcome<()> {
    let Some(run) = tx.find(id)? else { return Ok(()) };
    let open = run.is_open();
    // What does not read is found out before anything is written.
    let own = match alarm.what {
        AlarmKind::Activity(activity) => tx.activity(id, activity)?,
        _ => None,
    };
    // An earlier call of the group may have unset it.
    if tx.disarm(id, alarm)? == 0 {
        return Ok(());
    }
    fired.rang += 1;
    match alarm.what {
        AlarmKind::Activity(_) => own.map_or(Ok(()), |own| limit(tx, own, now, fired)),
        what => {
            if let Some(message) = what.message().filter(|_| open) {
                tx.deliver(id, &message, now)?;
                fired.runs.push(id);
            }
            Ok(())
        }
    }
}

/// A limit of an activity: passed, or moved since the alarm was set.
fn limit(tx: &mut Tx<'_>, mut own: Activity, now: Time, fired: &mut Fired) -> Outcome<()> {
    let (run, number) = (own.run, own.number);
    if tx.fold(&mut own, now)? {
        return Ok(());
    }
    let start = match &own.live.place {
        Place::Started(start) => Some(start.clone()),
        _ => None,
    };
    let told = AttemptHit::late(run, number, &own.live, now);
    let Some(step) = time_out(&own.spec, &mut own.live, now) else {
        return tx.watch_limit(&own);
    };
    fired.hits.extend(told);
    if tx.conclude(&own, start.as_ref(), &step, now)?.is_some() {
        fired.runs.push(run);
    }
    Ok(())
}
