//! Lists of runs, page by page.
//!
//! In:    what the runs have in common, and where the page before ended.
//! Out:   runs, and where the next page begins.
//! Never: looks at more than [`Page::LOOKS_MAX`] runs for one page, however few of them are meant:
//!        whoever lists a little of very much keeps nobody waiting.

use bowline_core::{
    Name, Namespace, Queue, RunId, SearchField, SearchValue, Status, Time, WorkflowId,
};

use crate::Head;

/// Which runs to list. What is unset or empty does not restrict.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// In which namespace.
    pub namespace: Namespace,
    /// In one of these states.
    pub statuses: Vec<Status>,
    /// Of this workflow.
    pub name: Option<Name>,
    /// With this workflow id.
    pub workflow_id: Option<WorkflowId>,
    /// With a workflow id that begins so.
    pub workflow_id_prefix: Option<String>,
    /// Waiting in this queue.
    pub queue: Option<Queue>,
    /// Children of this run.
    pub parent: Option<RunId>,
    /// Begun at this moment or later.
    pub started_from: Option<Time>,
    /// Begun before this moment.
    pub started_before: Option<Time>,
    /// Parked, or not.
    pub parked: Option<bool>,
    /// With these search attributes.
    pub search: Vec<(String, SearchValue)>,
    /// In which order.
    pub order: Order,
    /// After this run of the page before.
    pub after: Option<(Time, RunId)>,
    /// At most this many.
    pub limit: usize,
}

impl Filter {
    /// Whether a run is among those meant; where the page begins is not looked at.
    pub fn accepts(&self, head: &Head) -> bool {
        fn is<T: PartialEq>(wanted: &Option<T>, found: &T) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        }
        let id = head.workflow_id.as_str();
        let parent = head.parent.map(|(run, _)| run);
        head.run.namespace == self.namespace
            && (self.statuses.is_empty() || self.statuses.contains(&head.status))
            && is(&self.name, &head.name)
            && is(&self.workflow_id, &head.workflow_id)
            && self.workflow_id_prefix.as_ref().is_none_or(|prefix| id.starts_with(prefix))
            && is(&self.queue, &head.queue)
            && (self.parent.is_none() || self.parent == parent)
            && self.started_from.is_none_or(|from| head.started_at >= from)
            && self.started_before.is_none_or(|before| head.started_at < before)
            && is(&self.parked, &head.is_parked())
            && self.search.iter().all(|(key, wanted)| {
                head.search.get(key).is_some_and(|SearchField { value, .. }| meets(value, wanted))
            })
    }
}

/// A keyword meets the same keyword and every list that holds it; a text meets what has all its
/// words; everything else meets its equal.
fn meets(value: &SearchValue, wanted: &SearchValue) -> bool {
    match (value, wanted) {
        (SearchValue::Keywords(all), SearchValue::Keyword(one)) => all.contains(one),
        (SearchValue::Text(text), SearchValue::Text(words) | SearchValue::Keyword(words)) => {
            let text = text.to_lowercase();
            let has = |word: &str| text.split_whitespace().any(|own| own == word);
            words.to_lowercase().split_whitespace().all(has)
        }
        _ => value == wanted,
    }
}

/// By the moment of beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

/// Some of the runs. There may be fewer than were asked for, or none, and more on the next page:
/// only a page without a next one is the last.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Their heads.
    pub runs: Vec<Head>,
    /// Where the next page begins, which need not be behind a run of this one; unset on the last.
    pub next: Option<(Time, RunId)>,
}

impl Page {
    /// How many runs a store looks at for one page. Runs that an index leaves out are not looked
    /// at.
    pub const LOOKS_MAX: usize = 1_000;
}
