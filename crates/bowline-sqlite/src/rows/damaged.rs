//! Runs that do not read are put where people see them and nobody else is held up by them.

use bowline_core::{Alarm, Epoch, GaveUp, Parked, RunId, Time, codec};
use bowline_store::{
    DamagedRun, Error,
    ready::{Change, Standing},
};
use rusqlite::params;

use crate::{connection::db::Outcome, fault::Fault, write::tx::Tx};

/// Runs that were set aside, and when.
pub(crate) struct Found {
    pub(crate) now: Time,
    pub(crate) runs: Vec<DamagedRun>,
}

impl Found {
    pub(crate) fn new(now: Time) -> Self {
        Self { now, runs: Vec::new() }
    }

    /// What came of a step, or none if it met something that does not read: then the run that the
    /// step was about is set aside. To be asked of steps that read before they write.
    pub(crate) fn step<T>(
        &mut self,
        tx: &mut Tx<'_>,
        run: RunId,
        done: Outcome<T>,
    ) -> Outcome<Option<T>> {
        match done {
            Err(Fault::Said(Error::Corrupt { corrupt, .. })) => {
                let reason = corrupt.to_string();
                if set_aside(tx, run, reason.clone(), self.now)? {
                    self.tell(run, reason);
                }
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    pub(crate) fn tell(&mut self, run: RunId, reason: String) {
        self.runs.push(DamagedRun { run, reason });
    }
}

/// Parks an open run that does not read. If even its row does not read, it only
/// leaves the queues. False if it is there already.
pub(crate) fn set_aside(tx: &mut Tx<'_>, id: RunId, reason: String, now: Time) -> Outcome<bool> {
    match tx.find(id) {
        Ok(Some(run)) if run.head.parked.is_some() => Ok(false),
        Ok(Some(run)) if !run.is_open() => Ok(true),
        Ok(Some(_)) => {
            // Nobody has tried its code: whoever reads more may do so.
            let gave_up = GaveUp::reading(Epoch(0), reason);
            tx.edit(id).head.parked = Some(Parked::after(None, gave_up, now));
            Ok(true)
        }
        Ok(None) | Err(Fault::Said(Error::Corrupt { .. })) => {
            tx.change(Change::Run(Standing {
                run: id,
                name: Default::default(),
                queue: Default::default(),
                inbox: Default::default(),
                turn: false,
                remote_turn: None,
                intake: false,
                holder: None,
                withholds: false,
            }));
            Ok(true)
        }
        Err(fault) => Err(fault),
    }
}

/// Puts an alarm off that cannot be rung. It is tried again: somebody may have mended its run.
pub(crate) fn put_off(tx: &mut Tx<'_>, id: RunId, alarm: Alarm, now: Time) -> Outcome<()> {
    let later = Alarm { due: now.after(DamagedRun::PAUSE), ..alarm };
    tx.change(Change::Disarmed(id, alarm));
    let label = match tx.label(id) {
        Ok(Some(label)) => label,
        // The index alone knows of it, until the file is opened again.
        Ok(None) | Err(Fault::Said(Error::Corrupt { .. })) => return Ok(()),
        Err(fault) => return Err(fault),
    };
    tx.db.run(
        "UPDATE OR REPLACE alarms SET due = ? WHERE due = ? AND run = ? AND what = ?",
        params![later.due.0, alarm.due.0, label.key, codec::encode(&alarm.what)],
    )?;
    tx.change(Change::Armed(id, later));
    Ok(())
}
