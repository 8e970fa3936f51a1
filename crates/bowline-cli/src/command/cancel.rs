//! `bowline cancel` and `bowline terminate`.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use bowline_http::model::{
    Asked, CancelBody, CancelOneBody, CancelledTarget, LadderBody, Met, TerminateBody,
};

use super::{by, follow::Following};
use crate::{
    args::{Cancel, On, Terminate, Until},
    compose::Site,
    print::Printer,
    target::{Target, asking, run},
    text::safe,
};

pub(crate) async fn cancel(site: &Site, args: Cancel, print: Printer) -> Result<ExitCode> {
    let wanted = args.wait.wanted()?;
    let ladder = args.grace.map(|grace| LadderBody {
        grace_ms: Some(grace.saturating_mul(1_000)),
        ..LadderBody::default()
    });
    let by = by(args.request.by.as_deref())?;
    asking(site, async |target| {
        let path = run(&args.at.on.namespace, &args.at.run);
        let one =
            [("activities", &args.activity), ("timers", &args.timer), ("children", &args.child)];
        let one = one.into_iter().find_map(|(kind, one)| Some((kind, one.as_ref()?)));
        if let Some((kind, one)) = one {
            let body = CancelOneBody { reason: args.request.reason.clone(), ladder, by };
            let path = path.then(kind).then(one).then("cancel");
            let met: CancelledTarget = target.post(path, &body).await?;
            print.answer(&met, || vec![of_one(&met)])?;
            return Ok(ExitCode::SUCCESS);
        }
        let body = CancelBody {
            reason: args.request.reason.clone(),
            terminate_after_ms: args.terminate_after.map(|span| span.saturating_mul(1_000)),
            ladder,
            by,
        };
        let asked: Asked = target.post(path.then("cancel"), &body).await?;
        print.answer(&asked, || vec![of_cancel(&asked)])?;
        wait(target, &args.at.on, &asked, wanted, print).await
    })
    .await
}

pub(crate) async fn terminate(site: &Site, args: Terminate, print: Printer) -> Result<ExitCode> {
    let wanted = args.wait.wanted()?;
    let body =
        TerminateBody { reason: args.request.reason.clone(), by: by(args.request.by.as_deref())? };
    asking(site, async |target| {
        let path = run(&args.at.on.namespace, &args.at.run).then("terminate");
        let asked: Asked = target.post(path, &body).await?;
        print.answer(&asked, || vec![of_end(&asked)])?;
        wait(target, &args.at.on, &asked, wanted, print).await
    })
    .await
}

/// How far to wait, and for how long.
type Wanted = Option<(Until, Option<Duration>)>;

/// Waits, if somebody wants to, or says how one can.
async fn wait(
    target: &Target,
    on: &On,
    asked: &Asked,
    wanted: Wanted,
    print: Printer,
) -> Result<ExitCode> {
    let (Some(receipt), Some((until, within))) = (&asked.receipt, wanted) else {
        if let Some(receipt) = asked.receipt.as_ref().filter(|_| asked.met != Met::Over) {
            let place = target.place();
            print.hint(|| format!("how far it has come: bowline receipt {place} {receipt}"));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let namespace = on.namespace.as_str();
    Following { target, namespace, receipt, until, within, print }.watch().await
}

/// What a request to cancel a run met.
fn of_cancel(asked: &Asked) -> String {
    let (id, run) = (safe(&asked.id), safe(&asked.run));
    let receipt = receipt(asked);
    match asked.met {
        Met::Asked => format!("{id} is asked to cancel: run {run}{receipt}"),
        Met::Again => {
            format!("{id} was asked before, and the first cause stays: run {run}{receipt}")
        }
        Met::Over | Met::Closed => {
            format!("{id} was over already, {}: run {run}{receipt}", safe(&asked.status))
        }
    }
}

/// What a request to terminate a run met.
fn of_end(asked: &Asked) -> String {
    let (id, run) = (safe(&asked.id), safe(&asked.run));
    let receipt = receipt(asked);
    match asked.met {
        Met::Asked | Met::Again => format!("{id} is terminated: run {run}{receipt}"),
        Met::Over | Met::Closed => {
            format!("{id} was over already, {}: run {run}{receipt}", safe(&asked.status))
        }
    }
}

fn receipt(asked: &Asked) -> String {
    asked.receipt.as_ref().map(|id| format!(", receipt {}", safe(id))).unwrap_or_default()
}

fn of_one(met: &CancelledTarget) -> String {
    let (number, run) = (met.number, safe(&met.run));
    match met.met {
        Met::Asked => format!("#{number} of run {run} is asked to stop; the run goes on"),
        Met::Again => format!("#{number} of run {run} was asked before, and the first cause stays"),
        Met::Over => format!("#{number} of run {run} was over already"),
        Met::Closed => format!("#{number} went with run {run}, which is closed"),
    }
}
