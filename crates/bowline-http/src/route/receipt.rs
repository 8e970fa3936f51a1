//! How far cancels have come, and what should not be there at all.

use std::convert::Infallible;

use axum::{
    Json,
    response::sse::{Event, KeepAlive, Sse},
};
use bowline_core::{ReceiptId, Time};
use bowline_engine::{
    Engine,
    store::{Leftovers, Phase},
};
use futures_util::stream::{self, Stream, StreamExt as _};

use crate::{
    app::Held,
    call::Call,
    limits,
    live::Looker,
    model::{OrphanList, Receipt},
    problem::{Answer, Refused},
    view::{read_wide, tree},
};

/// `GET receipts/{id}`
pub(crate) async fn show(call: Call) -> Answer<Receipt> {
    let wanted = call.option("wait").map(phase).transpose()?;
    let within = call.within(call.number("within_ms")?);
    let (id, mut left) = found(&call).await?;
    if let Some(wanted) = wanted.filter(|wanted| left.phase() < *wanted) {
        left = match tokio::time::timeout(within, call.engine.wait(id, wanted)).await {
            Ok(left) => left?,
            // How far it has come by now is an answer too.
            Err(_) => call.engine.receipt(id).await?,
        };
    }
    told(&left, call.engine.now()).map(Json)
}

/// The receipt that the address names, if it is of this namespace.
async fn found(call: &Call) -> Result<(ReceiptId, Leftovers), Refused> {
    let text = call.id("id");
    let why = || Refused::invalid(format!("{text:?} is not the id of a receipt"));
    let id = ReceiptId(read_wide(text).ok_or_else(why)?);
    let left = call.engine.receipt(id).await?;
    let space = left.receipt.as_ref().map(|row| row.run.namespace);
    match space == Some(call.engine.namespace()) {
        true => Ok((id, left)),
        false => Err(Refused::missing("there is no such receipt")),
    }
}

fn told(left: &Leftovers, now: Time) -> Result<Receipt, Refused> {
    tree::receipt(left, now).ok_or_else(|| Refused::missing("there is no such receipt"))
}

fn phase(word: &str) -> Result<Phase, Refused> {
    let all = [
        Phase::Requested,
        Phase::Decided,
        Phase::Delivered,
        Phase::Observed,
        Phase::Stopped,
        Phase::Settled,
        Phase::Clean,
    ];
    let known = || all.map(tree::phase).join(", ");
    let found = all.into_iter().find(|phase| tree::phase(*phase) == word);
    found.ok_or_else(|| Refused::invalid(format!("{word:?} is not a phase: {}", known())))
}

/// `GET receipts/{id}/events`
pub(crate) async fn follow(
    call: Call,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let looker = call.app.feed().look();
    let ((id, _), is_known) = (found(&call).await?, call.ticket.is_some());
    let follower =
        Follower { engine: call.engine, id, looker, told: None, is_over: false, _held: call.held };
    let events = stream::unfold(follower, async |mut follower| {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    });
    let events = events.take_until(Box::pin(Call::stream_life(is_known)));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(limits::ALIVE)))
}

/// Somebody who watches a receipt.
struct Follower {
    engine: Engine,
    id: ReceiptId,
    looker: Looker,
    /// What was told last, its age aside.
    told: Option<Receipt>,
    is_over: bool,
    _held: Option<Held>,
}

impl Follower {
    /// The receipt as soon as it says something new; none once it is settled, or gone.
    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        loop {
            // What comes after this wakes the wait below.
            self.looker.since(self.looker.now(), 0);
            let left = self.engine.receipt(self.id).await.ok()?;
            let receipt = tree::receipt(&left, self.engine.now())?;
            let said = Receipt { age_ms: 0, ..receipt.clone() };
            if self.told.as_ref() != Some(&said) {
                self.is_over = receipt.settled;
                self.told = Some(said);
                return Event::default().event("receipt").json_data(&receipt).ok();
            }
            // That code has looked changes no run, so that nobody tells of it.
            let _ = tokio::time::timeout(limits::LOOK, self.looker.changed()).await;
            tokio::time::sleep(limits::REST).await;
        }
    }
}

/// `GET orphans`
pub(crate) async fn orphans(call: Call) -> Answer<OrphanList> {
    let mut left = call.engine.orphans().await?;
    let own = call.engine.namespace();
    left.runs.retain(|line| line.run.namespace == own);
    left.attempts.retain(|line| line.run.namespace == own);
    Ok(Json(tree::orphans(&left)))
}
