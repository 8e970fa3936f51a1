//! What a supervisor has to say and has not said yet. Bounded: newer words replace older ones.

use bowline_core::{Ending, Payload, Rung, Time};

use super::{Ended, Leak, ProcessMark, What};

/// Reports that wait for a place in the channel.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    delivered: Option<Time>,
    observed: Option<Time>,
    heartbeat: Option<Option<Payload>>,
    processes: Option<Vec<ProcessMark>>,
    ended: Option<Ended>,
    late: Option<Ending>,
    stopped: Option<(Time, Option<Rung>)>,
    leaked: Option<Leak>,
    leak_ended: Option<Time>,
}

impl Outbox {
    pub(super) fn push(&mut self, what: What) {
        match what {
            What::Delivered { at } => self.delivered = Some(at),
            What::Observed { at } => self.observed = Some(at),
            What::Heartbeat { details } => {
                let before = self.heartbeat.take().flatten();
                self.heartbeat = Some(details.or(before));
            }
            What::Processes(marks) => self.processes = Some(marks),
            What::Ended(ended) => self.ended = Some(ended),
            What::Late(ending) => self.late = Some(ending),
            What::Stopped { at, rung } => self.stopped = Some((at, rung)),
            What::Leaked(leak) => self.leaked = Some(leak),
            What::LeakEnded { at } => self.leak_ended = Some(at),
        }
    }

    /// The next report: always in the order in which reports are promised.
    pub(super) fn pop(&mut self) -> Option<What> {
        let delivered = self.delivered.take().map(|at| What::Delivered { at });
        delivered
            .or_else(|| self.observed.take().map(|at| What::Observed { at }))
            .or_else(|| self.heartbeat.take().map(|details| What::Heartbeat { details }))
            .or_else(|| self.processes.take().map(What::Processes))
            .or_else(|| self.ended.take().map(What::Ended))
            .or_else(|| self.late.take().map(What::Late))
            .or_else(|| self.stopped.take().map(|(at, rung)| What::Stopped { at, rung }))
            .or_else(|| self.leaked.take().map(What::Leaked))
            .or_else(|| self.leak_ended.take().map(|at| What::LeakEnded { at }))
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { delivered, observed, heartbeat, processes, .. } = self;
        let Self { ended, late, stopped, leaked, leak_ended, .. } = self;
        delivered.is_none()
            && observed.is_none()
            && heartbeat.is_none()
            && processes.is_none()
            && ended.is_none()
            && late.is_none()
            && stopped.is_none()
            && leaked.is_none()
            && leak_ended.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_leave_in_the_promised_order_and_the_newest_word_wins() {
        let mut outbox = Outbox::default();
        let payload = |text: &str| Some(Payload::json(text));
        outbox.push(What::LeakEnded { at: Time(9) });
        outbox.push(What::Heartbeat { details: payload("1") });
        outbox.push(What::Heartbeat { details: payload("2") });
        outbox.push(What::Heartbeat { details: None });
        outbox.push(What::Observed { at: Time(2) });
        outbox.push(What::Delivered { at: Time(1) });
        assert_eq!(outbox.pop(), Some(What::Delivered { at: Time(1) }));
        assert_eq!(outbox.pop(), Some(What::Observed { at: Time(2) }));
        assert_eq!(outbox.pop(), Some(What::Heartbeat { details: payload("2") }));
        assert!(!outbox.is_empty());
        assert_eq!(outbox.pop(), Some(What::LeakEnded { at: Time(9) }));
        assert!(outbox.is_empty() && outbox.pop().is_none());
    }
}
