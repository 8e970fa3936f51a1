//! `bowline show`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_http::model::{HistoryList, Run, RunChanged};

use super::INTERRUPTED;
use crate::{
    args::Show,
    compose::Site,
    print::Printer,
    target::{Path, Stream, Target, asking, run as at, space},
    text::{self, HistoryText, Length, LocalTime},
};

/// How many events are asked for at once.
const PAGE: u64 = 500;

pub(crate) async fn run(site: &Site, show: Show, print: Printer) -> Result<ExitCode> {
    asking(site, async |target| {
        let length = if show.full { Length::Full } else { Length::Line };
        let whole = |path: Path| path.maybe("payloads", show.full.then_some("full"));
        let page: Run = target.get(whole(at(&show.at.on.namespace, &show.at.run))).await?;
        // Who listens before they look misses nothing.
        let mut news = follow(target, &show, &page).await?;
        print.answer(&page, || text::page(&page, &LocalTime::here(), print.paint, length))?;
        let first = match show.last {
            Some(last) => page.summary.events.saturating_sub(last) + 1,
            None => 1,
        };
        let history =
            whole(at(&show.at.on.namespace, &format!("@{}", page.summary.run)).then("history"));
        let mut telling = Telling {
            target,
            history,
            next: first,
            story: HistoryText::new(LocalTime::here(), print.paint, length),
            print,
        };
        if first <= page.summary.events || news.is_some() {
            print.tell(|| format!("\n{}", telling.story.heads()))?;
        }
        let mut is_open = telling.tell().await?;
        while let Some(news) = news.as_mut().filter(|_| is_open) {
            tokio::select! {
                told = news.told() => if !told? { break },
                _ = tokio::signal::ctrl_c() => return Ok(ExitCode::from(INTERRUPTED)),
            }
            is_open = telling.tell().await?;
        }
        Ok(ExitCode::SUCCESS)
    })
    .await
}

/// Word of what changes, if it is wanted and anything can.
async fn follow(target: &Target, show: &Show, page: &Run) -> Result<Option<Stream<RunChanged>>> {
    match (show.follow && page.ended.is_none(), target.is_alone()) {
        (false, _) => Ok(None),
        (true, true) => anyhow::bail!(
            "no program has {} open, so nothing happens to {} now: start the program first, or \
             leave out --follow",
            target.place(),
            page.summary.id
        ),
        (true, false) => {
            let path = space(&show.at.on.namespace).then("events");
            Ok(Some(target.stream(path.with("id_prefix", &page.summary.id)).await?))
        }
    }
}

/// Tells a history as far as it has come.
struct Telling<'a> {
    target: &'a Target,
    history: Path,
    /// The next event that was not told.
    next: u64,
    story: HistoryText,
    print: Printer,
}

impl Telling<'_> {
    /// Tells what was not told yet; false once nothing can follow.
    async fn tell(&mut self) -> Result<bool> {
        loop {
            let path = self.history.clone().with("from", self.next).with("limit", PAGE);
            let page: HistoryList = self.target.get(path).await?;
            for event in &page.events {
                self.print.answer(event, || vec![self.story.event(event)])?;
                self.next = event.id + 1;
            }
            if page.next.is_none() {
                return Ok(page.open);
            }
        }
    }
}
