//! Messages of a commit for other runs.

use bowline_core::{ExternalRefusal, Message};
use bowline_store::{Commit, Error, commit::rule};

use crate::{connection::db::Outcome, fault::Fault, rows::address, write::tx::Tx};

/// Delivers what can be delivered; answers with what the sender wanted to hear.
pub(super) fn send_all(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Vec<Message>> {
    let mut answers = Vec::new();
    for post in &commit.posts {
        let named = address::resolve(tx, &post.to)?;
        let sent = match rule::receiver(post, named.map(|run| &tx.run(run).head)) {
            Ok(Some(run)) => match tx.admit(run, &post.message) {
                Ok(()) => {
                    tx.deliver(run, &post.message, commit.now)?;
                    Ok(())
                }
                Err(Fault::Said(Error::Refused(_))) => Err(ExternalRefusal::Full),
                Err(fault) => return Err(fault),
            },
            other => other.map(drop),
        };
        answers.extend(rule::answer(post, sent));
    }
    Ok(answers)
}
