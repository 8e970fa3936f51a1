//! Runs are listed.

use super::Data;
use crate::{Filter, Head, Order, Page};

impl Data {
    pub(super) fn find(&self, filter: &Filter) -> Page {
        let key = |head: &Head| (head.started_at, head.run);
        let heads = self.rows.runs.values().map(|row| &row.head);
        let mut all: Vec<&Head> =
            heads.filter(|head| head.run.namespace == filter.namespace).collect();
        all.sort_by_key(|head| key(head));
        if filter.order == Order::Newest {
            all.reverse();
        }
        let follows = |head: &Head, after| match filter.order {
            Order::Newest => key(head) < after,
            Order::Oldest => key(head) > after,
        };
        all.retain(|head| filter.after.is_none_or(|after| follows(head, after)));
        let mut page = Page::default();
        for (looks, head) in all.iter().enumerate() {
            if looks == Page::LOOKS_MAX {
                page.next = Some(key(all[looks - 1]));
                break;
            }
            if !filter.accepts(head) {
                continue;
            }
            if page.runs.len() == filter.limit {
                page.next = page.runs.last().map(key);
                break;
            }
            page.runs.push((*head).clone());
        }
        page
    }
}
