//! Which runs are meant, where a page begins, and that a cursor belongs to its filter.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bowline_core::{Namespace, RunId, SearchValue, Status, Time};
use bowline_engine::store::{Filter, Order};

use crate::{
    call::{Call, bounded},
    limits,
    model::RunFilter,
    problem::Refused,
    view::{read_moment, read_wide, search},
};

/// How many search attributes a filter names.
const SEARCH_MAX: usize = 10;

impl Call {
    /// The filter in the address.
    pub(crate) fn filter(&self) -> Result<Filter, Refused> {
        let own = |name: &str| self.option(name).map(str::to_owned);
        let words = self.options("status").flat_map(|text| text.split(','));
        let said = RunFilter {
            workflow: own("type"),
            queue: own("queue"),
            status: words.map(|word| word.trim().to_owned()).collect(),
            id: own("id"),
            id_prefix: own("id_prefix"),
            parent: own("parent"),
            started_from: own("started_from"),
            started_before: own("started_before"),
            search: Default::default(),
        };
        let mut filter = read(&said, self.engine.namespace())?;
        for pair in self.options("search") {
            let Some((key, value)) = pair.split_once(':').filter(|(key, _)| !key.is_empty()) else {
                return Err(Refused::invalid(format!("search is key:value, not {pair:?}")));
            };
            filter.search.push((key.to_owned(), search::said(value)));
        }
        if filter.search.len() > SEARCH_MAX {
            let detail = format!("a filter has at most {SEARCH_MAX} search attributes");
            return Err(Refused::invalid(detail));
        }
        filter.order = match self.option("order") {
            None | Some("newest") => Order::Newest,
            Some("oldest") => Order::Oldest,
            Some(other) => {
                return Err(Refused::invalid(format!("order is newest or oldest, not {other:?}")));
            }
        };
        Ok(filter)
    }
}

/// A filter as the store has it.
pub(crate) fn read(said: &RunFilter, namespace: Namespace) -> Result<Filter, Refused> {
    let texts = [
        ("type", &said.workflow),
        ("queue", &said.queue),
        ("id", &said.id),
        ("id_prefix", &said.id_prefix),
    ];
    for (name, text) in texts {
        text.as_ref().map_or(Ok(()), |text| bounded(name, text))?;
    }
    let moment = |name: &str, text: &Option<String>| {
        let read = |text: &String| {
            let why = || Refused::invalid(format!("{name} is a moment as RFC 3339, not {text:?}"));
            read_moment(text).ok_or_else(why)
        };
        text.as_ref().map(read).transpose()
    };
    let parent = |text: &String| {
        let text = text.strip_prefix('@').unwrap_or(text);
        let why = || Refused::invalid(format!("parent is the id of a run, not {text:?}"));
        read_wide(text).map(|uuid| RunId { namespace, uuid }).ok_or_else(why)
    };
    let (statuses, parked) = statuses(&said.status)?;
    let mut found = Vec::new();
    for (key, value) in &said.search {
        let why = || Refused::invalid(format!("search {key:?} is a text, number or boolean"));
        let value = search::value(value).filter(|value| !matches!(value, SearchValue::Keywords(_)));
        found.push((key.clone(), value.ok_or_else(why)?));
    }
    Ok(Filter {
        namespace,
        statuses,
        name: said.workflow.as_deref().map(Into::into),
        workflow_id: said.id.as_deref().map(Into::into),
        workflow_id_prefix: said.id_prefix.clone(),
        queue: said.queue.as_deref().map(Into::into),
        parent: said.parent.as_ref().map(parent).transpose()?,
        started_from: moment("started_from", &said.started_from)?,
        started_before: moment("started_before", &said.started_before)?,
        parked,
        search: found,
        order: Order::Newest,
        after: None,
        limit: limits::PAGE,
    })
}

/// States by their words. That a run is parked stands beside its state.
fn statuses(words: &[String]) -> Result<(Vec<Status>, Option<bool>), Refused> {
    if words == ["parked"] {
        return Ok((Vec::new(), Some(true)));
    }
    let mut statuses = Vec::new();
    for word in words {
        let found: Vec<Status> = match word.as_str() {
            "open" => Status::ALL.into_iter().filter(|status| status.is_open()).collect(),
            "closed" => Status::ALL.into_iter().filter(|status| !status.is_open()).collect(),
            word => Status::ALL.into_iter().filter(|status| status.as_str() == word).collect(),
        };
        if found.is_empty() {
            let known: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
            let known = known.join(", ");
            return Err(Refused::invalid(format!(
                "{word:?} is not a status: {known}, open, closed, or parked alone"
            )));
        }
        statuses.extend(found);
    }
    statuses.dedup();
    Ok((statuses, None))
}

/// Where a page begins, for whoever asks with the same filter.
pub(crate) fn cursor(filter: &Filter, (time, run): (Time, RunId)) -> String {
    let text = format!("{:016x}{:016x}{:032x}", mark(filter), time.0, run.uuid);
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

/// The same filter, from where a cursor says.
pub(crate) fn after(filter: Filter, cursor: Option<&str>) -> Result<Filter, Refused> {
    let Some(text) = cursor else { return Ok(filter) };
    let bad = || {
        let detail = "the cursor is not one of this list with this filter";
        Refused::new(axum::http::StatusCode::BAD_REQUEST, "bad_cursor", detail)
    };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    if text.len() != 64 || !text.is_ascii() {
        return Err(bad());
    }
    let number = |from, to| u128::from_str_radix(&text[from..to], 16).map_err(|_| bad());
    let (own, time, uuid) = (number(0, 16)?, number(16, 32)?, number(32, 64)?);
    if own != u128::from(mark(&filter)) {
        return Err(bad());
    }
    let time = Time((time as u64).cast_signed());
    let after = Some((time, RunId { namespace: filter.namespace, uuid }));
    Ok(Filter { after, ..filter })
}

/// What tells one filter from another (FNV-1a): not a secret, only a guard against mistakes.
fn mark(filter: &Filter) -> u64 {
    let plain = Filter { after: None, limit: 0, ..filter.clone() };
    let text = format!("{plain:?}");
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_filter() {
        let filter = Filter { name: Some("a".into()), ..Filter::default() };
        let place = (Time(-5), RunId { namespace: filter.namespace, uuid: u128::MAX });
        let text = cursor(&filter, place);
        let page = after(Filter { limit: 7, ..filter.clone() }, Some(&text)).expect("its own");
        assert_eq!((page.after, page.limit), (Some(place), 7));
        let other = Filter { name: Some("b".into()), ..filter.clone() };
        assert!(after(other, Some(&text)).is_err());
        for bad in ["", "x", "AAAA", &text[1..]] {
            assert!(after(filter.clone(), Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn states_are_words() {
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            statuses(&words)
        };
        let (open, parked) = read(&["open"]).expect("a word");
        assert_eq!((open, parked), (vec![Status::Running, Status::Cancelling], None));
        assert_eq!(read(&["parked"]).expect("a word"), (vec![], Some(true)));
        for bad in [&["runing"][..], &["parked", "running"], &[""]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
