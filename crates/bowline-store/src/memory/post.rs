//! What comes in from outside.

use bowline_core::{Address, Conflict, Message, RunId, Time};

use super::Data;
use crate::{Error, Head, Hint, NewReceipt, Posted, Posting, ReceiptRow, Result, StartRun};

impl Data {
    pub(super) fn post(&mut self, posting: Posting) -> Result<Posted> {
        match posting {
            Posting::Message { to, message, now, receipt } => {
                self.message(&to, message, receipt, now)
            }
            Posting::Start(start) => self.start_run(*start),
            Posting::Delete { run, now } => self.delete(run, now),
        }
    }

    fn message(
        &mut self,
        to: &Address,
        message: Message,
        receipt: Option<NewReceipt>,
        now: Time,
    ) -> Result<Posted> {
        self.clock(now);
        let row = self.rows.resolve(to).ok_or(Error::Missing("run"))?;
        let (run, chain) = (row.head.run, row.head.first_run);
        let (open, repeated) = (row.head.status.is_open(), row.repeats(&message));
        if receipt.is_none() {
            row.head.check_open()?;
        }
        if let Some(NewReceipt { id, cause, keep_until }) = receipt {
            let receipt = ReceiptRow { id, run, chain, cause, requested_at: now, keep_until };
            self.rows.receipts.entry(id).or_insert(receipt);
        }
        if open && !repeated {
            self.rows.known(run).admit(&message)?;
        }
        Ok(match (open, repeated) {
            (false, _) => Posted::Finished(run),
            (true, true) => Posted::Repeated(run),
            (true, false) => Posted::Delivered(run, self.deliver(run, message, now)),
        })
    }

    fn start_run(&mut self, start: StartRun) -> Result<Posted> {
        self.clock(start.now);
        let (_, started) = Head::born(&start.birth)?;
        if let Some(row) = self.rows.current(start.birth.run.namespace, &started.workflow_id) {
            let (run, status) = (row.head.run, row.head.status);
            if !start.request_id.is_empty() && row.request_id == start.request_id {
                return Ok(Posted::Repeated(run));
            }
            match (status.is_open(), start.otherwise) {
                (true, Some(message)) => {
                    return self.message(&Address::Run(run), message, None, start.now);
                }
                (true, None) if start.conflict == Conflict::UseExisting => {
                    return Ok(Posted::Existing(run));
                }
                _ => {
                    if let Some((run, status)) = self.taken_by(&start.birth)? {
                        return Err(Error::IdTaken { run, status });
                    }
                }
            }
        }
        self.check_birth(&start.birth)?;
        let run = self.begin_run(start.birth, start.now);
        if let Some(fence) = start.hold.filter(|fence| self.alive(fence.epoch).is_ok()) {
            self.rows.known(run).head.holder = Some(fence);
            self.stand(run);
        }
        Ok(Posted::Started(run))
    }

    fn delete(&mut self, run: RunId, now: Time) -> Result<Posted> {
        self.clock(now);
        if self.rows.run(run)?.head.status.is_open() {
            return Err(Error::Invalid(format!("run {run} is open: terminate it first")));
        }
        self.rows.known(run).head.deleted = true;
        self.hints.insert(Hint::Sweep);
        Ok(Posted::Deleted)
    }
}
