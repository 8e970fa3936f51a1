//! `bowline member gone`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use bowline_engine::store::Whom;
use serde_json::json;

use crate::{args::Place, compose::Site, print::Printer, target::asking};

/// Who is gone, and who says so.
pub(crate) struct Gone {
    pub(crate) identity: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) by: String,
    pub(crate) reason: String,
}

pub(crate) async fn gone(site: &Site, gone: Gone, print: Printer) -> Result<ExitCode> {
    let Gone { identity, host, by, reason } = gone;
    if matches!(site.place, Place::File(_)) {
        bail!(
            "{} is a file, and only one process has it open: nobody else can be gone",
            site.place
        );
    }
    if by.trim().is_empty() {
        bail!("say who says so: --by has no name");
    }
    let (whom, name) = match (identity, host) {
        (Some(identity), _) => (Whom::Identity(identity.as_str().into()), identity),
        (None, Some(host)) => (Whom::Host(host.clone()), format!("the host {host}")),
        (None, None) => bail!("say who is gone: --identity or --host"),
    };
    let by = if reason.is_empty() { by } else { format!("{by} ({reason})") };
    let said =
        asking(site, async |target| Ok(target.engine().member_gone(whom, by).await?)).await?;
    for (epoch, identity) in &said.gone {
        print.line(
            || format!("{identity} counts as gone, and what it ran as over"),
            json!({ "gone": identity.as_str(), "epoch": epoch.0 }),
        );
    }
    if let Some((_, identity)) = said.alive.first() {
        bail!("{identity} is in touch, so nobody is believed who says that it is gone");
    }
    if said.gone.is_empty() {
        bail!(
            "no process of {name} has fallen silent: it is not known, it left in peace, or others \
             have not missed it for a whole lease yet"
        );
    }
    Ok(ExitCode::SUCCESS)
}
