//! Lists of runs.

use std::time::SystemTime;

use bowline_engine::{
    core::{RunId, SearchValue, Status, Time},
    store::{Filter, Head, Order},
};

use super::{Bowline, ClientError};
use crate::{moment, timestamp};

/// How many runs a page has, unless it is said.
const PAGE: usize = 100;

/// A list that has not been read yet: add filters, then call [`page`](Self::page) or
/// [`all`](Self::all).
#[derive(Clone, Debug)]
#[must_use = "nothing is listed until `.page()` or `.all()`"]
pub struct List {
    bowline: Bowline,
    filter: Filter,
}

impl List {
    pub(crate) fn new(bowline: Bowline) -> Self {
        Self { bowline, filter: Filter { limit: PAGE, ..Filter::default() } }
    }

    /// Filters by status; repeat to match any of several.
    pub fn status(mut self, status: Status) -> Self {
        self.filter.statuses.push(status);
        self
    }

    /// Matches only runs that are not closed.
    pub fn open(self) -> Self {
        self.status(Status::Running).status(Status::Cancelling)
    }

    /// Filters by the name of the workflow.
    pub fn workflow(mut self, name: impl Into<String>) -> Self {
        self.filter.name = Some(name.into().into());
        self
    }

    /// Matches only runs whose workflow id begins like this.
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.filter.workflow_id_prefix = Some(prefix.into());
        self
    }

    /// Filters by a tag that was given at the start.
    pub fn tag(mut self, key: impl Into<String>, word: impl Into<String>) -> Self {
        self.filter.search.push((key.into(), SearchValue::Keyword(word.into())));
        self
    }

    /// Matches only runs that are parked because their code keeps failing.
    pub fn parked(mut self) -> Self {
        self.filter.parked = Some(true);
        self
    }

    /// Matches only runs that started at this moment or later.
    pub fn started_from(mut self, from: SystemTime) -> Self {
        self.filter.started_from = Some(timestamp(from));
        self
    }

    /// Matches only runs that started before this moment.
    pub fn started_before(mut self, before: SystemTime) -> Self {
        self.filter.started_before = Some(timestamp(before));
        self
    }

    /// Lists the oldest runs first, instead of the newest.
    pub fn oldest_first(mut self) -> Self {
        self.filter.order = Order::Oldest;
        self
    }

    /// Sets how many runs a page has; 100 by default.
    pub fn page_size(mut self, runs: usize) -> Self {
        self.filter.limit = runs.max(1);
        self
    }

    /// Reads one page, and returns the list that continues after it; `None` after the last page.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn page(&self) -> Result<(Vec<RunSummary>, Option<Self>), ClientError> {
        let page = self.bowline.engine().find(self.filter.clone()).await?;
        let runs = page.runs.iter().map(RunSummary::new).collect();
        Ok((runs, page.next.map(|after| self.after(after))))
    }

    /// Reads every run, however many there are.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn all(&self) -> Result<Vec<RunSummary>, ClientError> {
        let (mut runs, mut next) = self.page().await?;
        while let Some(list) = next {
            let (more, after) = list.page().await?;
            runs.extend(more);
            next = after;
        }
        Ok(runs)
    }

    /// Lets every process try the [parked](Self::parked) runs of this list again, at once and
    /// whoever has tried them before, and returns how many there were. Call it when you have fixed
    /// a cause outside of the code: a process with other code tries them by itself.
    ///
    /// # Errors
    /// If the store fails. Some of them may be tried again by then.
    pub async fn retry(&self) -> Result<usize, ClientError> {
        Ok(self.bowline.engine().retry_all(self.filter.clone()).await?)
    }

    fn after(&self, after: (Time, RunId)) -> Self {
        let filter = Filter { after: Some(after), ..self.filter.clone() };
        Self { bowline: self.bowline.clone(), filter }
    }
}

/// One run of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunSummary {
    /// Its workflow id.
    pub id: String,
    /// The id of the run.
    pub run: String,
    /// The name of its workflow.
    pub workflow: String,
    /// What state it is in.
    pub status: Status,
    /// When it started.
    pub started_at: SystemTime,
    /// When it closed.
    pub closed_at: Option<SystemTime>,
    /// The id of the run that started it.
    pub parent: Option<String>,
    /// Why it is parked, if it is.
    pub parked: Option<String>,
}

impl RunSummary {
    pub(crate) fn new(head: &Head) -> Self {
        Self {
            id: head.workflow_id.to_string(),
            run: head.run.to_string(),
            workflow: head.name.to_string(),
            status: head.status,
            started_at: moment(head.started_at),
            closed_at: head.closed_at.map(moment),
            parent: head.parent.map(|(run, _)| run.to_string()),
            parked: head.why_parked().map(|parked| parked.reason.clone()),
        }
    }
}
