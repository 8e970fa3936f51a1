//! Work is taken.

use bowline_core::{Holder, Place, Token, start};

use super::Data;
use crate::{
    ClaimActivities, ClaimRuns, ClaimedActivity, ClaimedRun, Error, HolderKind, Read, Result,
    TakeUp, Want,
};

impl Data {
    pub(super) fn claim_runs(&mut self, claim: &ClaimRuns) -> Result<Vec<ClaimedRun>> {
        self.clock(claim.now);
        self.alive(claim.epoch)?;
        let mut claimed = Vec::new();
        for run in self.index.runs(claim) {
            let fence = match claim.want {
                Want::Turn => Some(self.roll.lend(claim.epoch).ok_or(Error::Fenced)?),
                Want::RemoteTurn | Want::Intake => None,
            };
            match fence {
                Some(_) => self.rows.known(run).head.holder = fence,
                None => self.index.rotate(claim, run),
            }
            self.stand(run);
            let read = self.read(&Read::whole(run)).expect("what is ready exists");
            claimed.push(ClaimedRun { read, fence });
        }
        Ok(claimed)
    }

    pub(super) fn take_up(&mut self, take: &TakeUp) -> Result<Vec<ClaimedRun>> {
        self.clock(take.now);
        self.alive(take.epoch)?;
        let mut taken = Vec::new();
        for run in &take.runs {
            let found = self.rows.runs.get(run).is_some_and(|row| take.may_have(&row.head));
            if !found {
                continue;
            }
            let fence = Some(self.roll.lend(take.epoch).ok_or(Error::Fenced)?);
            self.rows.known(*run).head.holder = fence;
            self.stand(*run);
            let read = self.read(&Read::whole(*run)).expect("it was found above");
            taken.push(ClaimedRun { read, fence });
        }
        Ok(taken)
    }

    pub(super) fn claim_activities(
        &mut self,
        claim: &ClaimActivities,
    ) -> Result<Vec<ClaimedActivity>> {
        self.clock(claim.now);
        self.alive(claim.epoch)?;
        let mut claimed = Vec::new();
        for (run, activity) in self.index.activities(claim) {
            let fence = self.roll.lend(claim.epoch).ok_or(Error::Fenced)?;
            let row = self.rows.known(run);
            let own = row.activities.get_mut(&activity).expect("what waits exists");
            assert!(matches!(own.live.place, Place::Queued { due } if due <= claim.now));
            let holder = match &claim.holder {
                HolderKind::Native => Holder::Native(fence),
                HolderKind::Remote(control) => {
                    let token = Token::activity(run, activity, own.live.attempt + 1).to_blob();
                    Holder::Remote { token, control: control.clone() }
                }
            };
            start(&mut own.live, holder, claim.worker.clone(), claim.now);
            claimed.push(ClaimedActivity {
                run,
                activity,
                spec: (*own.spec).clone(),
                live: own.live.clone(),
                workflow_id: row.head.workflow_id.clone(),
                workflow: row.head.name.clone(),
            });
            self.moved(run, activity, claim.now);
        }
        Ok(claimed)
    }
}
