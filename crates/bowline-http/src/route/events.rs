//! Runs that change, as server-sent events.
//!
//! Each event is how a run stands when it is sent, so that whoever has missed some needs only the
//! last one. An id says how far the stream has come: whoever comes again with it goes on from
//! there, or is told to begin again.

use std::{collections::VecDeque, convert::Infallible};

use axum::response::sse::{Event, KeepAlive, Sse};
use bowline_core::RunId;
use bowline_engine::{Engine, Error, store::Filter};
use futures_util::stream::{self, Stream, StreamExt as _};

use crate::{
    app::Held,
    call::Call,
    limits,
    live::{Looker, Position, Since},
    model::{Gone, Reset, RunChanged},
    problem::Refused,
    view::run::summary,
};

/// `GET events`
pub(crate) async fn events(
    call: Call,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let (filter, is_known) = (call.filter()?, call.ticket.is_some());
    let looker = call.app.feed().look();
    let now = looker.now();
    let mut waiting = VecDeque::new();
    // Whoever brings an id goes on from there; one that does not read is one that is too old.
    let at = match call.last_event.as_deref().map(Position::read) {
        None => now,
        Some(Some(at)) => at,
        Some(None) => {
            waiting.push_back(reset(now));
            now
        }
    };
    if call.last_event.is_none() {
        let live = Event::default().event("live").id(now.text()).data("{}");
        waiting.push_back(live.retry(limits::STREAM_AGAIN));
    }
    let onlooker = Onlooker {
        engine: call.engine,
        filter,
        looker,
        at,
        waiting,
        is_new: true,
        _held: call.held,
    };
    let events = stream::unfold(onlooker, async |mut onlooker| {
        let event = onlooker.next().await;
        Some((Ok(event), onlooker))
    });
    let events = events.take_until(Box::pin(Call::stream_life(is_known)));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(limits::ALIVE)))
}

fn reset(at: Position) -> Event {
    let why = "what has changed since then is not known any more".to_owned();
    let event = Event::default().event("reset").id(at.text());
    event.json_data(Reset { why }).unwrap_or_default()
}

/// Somebody who watches runs.
struct Onlooker {
    engine: Engine,
    filter: Filter,
    looker: Looker,
    at: Position,
    waiting: VecDeque<Event>,
    is_new: bool,
    _held: Option<Held>,
}

impl Onlooker {
    async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return event;
            }
            if !std::mem::take(&mut self.is_new) {
                tokio::time::sleep(limits::REST).await;
            }
            match self.looker.since(self.at, limits::BREATH) {
                Since::Unknown(now) => {
                    self.at = now;
                    self.waiting.push_back(reset(now));
                }
                Since::Runs(runs) if runs.is_empty() => self.looker.changed().await,
                Since::Runs(runs) => {
                    for (at, run) in runs {
                        self.at = at;
                        self.waiting.extend(self.told(at, run).await);
                    }
                }
            }
        }
    }

    /// How a run stands, if it is one of those that are meant.
    async fn told(&self, at: Position, run: RunId) -> Option<Event> {
        if run.namespace != self.engine.namespace() {
            return None;
        }
        let event = Event::default().id(at.text());
        match self.engine.head(run).await {
            Ok(head) if self.filter.accepts(&head) => {
                let run = summary(&head, self.engine.now());
                event.event("run").json_data(RunChanged { run }).ok()
            }
            Ok(_) => None,
            Err(Error::NotFound(_)) => {
                event.event("gone").json_data(Gone { run: run.to_string() }).ok()
            }
            // Nobody knows how it stands: whoever looks on is to look again.
            Err(_) => Some(reset(at)),
        }
    }
}
