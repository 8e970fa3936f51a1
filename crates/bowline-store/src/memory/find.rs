//! Runs are listed.

use super::Data;
use crate::{Filter, Head, Order, Page};

impl Data {
    pub(super) fn find(&self, filter: &Filter) -> Page {
        let key = |head: &Head| (head.started_at, head.run);
        let heads = self.rows.runs.values().map(|row| &row.head);
        let mut found: Vec<&Head> = heads.filter(|head| filter.accepts(head)).collect();
        found.sort_by_key(|head| key(head));
        if filter.order == Order::Newest {
            found.reverse();
        }
        let follows = |head: &Head, after| match filter.order {
            Order::Newest => key(head) < after,
            Order::Oldest => key(head) > after,
        };
        found.retain(|head| filter.after.is_none_or(|after| follows(head, after)));
        let more = found.len() > filter.limit;
        found.truncate(filter.limit);
        let next = found.last().map(|head| key(head)).filter(|_| more);
        Page { runs: found.into_iter().cloned().collect(), next }
    }
}
