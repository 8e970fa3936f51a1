//! The session that listens: it hears what other processes say, and is the sign by which they know
//! that this one lives.
//!
//! In:    notifications of others; the end of the session.
//! Out:   hints to whoever listens here; which session this process has.
//! Never: needed. Whatever is not heard is found by looking, and a lease runs out without it.

use std::{collections::BTreeSet, future::poll_fn, sync::Arc, time::Duration};

use bowline_core::AskId;
use bowline_store::Hint;
use tokio_postgres::{AsyncMessage, Config};

use crate::{
    connection::tls::Tls,
    limits,
    queue::hint::{channel, read},
    read::ask,
    shared::Shared,
};

/// Listens, for as long as the store is open. Whoever comes back has missed something.
pub(crate) async fn listen(shared: Arc<Shared>, config: Config, tls: Tls, sender: String) {
    loop {
        let _ = hear(&shared, &config, tls.clone(), &sender).await;
        tokio::time::sleep(limits::LISTEN_AGAIN).await;
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
async fn hold(shared: Arc<Shared>, client: tokio_postgres::Client) {
    let listen = format!("LISTEN {}", channel(&shared));
    let patience = shared.settings.patience;
    let listening = tokio::time::timeout(patience, client.batch_execute(&listen)).await;
    if !matches!(listening, Ok(Ok(()))) {
        return;
    }
    // Whatever was said before went unheard.
    shared.tell_here(BTreeSet::from([Hint::Everything]));
    loop {
        tokio::time::sleep(shared.settings.poll.max(Duration::from_secs(1))).await;
        let asked = tokio::time::timeout(patience, client.simple_query("")).await;
        if !matches!(asked, Ok(Ok(_))) || shared.is_closing() {
            return;
        }
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
