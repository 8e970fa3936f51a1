//! Which notices this worker has seen: for five minutes, and not without end.

use std::collections::{BTreeMap, VecDeque};

use bowline_core::{NoticeId, Time};

use crate::limits;

/// Notices that were seen. Whatever falls out is harmless: an attempt that is told a second time
/// keeps to the first.
#[derive(Debug, Default)]
pub(super) struct Seen {
    last: BTreeMap<NoticeId, Time>,
    /// The same in the order in which they came.
    order: VecDeque<(Time, NoticeId)>,
}

impl Seen {
    /// Remembers a notice; false if it is remembered already.
    pub(super) fn is_new(&mut self, notice: NoticeId, now: Time) -> bool {
        self.forget(now);
        if self.last.contains_key(&notice) {
            return false;
        }
        self.last.insert(notice, now);
        self.order.push_back((now, notice));
        true
    }

    fn forget(&mut self, now: Time) {
        while let Some((at, notice)) = self.order.front() {
            let is_old = at.after(limits::NOTICE_MEMORY) <= now;
            if !is_old && self.order.len() < limits::NOTICES {
                return;
            }
            self.last.remove(notice);
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_core::{EventId, RunId};

    use super::*;

    fn notice(activity: u64) -> NoticeId {
        NoticeId { run: RunId::default(), activity: EventId(activity), attempt: 1, is_cancel: true }
    }

    /// R19: a repeated notice is known for five minutes, however often it comes.
    #[test]
    fn r19_a_notice_is_remembered_for_five_minutes() {
        let mut seen = Seen::default();
        let start = Time(1_000);
        let at = |seconds| start.after(Duration::from_secs(seconds));
        assert!(seen.is_new(notice(5), start));
        for seconds in [0, 1, 150, 299] {
            assert!(!seen.is_new(notice(5), at(seconds)), "after {seconds} s");
        }
        assert!(!seen.is_new(notice(5), start.after(Duration::from_millis(299_999))));
        assert!(seen.is_new(notice(5), at(300)), "five minutes are over");
        let stop = NoticeId { is_cancel: false, ..notice(5) };
        assert!(seen.is_new(stop, at(300)), "a stop of the same attempt is another notice");
    }

    /// However many come at once, the oldest make room.
    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut seen = Seen::default();
        let many = limits::NOTICES as u64;
        for activity in 0..2 * many {
            assert!(seen.is_new(notice(activity), Time(1)));
        }
        assert_eq!((seen.last.len(), seen.order.len()), (limits::NOTICES, limits::NOTICES));
        assert!(!seen.is_new(notice(2 * many - 1), Time(1)), "the newest is known");
        assert!(seen.is_new(notice(0), Time(1)), "the oldest was forgotten");
    }
}
