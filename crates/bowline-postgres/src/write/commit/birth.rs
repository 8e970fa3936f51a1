//! Runs that a commit begins.

use bowline_core::{Birth, ChildRefusal, Link, Message, RunId, Status};
use bowline_store::{Commit, Error, Head, may_reuse};

use crate::{connection::db::Outcome, write::tx::Tx};

/// Everything about its births for which a commit is refused, before anything is written.
pub(super) async fn check(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<()> {
    for birth in &commit.births {
        check_birth(tx, birth).await?;
        if birth.link != Link::None {
            continue;
        }
        match check_id(tx, birth).await? {
            Some((run, _)) if run == commit.run && commit.close.is_some() => {}
            Some((run, status)) if status.is_open() => {
                return Err(Error::IdTaken { run, status }.into());
            }
            _ => {}
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
    let Some(current) = tx.current(birth.run.namespace, &started.workflow_id).await? else {
        return Ok(None);
    };
    let status = tx.run(current).head.status;
    let taken = status.is_open() || !may_reuse(birth.reuse, status);
    Ok(taken.then_some((current, status)))
}
