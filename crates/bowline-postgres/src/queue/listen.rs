//! The session that listens: it hears what other processes say, and is the sign by which they know
//! that this one lives.
//!
//! In:    notifications of others; the end of the session.
//! Out:   hints to whoever listens here; which session this process has.
//! Never: needed. Whatever is not heard is found by looking, and a lease runs out without it.

use std::{
    collections::BTreeSet,
    future::poll_fn,
    sync::Arc,
    time::{Duration, Instant},
};

use bowline_core::AskId;
use bowline_store::{
    Hint,
    suspect::{SUSPECT_FOR, Session},
};
use tokio_postgres::{AsyncMessage, Client, Config};

use crate::{
    connection::tls::Tls,
    limits,
    queue::{
        hint::{self, channel, read},
        watch::{Watch, Watched},
    },
    read::ask,
    shared::Shared,
};

/// Listens, for as long as the store is open. Whoever comes back has missed something.
pub(crate) async fn listen(shared: Arc<Shared>, config: Config, tls: Tls, sender: String) {
    let mut pause = limits::LISTEN_AGAIN;
    loop {
        let begun = Instant::now();
        let _ = hear(&shared, &config, tls.clone(), &sender).await;
        if let Some(session) = shared.session() {
            over(&shared, session).await;
        }
        if begun.elapsed() > limits::LISTEN_AGAIN_MAX {
            pause = limits::LISTEN_AGAIN;
        }
        tokio::time::sleep(pause).await;
        pause = limits::LISTEN_AGAIN_MAX.min(pause * 2);
    }
}

async fn hear(
    shared: &Arc<Shared>,
    config: &Config,
    tls: Tls,
    sender: &str,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(tls).await?;
    tokio::spawn(hold(shared.clone(), client));
    loop {
        match poll_fn(|cx| connection.poll_message(cx)).await {
            Some(Ok(AsyncMessage::Notification(note))) => {
                pass_on(shared, read(sender, note.payload())).await;
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
            None => return Ok(()),
        }
    }
}

/// Has the connection listen, keeps it, and asks it now and then whether it is still there: one
/// that only listens would not notice. Without this end of it the other one ends.
async fn hold(shared: Arc<Shared>, client: Client) {
    let listen = format!("LISTEN {}", channel(&shared));
    let patience = shared.settings.patience;
    let listening = tokio::time::timeout(patience, client.batch_execute(&listen)).await;
    if !matches!(listening, Ok(Ok(()))) {
        return;
    }
    // Whatever was said before went unheard.
    shared.tell_here(BTreeSet::from([Hint::Everything]));
    match tokio::time::timeout(patience, Watch::begin(&shared, &client)).await {
        Ok(Ok(Some(watch))) => {
            if is_over(&shared, &client, watch).await {
                return;
            }
        }
        Ok(Ok(None)) => {}
        Ok(Err(_)) | Err(_) => return,
    }
    while !shared.is_closing() {
        tokio::time::sleep(shared.settings.poll.max(Duration::from_secs(1))).await;
        let asked = tokio::time::timeout(patience, client.simple_query("")).await;
        if !matches!(asked, Ok(Ok(_))) {
            return;
        }
    }
}

/// Others know by this session that the process lives, until it ends; false if it has not, and can
/// tell nobody anything.
async fn is_over(shared: &Shared, client: &Client, watch: Watch) -> bool {
    let session = watch.session();
    shared.set_session(session);
    // Said first of all: others may miss the one that was there before.
    said(shared).await;
    let kept = watch.keep(shared, client).await;
    // And before it ends: it is missed from then on.
    over(shared, session).await;
    kept == Watched::Lost
}

/// The session by which others knew that this process lives is over: they are told not to miss it.
async fn over(shared: &Shared, session: Session) {
    if shared.end_session(session) {
        said(shared).await;
    }
}

/// Says that this process lives, and by which session that is known. If it cannot be said in time,
/// the next renewal says it.
async fn said(shared: &Shared) {
    if let Some((epoch, lease)) = shared.member() {
        let said = hint::still_there(shared, epoch, lease);
        let _ = tokio::time::timeout(SUSPECT_FOR, said).await;
    }
}

async fn pass_on(shared: &Arc<Shared>, hints: Vec<Hint>) {
    let answered = |hint: &Hint| match hint {
        Hint::Answered(id) => Some(*id),
        _ => None,
    };
    let ids: Vec<AskId> = hints.iter().filter_map(answered).collect();
    if !ids.is_empty() {
        let shared = shared.clone();
        tokio::spawn(async move { ask::collect(&shared, Some(&ids)).await });
    }
    // Others have written to these runs.
    for hint in &hints {
        if let Hint::Inbox(run) | Hint::Changed(run) = hint {
            shared.held.forget(*run);
        }
    }
    shared.tell_here(hints.into_iter().collect());
}
