//! Runs that a commit begins.

use bowline_core::{Birth, ChildRefusal, Link, Message, RunId, Status};
use bowline_store::{Commit, Error, Head, commit::rule::taken_by};

use crate::{connection::db::Outcome, write::tx::Tx};

/// Everything about its births for which a commit is refused, before anything is written.
pub(super) async fn check(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<()> {
    for birth in &commit.births {
        check_birth(tx, birth).await?;
        if birth.link == Link::None {
            commit.check_id(check_id(tx, birth).await?)?;
        }
    }
    Ok(())
}

/// Begins runs; answers with what the parent is told about its children.
pub(super) async fn begin_all(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Vec<Message>> {
    let mut answers = Vec::new();
    for birth in &commit.births {
        match birth.link {
            Link::Child(initiated) if check_id(tx, birth).await?.is_some() => {
                answers.push(Message::RefuseChild(initiated, ChildRefusal::IdTaken));
                continue;
            }
            Link::Child(initiated) => answers.push(Message::ChildBegan(initiated)),
            Link::Next => tx.edit(commit.run).head.successor = Some(birth.run),
            Link::None => {}
        }
        tx.begin_run(birth, commit.now).await?;
    }
    Ok(answers)
}

/// Whether a birth could be written at all, whoever has its workflow id.
pub(crate) async fn check_birth(tx: &mut Tx<'_>, birth: &Birth) -> Outcome<()> {
    Head::born(birth)?;
    match tx.find(birth.run).await?.is_some() {
        true => Err(Error::Invalid(format!("run {} exists already", birth.run)).into()),
        false => Ok(()),
    }
}

/// The run because of which a workflow id cannot be taken, if there is one.
pub(crate) async fn check_id(tx: &mut Tx<'_>, birth: &Birth) -> Outcome<Option<(RunId, Status)>> {
    let (_, started) = Head::born(birth)?;
    let current = tx.current(birth.run.namespace, &started.workflow_id).await?;
    Ok(taken_by(birth, current.map(|run| (run, tx.run(run).head.status))))
}
