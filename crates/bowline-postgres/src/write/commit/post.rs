//! Messages of a commit for other runs.

use bowline_core::{ExternalRefusal, Message};
use bowline_store::{Commit, Error};

use crate::{connection::db::Outcome, fault::Fault, rows::address, write::tx::Tx};

/// Delivers what can be delivered; answers with what the sender wanted to hear.
pub(super) async fn send_all(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Vec<Message>> {
    let mut answers = Vec::new();
    for post in &commit.posts {
        let target = match address::resolve(tx, &post.to).await? {
            Some(target) => {
                let run = tx.run(target);
                let parent = run.head.parent.map(|(parent, _)| parent);
                let wanted = post.child_of.is_none() || post.child_of == parent;
                wanted.then_some((target, run.is_open()))
            }
            None => None,
        };
        let done = match target {
            Some((target, true)) => match tx.admit(target, &post.message).await {
                Ok(()) => {
                    tx.deliver(target, &post.message, commit.now);
                    Ok(())
                }
                Err(Fault::Said(Error::Refused(_))) => Err(ExternalRefusal::Full),
                Err(fault) => return Err(fault),
            },
            // What has ended needs no stopping.
            Some(_) if matches!(post.message, Message::Cancel(_) | Message::Terminate(_)) => Ok(()),
            _ => Err(ExternalRefusal::NotFound),
        };
        answers.extend(post.answer.map(|event| match done {
            Ok(()) => Message::ExternalDone(event),
            Err(refusal) => Message::RefuseExternal(event, refusal),
        }));
    }
    Ok(answers)
}
