//! A cancel is watched until it has come as far as somebody wants.

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, bail};
use bowline_http::model::{Receipt, TreeRun};
use clap::ValueEnum;
use tokio::time::Instant;

use super::{FOUND, INTERRUPTED, NOT_YET};
use crate::{
    args::{Until, Wait},
    print::{Printer, Screen},
    target::{Target, receipt as at},
    text::{self, LocalTime},
};

/// For how long nothing moves before nobody is expected to move it, where nobody else can.
const QUIET: Duration = Duration::from_secs(1);
/// For how long one request waits.
const POLL: Duration = Duration::from_secs(60);

/// What is waited for.
pub(super) struct Following<'a> {
    pub(super) target: &'a Target,
    pub(super) namespace: &'a str,
    pub(super) receipt: &'a str,
    pub(super) until: Until,
    pub(super) within: Option<Duration>,
    pub(super) print: Printer,
}

/// Why the wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// It has come so far.
    Reached,
    /// It will not: what is left stays.
    Never,
    /// Nobody is there who could carry it on.
    Nobody,
    /// The time is up.
    Late,
    Interrupted,
}

impl Wait {
    /// What to wait for, if anything.
    pub(super) fn wanted(self) -> Result<Option<(Until, Option<Duration>)>> {
        match (self.wait, self.within) {
            (None, Some(_)) => bail!("--within says for how long; --wait must say for what"),
            (wait, within) => Ok(wait.map(|until| (until, within.map(Duration::from_secs)))),
        }
    }
}

impl Following<'_> {
    /// Watches, tells, and says how it went.
    pub(super) async fn watch(self) -> Result<ExitCode> {
        let mut screen = Screen::new(self.print);
        let watching = self.receipts(&mut screen);
        let late = async {
            match self.within {
                Some(within) => tokio::time::sleep_until(Instant::now() + within).await,
                None => std::future::pending().await,
            }
        };
        let over = tokio::select! {
            over = watching => over?,
            () = late => Over::Late,
            _ = tokio::signal::ctrl_c() => Over::Interrupted,
        };
        let last: Receipt = self.target.get(self.path()).await?;
        self.end(&mut screen, over, &last)
    }

    fn path(&self) -> crate::target::Path {
        at(self.namespace, self.receipt)
    }

    async fn receipts(&self, screen: &mut Screen) -> Result<Over> {
        let mut news = self.target.stream::<Receipt>(self.path().then("events")).await?;
        let mut told = None;
        loop {
            let next = news.next();
            let next = match (self.target.is_alone(), &told) {
                (true, Some(receipt)) if has_open(receipt) => {
                    match tokio::time::timeout(QUIET, next).await {
                        Ok(next) => next?,
                        Err(_) => return Ok(Over::Nobody),
                    }
                }
                _ => next.await?,
            };
            let Some(receipt) = next else { break };
            self.tell(screen, told.as_ref(), &receipt)?;
            if let Some(over) = self.over(&receipt) {
                return Ok(over);
            }
            told = Some(receipt);
        }
        // Nothing durable can change, but code that leaked may yet end.
        loop {
            let within = POLL.as_millis();
            let path = self.path().with("wait", "clean").with("within_ms", within);
            let receipt: Receipt = self.target.get(path).await?;
            self.tell(screen, told.as_ref(), &receipt)?;
            if let Some(over) = self.over(&receipt) {
                return Ok(over);
            }
            told = Some(receipt);
        }
    }

    fn over(&self, receipt: &Receipt) -> Option<Over> {
        let reached = Until::from_str(&receipt.phase, false).ok();
        if reached >= Some(self.until) {
            return Some(Over::Reached);
        }
        // A worker that is lost may come back in a year, or never.
        let stays = |kind: &str| matches!(kind, "lost" | "left") || self.target.is_alone();
        let is_stuck = receipt.settled && receipt.awaited.iter().all(|one| stays(&one.kind));
        is_stuck.then_some(Over::Never)
    }

    /// The tree again on a terminal, every receipt for programs, and a line for each phase in a
    /// pipe.
    fn tell(&self, screen: &mut Screen, told: Option<&Receipt>, receipt: &Receipt) -> Result<()> {
        if self.print.json {
            return self.print.answer(receipt, Vec::new);
        }
        if screen.is_live() {
            let lines = text::receipt(receipt, &LocalTime::here(), self.print.paint);
            return Ok(screen.draw(&lines)?);
        }
        if told.is_none_or(|told| told.phase != receipt.phase) {
            let age = text::span(receipt.age_ms as f64);
            let awaited: u64 = receipt.awaited.iter().map(|one| one.count).sum();
            self.print.talk(&format!("{} after {age}, {awaited} awaited", receipt.phase));
        }
        Ok(())
    }

    fn end(&self, screen: &mut Screen, over: Over, last: &Receipt) -> Result<ExitCode> {
        let lines = || text::receipt(last, &LocalTime::here(), self.print.paint);
        match screen.is_live() {
            true => screen.draw(&lines())?,
            false => self.print.answer(last, lines)?,
        }
        let wanted = self.until.to_possible_value();
        let wanted = wanted.map(|word| word.get_name().to_owned()).unwrap_or_default();
        let (code, says) = match over {
            Over::Reached => return Ok(ExitCode::SUCCESS),
            Over::Never => (FOUND, format!("it cannot become {wanted} as it stands")),
            Over::Nobody => {
                let place = self.target.place();
                let says = format!(
                    "the request stands; the program that has the code carries it out when it has \
                     {place} open"
                );
                (NOT_YET, says)
            }
            Over::Late => (NOT_YET, format!("the request stands; it is not {wanted} yet")),
            Over::Interrupted => {
                (INTERRUPTED, "the request stands; nobody waits for it".to_owned())
            }
        };
        self.print.talk(&says);
        Ok(ExitCode::from(code))
    }
}

/// Some run has yet to close.
fn has_open(receipt: &Receipt) -> bool {
    fn any(run: &TreeRun) -> bool {
        let is_open = matches!(run.status.as_str(), "running" | "cancelling");
        is_open && !run.left_alone || run.children.iter().any(any)
    }
    receipt.tree.iter().any(any)
}
